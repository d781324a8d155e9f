"""One seed of a whole-broker simulation: a cluster, exactly-once clients, faults, and what must hold after them.

A seed draws its own mix of faults: how often requests are lost, delayed or repeated, whether processes are killed or the power is cut,
whether clocks jump and disks refuse, how small the segments of the internal topics are (and with that, how much is compacted).

After every death: I1, I2. At the end: I3, I4, I5, I6, I8, I9, I10, what readers saw on the way, and what they see now: no transaction torn,
none aborted and visible, none doubled, none lost; 30 virtual seconds after the last fault nothing is open and no last stable offset
stands still.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator

from oncelog.coordinator.deferred import Deferred
from oncelog.coordinator.groups.shard import GroupShard
from oncelog.coordinator.result import Result
from oncelog.coordinator.runtime import CoordinatorRuntime
from oncelog.coordinator.txn.shard import TransactionLogFormat, TxnShard
from oncelog.coordinator.txn.state import MAX_CLIENT_EPOCH, TransactionMetadata, TransactionState
from oncelog.protocol.names import CONSUMER_OFFSETS, TRANSACTION_STATE, IsolationLevel, TopicPartition
from oncelog.protocol.records import build_batch
from oncelog.storage.log.log import Log

from support.simbroker import INTERNAL_PARTITIONS, SimCluster
from support.txn_clients import (
    BANK,
    GROUP,
    PARTITIONS,
    PLAIN,
    SOURCE,
    SOURCES,
    TARGET,
    TIMEOUT_MS,
    Copy,
    Idler,
    Ledger,
    Plain,
    Producer,
    Reader,
    Transfer,
    visible,
)

LIVES = 8
LIFE_SECONDS = 3.0
SETTLE_SECONDS = 30.0
SOURCE_RECORDS = 3_000
TRANSFER_IDS = 20
JOURNAL_BYTES = ("0", "65536", "1048576")  # none; one that is full again and again; one that never is
SMALL = {"internal.segment.bytes": "20000"}
COMPACT = {**SMALL, "cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.1"}


class World:
    """One seed."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.compacts = self.chance.random() < 0.5
        self.faults = self.chance.choice((0.2, 0.3, 0.4))
        self.power_cuts = self.chance.choice((0.0, 0.5, 0.9))
        self.jumps = self.chance.choice((0.0, 0.3, 0.6))
        self.refusals = self.chance.choice((0.0, 0.0, 0.3))
        self.cluster = SimCluster(seed, {"oncelog.journal.bytes": JOURNAL_BYTES[seed % len(JOURNAL_BYTES)]})
        self.ledger = Ledger()
        self.cluster.start()
        self.fill()
        self.clients = self.make_clients()
        self.tasks = [self.cluster.loop.create_task(client.run()) for client in self.clients]

    def fill(self) -> None:
        broker = self.cluster.broker
        assert broker is not None
        for name, partitions in ((BANK, PARTITIONS), (SOURCE, SOURCES), (TARGET, PARTITIONS), (PLAIN, PARTITIONS)):
            broker.logs.create_topic(name, partitions, SMALL)
        if self.compacts:  # all the time, as their segments are small
            broker.logs.create_topic(TRANSACTION_STATE, INTERNAL_PARTITIONS, COMPACT)
            broker.logs.create_topic(CONSUMER_OFFSETS, INTERNAL_PARTITIONS, COMPACT)
        now_ms = self.cluster.clock.time_ms()
        for partition in range(SOURCES):
            log = broker.logs.log(TopicPartition(SOURCE, partition))
            assert log is not None
            for begin in range(0, SOURCE_RECORDS, 20):
                log.append(build_batch([(now_ms, None, b"%d" % n) for n in range(begin, begin + 20)]), now_ms)
            log.flush()
        if self.chance.random() < 0.5:
            for n in range(0, TRANSFER_IDS, 3):
                self.almost_exhaust(f"bank-{n}")

    def almost_exhaust(self, id: str) -> None:
        """Make an id whose producer id will soon have no more epochs."""
        assert self.cluster.broker is not None
        service = self.cluster.broker.context.transactions
        known, now_ms = service.runtime, self.cluster.clock.time_ms()
        epoch = MAX_CLIENT_EPOCH - self.chance.randrange(40)
        txn = TransactionMetadata(id, service._ids.next_id(), epoch, TIMEOUT_MS, TransactionState.EMPTY, now_ms)
        known.write(id, lambda _shard, _now_ms: Result(None, (TransactionLogFormat(2).record(txn),)))
        known.sync(known.partition_for(id))

    def make_clients(self) -> list[Producer]:
        cluster, ledger = self.cluster, self.ledger
        self.reader = Reader(cluster, ledger)
        clients: list[Producer] = [Transfer(cluster, ledger, f"bank-{n % TRANSFER_IDS}", tv2=n % 2 == 0) for n in range(28)]
        clients += [Copy(cluster, ledger, f"copy-{n % SOURCES}", tv2=n % 2 == 0) for n in range(4)]
        clients += [Idler(cluster, ledger, f"idle-{n}", tv2=n % 2 == 0) for n in range(2)]
        clients += [Plain(cluster, ledger, f"plain-{n}", tv2=True) for n in range(2)]
        for client in clients:
            client.faults = self.faults
        return [*clients, self.reader]

    # -- faults

    def live(self) -> None:
        """One life of the broker, ended by chance."""
        cluster, chance = self.cluster, self.chance
        if chance.random() < self.refusals:
            cluster.fs.fail(chance.randrange(1, 4_000), only=("pwrite", "datasync"))
        died = not cluster.run(chance.random() * LIFE_SECONDS)
        if chance.random() < self.jumps:
            cluster.clock.jump(chance.choice((-2_000, -100, 100, 3_000, 20_000)))
        if not died and chance.random() < 0.8:
            cluster.fs.die(chance.randrange(1, 150))
            cluster.run(1.0)
        cluster.bury(power_cut=chance.random() < self.power_cuts)
        cluster.run(chance.random() * 0.3)  # nobody is there
        if chance.random() < 0.3:
            cluster.fs.die(chance.randrange(1, 60))
        cluster.restart()
        cluster.fs.die(None)
        self.check_life()

    def settle(self) -> None:
        """Faults stop; 30 virtual seconds later nothing is open any more and nobody waits for an answer."""
        for client in self.clients:
            client.faults = 0.0
            client.running = False
        assert self.cluster.run(SETTLE_SECONDS)
        for client, task in zip(self.clients, self.tasks, strict=True):
            assert task.done(), f"stuck: {type(client).__name__} {client.id}"
            task.result()
        for log in self.logs():
            assert log.open_transactions() == [], f"stuck: {log}"
            assert log.last_stable_offset == log.high_watermark == log.log_end_offset

    # -- what must hold

    def logs(self) -> list[Log]:
        assert self.cluster.broker is not None
        return self.cluster.broker.logs.logs()

    def check_life(self) -> None:
        for task in self.tasks:
            if task.done():
                task.result()
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

    def check_end(self) -> None:
        assert self.cluster.errors == []
        self.check_life()
        self.check_rebuilt()
        version2 = {producer_id for producer_id, id in self.ledger.owner.items() if int(id[-1]) % 2 == 0}
        committed: dict[TopicPartition, list[tuple[int, bytes]]] = {}
        for log in self.logs():
            if not log.topic_partition.topic.startswith("__"):
                check_batches(log, version2)
                committed[log.topic_partition] = committed_records(log)
        self.check_reader(committed)
        banked = check_bank(self.ledger, (value for place in committed if place.topic == BANK for _, value in committed[place]))
        check_plain(self.ledger, [int(value) for place in committed if place.topic == PLAIN for _, value in committed[place]])
        copied = self.check_copies([value for place in committed if place.topic == TARGET for _, value in committed[place]])
        lost = [number for number, outcome in self.ledger.outcome.items() if outcome and number not in banked | copied]
        assert lost == [], "I10: acknowledged commits are gone"

    def check_rebuilt(self) -> None:
        """I8: the logs, replayed from their beginning, give the live state."""
        broker = self.cluster.broker
        assert broker is not None
        live = broker.context.transactions.runtime
        rebuilt = CoordinatorRuntime(broker.env, broker.logs, TRANSACTION_STATE, live.partitions, {}, TxnShard)
        rebuilt.load()
        assert [shard.transactions for shard in rebuilt.shards()] == [shard.transactions for shard in live.shards()], "I8"
        if broker.logs.topics.get(CONSUMER_OFFSETS) is None:
            return
        groups = broker.context.groups.runtime
        again = CoordinatorRuntime(broker.env, broker.logs, CONSUMER_OFFSETS, groups.partitions, {}, GroupShard)
        again.load()
        for shard, known in zip(again.shards(), groups.shards(), strict=True):
            assert shard.offsets.of(GROUP) == known.offsets.of(GROUP), "I8"
            assert shard.offsets.has_pending(GROUP) == known.offsets.has_pending(GROUP), "I8"

    def check_reader(self, committed: dict[TopicPartition, list[tuple[int, bytes]]]) -> None:
        """I7: what was once visible stays, where it was; nothing appears between."""
        for place, seen in self.reader.seen.items():
            below = [entry for entry in committed[place] if entry[0] < self.reader.positions[place]]
            assert seen == below, f"I7: a reader of {place} saw what is not there, or missed what is"

    def check_copies(self, records: list[bytes]) -> set[int]:
        broker = self.cluster.broker
        assert broker is not None
        copied: dict[int, list[int]] = defaultdict(list)
        numbers = set()
        for number, source, value in (map(int, record.split()) for record in records):
            assert self.ledger.outcome[number] is not False, f"transaction {number} was aborted and is visible"
            copied[source].append(value)
            numbers.add(number)
        for source, values in copied.items():
            assert sorted(values) == list(range(len(values))), "copies lost or doubled"
            place = TopicPartition(SOURCE, source)
            offsets = broker.context.groups.offsets.fetch(GROUP, [place], require_stable=True)
            assert not isinstance(offsets, Deferred)
            assert offsets[place].offset == len(values), "I6: offsets and records of a transaction are apart"
        return numbers


def check_bank(ledger: Ledger, records: Iterator[bytes]) -> set[int]:
    seen: dict[int, list[int]] = defaultdict(list)
    for number, amount in (map(int, value.split()) for value in records):
        seen[number].append(amount)
    for number, amounts in seen.items():
        assert ledger.outcome[number] is not False, f"transaction {number} was aborted and is visible"
        assert len(amounts) == 2, f"transaction {number} is torn or doubled: {amounts}"
        assert sum(amounts) == 0
    return set(seen)


def check_plain(ledger: Ledger, seen: list[int]) -> None:
    assert len(seen) == len(set(seen)), "idempotent records are doubled"
    lost = {number for number, acknowledged in ledger.plain.items() if acknowledged} - set(seen)
    assert not lost, "acknowledged records are gone"


def committed_records(log: Log) -> list[tuple[int, bytes]]:
    """(offset, value) of all that a reader of committed data finds in the end."""
    found: list[tuple[int, bytes]] = []
    offset = log.log_start_offset
    while offset < log.last_stable_offset:
        data = log.read(offset, 1 << 20, isolation=IsolationLevel.READ_COMMITTED, min_one_message=True)
        aborted = [(entry.producer_id, entry.first_offset) for entry in data.aborted or ()]
        after, values = visible(memoryview(bytes(data.records)), aborted, offset)
        assert after > offset, f"no batch at {offset} of {log}"
        found += values
        offset = after
    return found


def check_batches(log: Log, version2: set[int]) -> None:
    """I3: one marker for a pair, where each transaction has its own epoch. I9: one batch for a sequence. Epochs never fall."""
    batches: set[tuple[int, int, int]] = set()
    ended: set[tuple[int, int]] = set()
    epochs: dict[int, int] = {}
    for segment in log.segments:
        for _, header in segment.headers():
            if header.producer_id < 0:
                continue
            pair = (header.producer_id, header.producer_epoch)
            if not header.is_control:
                key = (*pair, header.base_sequence)
                assert key not in batches, f"I9: {key} twice in {log}"
                batches.add(key)
            elif header.producer_id in version2:
                assert pair not in ended, f"I3: two markers of {pair} in {log}"
                ended.add(pair)
            assert epochs.get(header.producer_id, -1) <= header.producer_epoch, f"an epoch falls in {log}"
            epochs[header.producer_id] = header.producer_epoch


def lead(seed: int) -> Counter[str]:
    """Live through a seed; what happened. Raises AssertionError for anything that must not."""
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
    counts["outcomes"] = counts["committed"] + counts["aborted"]
    counts["plain"] = len(world.ledger.plain)
    counts["producer ids"] = len(world.ledger.owner)
    counts["deaths"] = world.cluster.deaths
    return counts
