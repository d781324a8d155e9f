"""Whole brokers against exactly-once workloads, on virtual time: kills, power cuts, lost and repeated requests, clocks that jump.

* transfers: two records on two partitions, whose sum is zero; several instances share a transactional id, so most of them are zombies;
* copies: read, process, write with the group's offsets in the transaction;
* idlers: open a transaction and never come back;
* half of the clients speak transaction version 0, half version 2, side by side.

After every death the invariants I1 and I2 are checked, at the end I3, I4, I5, I8, I9 and I10 and what readers of committed data see:
no transaction torn, none aborted and visible, none doubled, none lost, and no last stable offset that stands still.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter, defaultdict
from collections.abc import Iterable

import pytest
from oncelog.coordinator.runtime import CoordinatorRuntime
from oncelog.coordinator.txn_log import TxnShard
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.control_records import parse_end_transaction_marker
from oncelog.protocol.errors import ErrorCode as E
from oncelog.protocol.names import TRANSACTION_STATE, TopicPartition
from oncelog.protocol.records import build_batch, iter_headers, iter_records
from oncelog.storage.log import Log
from support.simbroker import ConnectionLost, SimClient, SimCluster

SLICE = 3
LIVES = 8
LIFE_SECONDS = 3.0
TIMEOUT_MS = 5_000
BANK, SOURCE, TARGET = "bank", "in", "out"
PARTITIONS = 3
GROUP = "copiers"
SOURCES, SOURCE_RECORDS = 2, 2_000
RETRIABLE = {E.CONCURRENT_TRANSACTIONS, E.COORDINATOR_LOAD_IN_PROGRESS, E.COORDINATOR_NOT_AVAILABLE, E.NOT_COORDINATOR,
             E.NOT_ENOUGH_REPLICAS, E.UNSTABLE_OFFSET_COMMIT, E.KAFKA_STORAGE_ERROR}  # fmt: skip
SMALL = {"internal.segment.bytes": "20000"}


class Fatal(Exception):
    """This instance is over: fenced, aborted, or the broker refuses what cannot be repeated."""


class Ledger:
    """What clients were told. Outcomes of transaction numbers: True committed, False aborted, None nobody knows."""

    def __init__(self) -> None:
        self.outcome: dict[int, bool | None] = {}
        self.fresh_pairs: set[tuple[int, int]] = set()
        self.owner: dict[int, str] = {}
        self.counts: Counter[str] = Counter()

    def begin(self) -> int:
        number = len(self.outcome)
        self.outcome[number] = False  # as long as nobody asked for a commit
        return number

    def given(self, transactional_id: str, pair: tuple[int, int]) -> None:
        assert pair not in self.fresh_pairs, f"I5: {pair} given out twice"
        self.fresh_pairs.add(pair)
        assert self.owner.setdefault(pair[0], transactional_id) == transactional_id, f"I4: producer id {pair[0]} of two ids"


class Producer(SimClient):
    """One instance of a transactional id."""

    def __init__(self, cluster: SimCluster, ledger: Ledger, transactional_id: str, *, tv2: bool) -> None:
        # a repeated request of version 0 hits the next transaction of the same epoch (KAFKA-17754): no broker can tell
        super().__init__(cluster, random.Random(cluster.chance.getrandbits(64)), repeats=tv2)
        self.ledger = ledger
        self.id = transactional_id
        self.tv2 = tv2
        self.pair = (-1, -1)
        self.sequences: dict[TopicPartition, int] = {}
        self.added: set[TopicPartition] = set()
        self.running = True

    async def persist(self, key: ApiKey, version: int, fields: dict[str, object], codes: object) -> object:
        """Repeat until the answer is neither lost nor retriable. Raises Fatal after a while."""
        for attempt in range(60):
            try:
                answer = await self.call(key, version, fields)
            except (ConnectionLost, TimeoutError):
                await asyncio.sleep(0.02 + 0.01 * attempt)
                continue
            seen = set(codes(answer))  # type: ignore[operator]
            if not seen & RETRIABLE:
                if seen != {E.NONE}:
                    raise Fatal(seen)
                return answer
            await asyncio.sleep(0.01 + 0.01 * attempt)
        raise Fatal("gave up")

    async def init(self) -> None:
        fields = {"transactional_id": self.id, "transaction_timeout_ms": TIMEOUT_MS, "producer_id": -1, "producer_epoch": -1}
        answer = await self.persist(ApiKey.INIT_PRODUCER_ID, 5, fields, lambda a: [E(a.error_code)])
        self.pair = (answer.producer_id, answer.producer_epoch)  # type: ignore[attr-defined]
        self.ledger.given(self.id, self.pair)
        self.sequences.clear()
        self.added.clear()

    async def send(self, place: TopicPartition, value: bytes) -> None:
        await self.add(place)
        sequence = self.sequences.get(place, 0)
        batch = build_batch(
            [(self.cluster.clock.time_ms(), None, value)],
            producer_id=self.pair[0],
            producer_epoch=self.pair[1],
            base_sequence=sequence,
            is_transactional=True,
        )
        fields = {
            "transactional_id": self.id,
            "acks": -1,
            "timeout_ms": 1000,
            "topic_data": [{"name": place.topic, "partition_data": [{"index": place.partition, "records": bytes(batch)}]}],
        }
        version = 12 if self.tv2 else 11
        await self.persist(ApiKey.PRODUCE, version, fields, lambda a: [E(p.error_code) for t in a.responses for p in t.partition_responses])
        self.sequences[place] = sequence + 1

    async def add(self, place: TopicPartition) -> None:
        if self.tv2 or place in self.added:
            return
        fields = {
            "v3_and_below_transactional_id": self.id,
            "v3_and_below_producer_id": self.pair[0],
            "v3_and_below_producer_epoch": self.pair[1],
            "v3_and_below_topics": [{"name": place.topic, "partitions": [place.partition]}],
        }
        await self.persist(
            ApiKey.ADD_PARTITIONS_TO_TXN,
            3,
            fields,
            lambda a: [E(p.partition_error_code) for t in a.results_by_topic_v3_and_below for p in t.results_by_partition],
        )
        self.added.add(place)

    async def commit_offset(self, place: TopicPartition, offset: int) -> None:
        producer = {"transactional_id": self.id, "producer_id": self.pair[0], "producer_epoch": self.pair[1], "group_id": GROUP}
        if not self.tv2:
            await self.persist(ApiKey.ADD_OFFSETS_TO_TXN, 3, producer, lambda a: [E(a.error_code)])
        partition = {"partition_index": place.partition, "committed_offset": offset, "committed_leader_epoch": -1, "committed_metadata": ""}
        fields = {
            **producer,
            "generation_id": -1,
            "member_id": "",
            "group_instance_id": None,
            "topics": [{"name": place.topic, "partitions": [partition]}],
        }
        await self.persist(
            ApiKey.TXN_OFFSET_COMMIT, 5 if self.tv2 else 3, fields, lambda a: [E(p.error_code) for t in a.topics for p in t.partitions]
        )

    async def end(self, number: int, commit: bool) -> None:
        if commit:
            self.ledger.outcome[number] = None  # until the answer is there
        fields = {"transactional_id": self.id, "producer_id": self.pair[0], "producer_epoch": self.pair[1], "committed": commit}
        answer = await self.persist(ApiKey.END_TXN, 5 if self.tv2 else 3, fields, lambda a: [E(a.error_code)])
        self.ledger.outcome[number] = commit
        self.ledger.counts["committed" if commit else "aborted"] += 1
        self.added.clear()
        if self.tv2:
            self.pair = (answer.producer_id, answer.producer_epoch)  # type: ignore[attr-defined]
            self.sequences.clear()

    async def run(self) -> None:
        while self.running:
            try:
                await self.init()
                while self.running:
                    await self.transaction()
            except (Fatal, ConnectionLost, TimeoutError):
                self.ledger.counts["over"] += 1
                await asyncio.sleep(self.chance.random() * 0.5)

    async def transaction(self) -> None:
        raise NotImplementedError


class Transfer(Producer):
    async def transaction(self) -> None:
        number = self.ledger.begin()
        amount = self.chance.randrange(1, 100)
        debit, credit = self.chance.sample(range(PARTITIONS), 2)
        await self.send(TopicPartition(BANK, debit), b"%d %d" % (number, -amount))
        await self.send(TopicPartition(BANK, credit), b"%d %d" % (number, amount))
        await self.end(number, self.chance.random() < 0.75)


class Idler(Producer):
    async def transaction(self) -> None:
        number = self.ledger.begin()
        await self.send(TopicPartition(BANK, self.chance.randrange(PARTITIONS)), b"%d %d" % (number, 1))
        self.ledger.counts["left open"] += 1
        await asyncio.sleep(self.chance.random() * 12)
        raise Fatal("never came back")


class Copy(Producer):
    """One partition of the source, record by record; all its instances share the id, or nothing would keep them apart."""

    @property
    def source(self) -> TopicPartition:
        return TopicPartition(SOURCE, int(self.id[-1]))

    async def transaction(self) -> None:
        offset = await self.committed()
        values = [value for at, value in self.read(offset)][:3]
        if not values:
            await asyncio.sleep(0.5)
            return
        number = self.ledger.begin()
        for value in values:
            await self.send(TopicPartition(TARGET, int(value) % PARTITIONS), b"%d %d %s" % (number, self.source.partition, value))
        await self.commit_offset(self.source, offset + len(values))
        await self.end(number, self.chance.random() < 0.8)

    async def committed(self) -> int:
        fields = {
            "groups": [{"group_id": GROUP, "topics": [{"name": SOURCE, "partition_indexes": [self.source.partition]}]}],
            "require_stable": True,
        }

        def codes(answer: object) -> list[E]:
            return [E(g.error_code) for g in answer.groups] + [  # type: ignore[attr-defined]
                E(p.error_code)
                for g in answer.groups  # type: ignore[attr-defined]
                for t in g.topics
                for p in t.partitions
            ]

        answer = await self.persist(ApiKey.OFFSET_FETCH, 8, fields, codes)
        return max(0, answer.groups[0].topics[0].partitions[0].committed_offset)  # type: ignore[attr-defined]

    def read(self, offset: int) -> list[tuple[int, bytes]]:
        if self.cluster.broker is None:
            raise ConnectionLost
        log = self.cluster.broker.logs.log(self.source)
        assert log is not None
        return committed_records(log, offset, limit=200)


class World:
    """One seed: a cluster, its clients, and what they were told."""

    def __init__(self, seed: int) -> None:
        self.cluster = SimCluster(seed)
        self.chance = random.Random(seed)
        self.ledger = Ledger()
        self.cluster.start()
        self.fill()
        self.clients = self.make_clients()
        self.tasks = [self.cluster.loop.create_task(client.run()) for client in self.clients]

    def fill(self) -> None:
        broker = self.cluster.broker
        assert broker is not None
        for name, partitions in ((BANK, PARTITIONS), (SOURCE, SOURCES), (TARGET, PARTITIONS)):
            broker.logs.create_topic(name, partitions, SMALL)
        now_ms = self.cluster.clock.time_ms()
        for partition in range(SOURCES):
            log = broker.logs.log(TopicPartition(SOURCE, partition))
            assert log is not None
            for begin in range(0, SOURCE_RECORDS, 20):
                log.append(build_batch([(now_ms, None, b"%d" % n) for n in range(begin, begin + 20)]), now_ms)
            log.flush()

    def make_clients(self) -> list[Producer]:
        cluster, ledger = self.cluster, self.ledger
        clients: list[Producer] = [Transfer(cluster, ledger, f"bank-{n % 4}", tv2=n % 2 == 0) for n in range(6)]
        clients += [Copy(cluster, ledger, f"copy-{n % SOURCES}", tv2=n % 2 == 0) for n in range(3)]
        clients += [Idler(cluster, ledger, f"idle-{n}", tv2=n % 2 == 0) for n in range(2)]
        for client in clients:
            client.faults = 0.08
        return clients

    def live(self) -> None:
        """One life of the broker, ended by chance."""
        cluster, chance = self.cluster, self.chance
        died = not cluster.run(chance.random() * LIFE_SECONDS)
        if chance.random() < 0.3:
            cluster.clock.jump(chance.choice((-2_000, -100, 100, 3_000, 20_000)))
        if not died and chance.random() < 0.8:
            cluster.fs.die(chance.randrange(1, 150))
            cluster.run(1.0)
        cluster.bury(power_cut=chance.random() < 0.5)
        cluster.run(chance.random() * 0.3)  # nobody is there
        if chance.random() < 0.3:
            cluster.fs.die(chance.randrange(1, 60))
        cluster.restart()
        cluster.fs.die(None)
        self.check_life()

    def logs(self) -> list[Log]:
        assert self.cluster.broker is not None
        return self.cluster.broker.logs.logs()

    def check_life(self) -> None:
        broker = self.cluster.broker
        assert broker is not None
        runtime = broker.context.transactions.runtime
        owners = {txn.producer_id: txn for shard in runtime.shards() for txn in shard.transactions.values()}
        for log in self.logs():
            assert log.offline is None, log.offline
            assert log.log_start_offset <= log.last_stable_offset <= log.high_watermark <= log.log_end_offset, "I1"
            for producer_id, epoch, _ in log.open_transactions():
                txn = owners.get(producer_id)
                assert txn is not None, f"I2: nobody owns {producer_id} on {log}"
                assert log.topic_partition in txn.partitions, f"I2: {log} is not in {txn}"
                assert txn.producer_epoch >= epoch, f"I2: {log} {epoch} {txn}"

    def settle(self) -> None:
        """Faults stop; 30 virtual seconds later nothing is open any more."""
        for client in self.clients:
            client.faults = 0.0
            client.running = False
        self.cluster.run(30.0)
        for task in self.tasks:
            task.cancel()
        assert self.cluster.run(30.0)
        for log in self.logs():
            assert log.open_transactions() == [], f"stuck: {log}"
            assert log.last_stable_offset == log.high_watermark == log.log_end_offset

    def check_end(self) -> None:
        assert self.cluster.errors == []
        self.check_life()
        broker = self.cluster.broker
        assert broker is not None
        runtime = broker.context.transactions.runtime
        rebuilt = CoordinatorRuntime(broker.env, broker.logs, TRANSACTION_STATE, runtime.partitions, {}, TxnShard)
        rebuilt.load()
        assert [s.transactions for s in rebuilt.shards()] == [s.transactions for s in runtime.shards()], "I8"
        for log in self.logs():
            check_batches(log)
        self.check_bank()
        self.check_copies()

    def check_bank(self) -> None:
        seen: dict[int, list[int]] = defaultdict(list)
        for number, amount in (map(int, value.split()) for value in self.committed(BANK)):
            seen[number].append(amount)
        for number, amounts in seen.items():
            assert self.ledger.outcome[number] is not False, f"transaction {number} was aborted and is visible"
            assert len(amounts) == 2, f"transaction {number} is torn or doubled: {amounts}"
            assert sum(amounts) == 0
        self.check_lost(seen, "bank")

    def check_copies(self) -> None:
        broker = self.cluster.broker
        assert broker is not None
        copied: dict[int, list[int]] = defaultdict(list)
        for number, source, value in (map(int, record.split()) for record in self.committed(TARGET)):
            assert self.ledger.outcome[number] is not False, f"transaction {number} was aborted and is visible"
            copied[source].append(value)
        for source, values in copied.items():
            assert sorted(values) == list(range(len(values))), "copies lost or doubled"
            place = TopicPartition(SOURCE, source)
            offsets = broker.context.groups.fetch_offsets(GROUP, [place], require_stable=True)
            assert not isinstance(offsets, asyncio.Future)
            assert offsets[place].offset == len(values), "I6: offsets and records of a transaction are apart"

    def check_lost(self, seen: Iterable[int], what: str) -> None:
        copies = {int(record.split()[0]) for record in self.committed(TARGET)}
        lost = [number for number, outcome in self.ledger.outcome.items() if outcome and number not in copies and number not in set(seen)]
        assert lost == [], f"{what}: acknowledged commits are gone"

    def committed(self, topic: str) -> list[bytes]:
        return [value for log in self.logs() if log.topic_partition.topic == topic for _, value in committed_records(log, 0)]


def committed_records(log: Log, offset: int, limit: int = 1 << 40) -> list[tuple[int, bytes]]:
    """(offset, value) as a reader of committed data finds them."""
    found: list[tuple[int, bytes]] = []
    begin = offset
    dropped: set[int] = set()
    while offset < log.last_stable_offset:
        data = log.read(offset, min(limit, 1 << 20), isolation=1, min_one_message=True)
        raw = memoryview(bytes(data.records))
        if not raw:
            break
        aborted = list(data.aborted or [])
        for position, header in iter_headers(raw):
            dropped.update(entry.producer_id for entry in aborted if entry.first_offset <= header.last_offset <= entry.last_offset)
            if header.is_control:
                dropped.discard(header.producer_id)
            elif not (header.is_transactional and header.producer_id in dropped):
                batch = raw[position : position + header.size_bytes]
                found += [(record.offset, bytes(record.value or b"")) for record in iter_records(batch) if record.offset >= begin]
            offset = header.next_offset
        if len(raw) >= limit:
            break
    return found


def check_batches(log: Log) -> None:
    """I3: one marker for a pair. I9: one batch for a sequence. A pair of version 0 ends many transactions, so its markers may repeat."""
    batches: set[tuple[int, int, int]] = set()
    ended: set[tuple[int, int]] = set()
    epochs: dict[int, int] = {}
    for segment in log.segments:
        for position, header in segment.headers():
            if header.producer_id < 0 or log.topic_partition.topic.startswith("__"):
                continue
            pair = (header.producer_id, header.producer_epoch)
            if header.is_control:
                marker = parse_end_transaction_marker(segment.read_at(position, header.size_bytes))
                assert marker is not None
                assert epochs.get(header.producer_id, -1) <= header.producer_epoch, "an epoch falls"
                ended.add(pair)
            else:
                key = (*pair, header.base_sequence)
                assert key not in batches, f"I9: {key} twice in {log}"
                batches.add(key)
            epochs[header.producer_id] = header.producer_epoch


def lead(seed: int) -> Counter[str]:
    world = World(seed)
    try:
        for _ in range(LIVES):
            world.live()
        world.settle()
        world.check_end()
    finally:
        world.cluster.close()
    counts = world.ledger.counts
    counts["unknown"] = sum(outcome is None for outcome in world.ledger.outcome.values())
    counts["transactions"] = len(world.ledger.outcome)
    counts["deaths"] = world.cluster.deaths
    return counts


@pytest.mark.timeout(0)
def test_exactly_once(seed: int, runs: int | None) -> None:
    begun = time.perf_counter()
    seeds = range(seed, seed + (runs or SLICE))
    total: Counter[str] = Counter()
    for each in seeds:
        try:
            total += lead(each)
        except Exception as error:
            raise AssertionError(f"seed {each} failed; repeat with: make sim SEED={each} RUNS=1") from error
    seconds = time.perf_counter() - begun
    outcomes = total["committed"] + total["aborted"]
    assert outcomes > len(seeds) * 50, total
    print(f"seeds {seeds.start}..{seeds.stop - 1}: {dict(total)}; {outcomes / seconds:.0f} outcomes/s; torn=0 visible=0 doubled=0 lost=0")
