"""Exactly-once clients for whole-broker simulations, and the ledger of what they were told.

* `Transfer`: two records on two partitions whose sum is zero, in one request or in two; several instances share a transactional id, so
  most of them are zombies, and some go on as if nobody had told them (`haunt`);
* `Copy`: read, process, write with the group's offsets in the transaction;
* `Idler`: opens a transaction and does not come back, or much too late;
* `Plain`: idempotent records without transactions, under a new producer id after each mishap;
* `Reader`: what a reader of committed data has seen, it must see again after any crash.

Half of the ids speak transaction version 0, half version 2.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode as E
from oncelog.protocol.names import TopicPartition
from oncelog.protocol.records import build_batch, iter_headers, iter_records

from support.simbroker import ConnectionLost, SimClient, SimCluster

TIMEOUT_MS = 5_000
BANK, SOURCE, TARGET, PLAIN = "bank", "in", "out", "plain"
PARTITIONS, SOURCES = 3, 2
GROUP = "copiers"
ATTEMPTS = 60
RETRIABLE = {E.CONCURRENT_TRANSACTIONS, E.COORDINATOR_LOAD_IN_PROGRESS, E.COORDINATOR_NOT_AVAILABLE, E.NOT_COORDINATOR,
             E.NOT_ENOUGH_REPLICAS, E.UNSTABLE_OFFSET_COMMIT, E.KAFKA_STORAGE_ERROR}  # fmt: skip
FENCED = {E.PRODUCER_FENCED, E.INVALID_PRODUCER_EPOCH}
Codes = Callable[[Any], Iterator[int]]


class Fatal(Exception):
    """This instance is over: fenced, aborted, or the broker refuses what cannot be repeated. `certain`: nothing came between."""

    def __init__(self, codes: set[E], certain: bool = False) -> None:
        super().__init__(codes)
        self.codes = codes
        self.certain = certain


class Ledger:
    """What clients were told. Outcomes of transaction numbers: True committed, False aborted, None nobody knows."""

    def __init__(self) -> None:
        self.outcome: dict[int, bool | None] = {}
        self.plain: dict[int, bool] = {}  # numbers of plain records: whether they were acknowledged
        self.pairs: set[tuple[int, int]] = set()
        self.owner: dict[int, str] = {}
        self.counts: Counter[str] = Counter()

    def begin(self) -> int:
        number = len(self.outcome)
        self.outcome[number] = False  # as long as nobody asked for a commit
        return number

    def given(self, transactional_id: str, pair: tuple[int, int]) -> None:
        assert pair not in self.pairs, f"I5: {pair} given out twice"
        self.pairs.add(pair)
        assert self.owner.setdefault(pair[0], transactional_id) == transactional_id, f"I4: producer id {pair[0]} of two ids"


class Producer(SimClient):
    """One instance of a transactional id."""

    transactional = True

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
        self._calm_at_begin: object = None

    # -- requests

    async def persist(self, key: ApiKey, version: int, fields: Mapping[str, Any], codes: Codes) -> Any:
        """Repeat until the answer is neither lost nor retriable. Raises Fatal after a while."""
        before = self.disturbances()
        for attempt in range(ATTEMPTS):
            try:
                answer = await self.call(key, version, fields)
            except ConnectionLost:
                await asyncio.sleep(0.02 + 0.01 * attempt)
                continue
            seen = {E(code) for code in codes(answer)}
            assert E.UNKNOWN_SERVER_ERROR not in seen, f"{key.name} v{version}: {seen}"
            if not seen & RETRIABLE:
                if seen != {E.NONE}:
                    raise Fatal(seen, certain=self.disturbances() == before)
                return answer
            await asyncio.sleep(0.01 + 0.01 * attempt)
        raise Fatal({E.REQUEST_TIMED_OUT})

    def disturbances(self) -> tuple[int, int, int]:
        """Goes up with every fault that hits this client or its broker."""
        return self.struck, self.cluster.deaths, self.cluster.clock.jumps

    async def init(self) -> None:
        id = self.id if self.transactional else None
        fields = {"transactional_id": id, "transaction_timeout_ms": TIMEOUT_MS, "producer_id": -1, "producer_epoch": -1}
        answer = await self.persist(ApiKey.INIT_PRODUCER_ID, 5, fields, lambda a: iter([a.error_code]))
        self._begins_as((answer.producer_id, answer.producer_epoch))

    def _begins_as(self, pair: tuple[int, int]) -> None:
        self.pair = pair
        self.ledger.given(self.id, pair)
        self.sequences.clear()

    async def send(self, values: Mapping[TopicPartition, bytes]) -> None:
        """One record each, in one request."""
        if self.transactional and not self.tv2:
            await self.add([place for place in values if place not in self.added])
        now_ms = self.cluster.clock.time_ms()
        data: dict[str, list[dict[str, object]]] = defaultdict(list)
        for place, value in values.items():
            batch = build_batch(
                [(now_ms, None, value)],
                producer_id=self.pair[0],
                producer_epoch=self.pair[1],
                base_sequence=self.sequences.get(place, 0),
                is_transactional=self.transactional,
            )
            data[place.topic].append({"index": place.partition, "records": bytes(batch)})
        topics = [{"name": topic, "partition_data": partitions} for topic, partitions in data.items()]
        id = self.id if self.transactional else None
        fields = {"transactional_id": id, "acks": -1, "timeout_ms": 1000, "topic_data": topics}
        version = 12 if self.tv2 else 11
        await self.persist(ApiKey.PRODUCE, version, fields, lambda a: (p.error_code for t in a.responses for p in t.partition_responses))
        for place in values:
            self.sequences[place] = self.sequences.get(place, 0) + 1

    async def add(self, places: list[TopicPartition]) -> None:
        if not places:
            return
        fields = {
            "v3_and_below_transactional_id": self.id,
            "v3_and_below_producer_id": self.pair[0],
            "v3_and_below_producer_epoch": self.pair[1],
            "v3_and_below_topics": [{"name": place.topic, "partitions": [place.partition]} for place in places],
        }
        await self.persist(
            ApiKey.ADD_PARTITIONS_TO_TXN,
            3,
            fields,
            lambda a: (p.partition_error_code for t in a.results_by_topic_v3_and_below for p in t.results_by_partition),
        )
        self.added.update(places)

    async def commit_offset(self, place: TopicPartition, offset: int) -> None:
        producer = {"transactional_id": self.id, "producer_id": self.pair[0], "producer_epoch": self.pair[1], "group_id": GROUP}
        if not self.tv2:
            await self.persist(ApiKey.ADD_OFFSETS_TO_TXN, 3, producer, lambda a: iter([a.error_code]))
        partition = {"partition_index": place.partition, "committed_offset": offset, "committed_leader_epoch": -1, "committed_metadata": ""}
        topics = [{"name": place.topic, "partitions": [partition]}]
        fields = {**producer, "generation_id": -1, "member_id": "", "group_instance_id": None, "topics": topics}
        version = 5 if self.tv2 else 3
        await self.persist(ApiKey.TXN_OFFSET_COMMIT, version, fields, lambda a: (p.error_code for t in a.topics for p in t.partitions))

    async def ask_end(self, commit: bool) -> Any:
        fields = {"transactional_id": self.id, "producer_id": self.pair[0], "producer_epoch": self.pair[1], "committed": commit}
        return await self.persist(ApiKey.END_TXN, 5 if self.tv2 else 3, fields, lambda a: iter([a.error_code]))

    # -- transactions

    def begin(self) -> int:
        self._calm_at_begin = self.disturbances()
        return self.ledger.begin()

    async def end(self, number: int, commit: bool) -> None:
        ledger = self.ledger
        if commit:
            ledger.outcome[number] = None  # until the answer is there
        try:
            answer = await self.ask_end(commit)
        except Fatal as fatal:
            if fatal.certain:
                ledger.outcome[number] = False
                ledger.counts["refused"] += 1
            raise
        ledger.outcome[number] = commit
        ledger.counts["committed" if commit else "aborted"] += 1
        ledger.counts["under faults"] += self.disturbances() != self._calm_at_begin
        self.added.clear()
        if self.tv2:
            self._begins_as((answer.producer_id, answer.producer_epoch))

    async def haunt(self) -> None:
        """Go on with an epoch that is known to be fenced. A partition may take it before its marker comes, but nothing is committed."""
        number = self.ledger.begin()
        place = TopicPartition(BANK, self.chance.randrange(PARTITIONS))
        with contextlib.suppress(Fatal):
            await self.send({place: b"%d %d" % (number, 7)})
        self.ledger.counts["haunted"] += 1
        try:
            await self.ask_end(commit=True)
        except Fatal:
            return
        raise AssertionError(f"{self.id} {self.pair} is fenced and has committed")

    async def run(self) -> None:
        while self.running:
            try:
                self.added.clear()
                await self.init()
                while self.running:
                    await self.transaction()
            except Fatal as fatal:
                self.ledger.counts["over"] += 1
                if fatal.codes & FENCED and self.chance.random() < 0.3:
                    await self.haunt()
                await asyncio.sleep(self.chance.random() * 0.5)

    async def transaction(self) -> None:
        raise NotImplementedError


class Transfer(Producer):
    async def transaction(self) -> None:
        number = self.begin()
        amount = self.chance.randrange(1, 100)
        debit, credit = self.chance.sample(range(PARTITIONS), 2)
        first = {TopicPartition(BANK, debit): b"%d %d" % (number, -amount)}
        second = {TopicPartition(BANK, credit): b"%d %d" % (number, amount)}
        if self.chance.random() < 0.7:
            await self.send({**first, **second})
        else:
            await self.send(first)
            await self.send(second)
        await self.end(number, self.chance.random() < 0.75)


class Idler(Producer):
    async def transaction(self) -> None:
        number = self.begin()
        await self.send({TopicPartition(BANK, self.chance.randrange(PARTITIONS)): b"%d %d" % (number, 1)})
        self.ledger.counts["left open"] += 1
        await asyncio.sleep(self.chance.random() * 12)
        if self.chance.random() < 0.5:  # too late, or just in time: then half a transfer is torn, so it may only abort
            await self.end(number, False)
        raise Fatal({E.REQUEST_TIMED_OUT})


class Plain(Producer):
    transactional = False

    async def transaction(self) -> None:
        """Some records, then a new producer id."""
        for _ in range(self.chance.randrange(1, 20)):
            number = len(self.ledger.plain)
            self.ledger.plain[number] = False
            await self.send({TopicPartition(PLAIN, self.chance.randrange(PARTITIONS)): b"%d" % number})
            self.ledger.plain[number] = True
            await asyncio.sleep(self.chance.random() * 0.1)
        await self.init()


class Copy(Producer):
    """One partition of the source, a few records at a time; all its instances share the id, or nothing would keep them apart."""

    @property
    def source(self) -> TopicPartition:
        return TopicPartition(SOURCE, int(self.id[-1]))

    async def transaction(self) -> None:
        offset = await self.committed()
        values = (await self.fetch({self.source: offset}, max_bytes=300))[self.source][1][:3]
        if not values:
            await asyncio.sleep(0.5)
            return
        number = self.begin()
        together: dict[TopicPartition, bytes] = {}
        for _, value in values:  # consecutive numbers, so each goes to a partition of its own
            together[TopicPartition(TARGET, int(value) % PARTITIONS)] = b"%d %d %s" % (number, self.source.partition, value)
        if self.chance.random() < 0.5:
            await self.send(together)
        else:
            for place, value in together.items():
                await self.send({place: value})
        await self.commit_offset(self.source, offset + len(values))
        await self.end(number, self.chance.random() < 0.8)

    async def committed(self) -> int:
        topics = [{"name": SOURCE, "partition_indexes": [self.source.partition]}]
        fields = {"groups": [{"group_id": GROUP, "topics": topics}], "require_stable": True}

        def codes(answer: Any) -> Iterator[int]:
            for group in answer.groups:
                yield group.error_code
                yield from (p.error_code for t in group.topics for p in t.partitions)

        answer = await self.persist(ApiKey.OFFSET_FETCH, 8, fields, codes)
        return max(0, answer.groups[0].topics[0].partitions[0].committed_offset)

    async def fetch(self, positions: Mapping[TopicPartition, int], max_bytes: int) -> dict[TopicPartition, Fetched]:
        return await fetch_committed(self, positions, max_bytes)


Fetched = tuple[int, list[tuple[int, bytes]]]


async def fetch_committed(client: Producer, positions: Mapping[TopicPartition, int], max_bytes: int) -> dict[TopicPartition, Fetched]:
    """place -> (next position, [(offset, value)]) as a consumer of committed data makes it from one Fetch."""
    topics = [
        {"topic": place.topic, "partitions": [{"partition": place.partition, "fetch_offset": offset, "partition_max_bytes": max_bytes}]}
        for place, offset in positions.items()
    ]
    fields = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 1 << 20, "isolation_level": 1, "session_id": 0, "session_epoch": -1}
    answer = await client.persist(
        ApiKey.FETCH, 11, {**fields, "topics": topics}, lambda a: (p.error_code for t in a.responses for p in t.partitions)
    )
    found: dict[TopicPartition, Fetched] = {}
    for topic in answer.responses:
        for partition in topic.partitions:
            place = TopicPartition(topic.topic, partition.partition_index)
            aborted = [(txn.producer_id, txn.first_offset) for txn in partition.aborted_transactions or ()]
            found[place] = visible(memoryview(bytes(partition.records or b"")), aborted, positions[place])
    return found


def visible(raw: memoryview, aborted: list[tuple[int, int]], begin: int) -> Fetched:
    """What a consumer keeps of fetched batches, by Kafka's rule; `aborted`: (producer id, first offset)."""
    waiting = sorted(aborted, key=lambda entry: entry[1])
    dropped: set[int] = set()
    values: list[tuple[int, bytes]] = []
    position = begin
    for at, header in iter_headers(raw):
        while waiting and waiting[0][1] <= header.last_offset:
            dropped.add(waiting.pop(0)[0])
        if header.is_control:
            dropped.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in dropped):
            records = iter_records(raw[at : at + header.size_bytes])
            values += [(record.offset, bytes(record.value or b"")) for record in records if record.offset >= begin]
        position = header.next_offset
    return position, values


class Reader(Producer):
    """Follows all partitions to the last stable offset and remembers what it saw."""

    def __init__(self, cluster: SimCluster, ledger: Ledger) -> None:
        super().__init__(cluster, ledger, "", tv2=True)
        self.positions = {TopicPartition(topic, partition): 0 for topic in (BANK, TARGET, PLAIN) for partition in range(PARTITIONS)}
        self.seen: dict[TopicPartition, list[tuple[int, bytes]]] = {place: [] for place in self.positions}

    async def run(self) -> None:
        while self.running:
            try:
                fetched = await fetch_committed(self, self.positions, 1 << 16)
            except Fatal:
                self.ledger.counts["reader over"] += 1
            else:
                for place, (position, values) in fetched.items():
                    self.positions[place] = position
                    self.seen[place] += values
            await asyncio.sleep(0.1 + self.chance.random() * 0.4)
