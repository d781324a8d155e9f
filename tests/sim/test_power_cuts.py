"""Logs against power cuts: whatever was appended, rolled, compacted or deleted when the power went, what was acknowledged is there.

A seed is one data directory that lives several times: a random life is led until the process is killed or the power is cut, at a random
file call or between two; the next start must find every acknowledged record at its offset, the five newest batches of every producer, the
last stable offset and the aborted transactions. The model below keeps what was written; it shares nothing with the log.
"""

from __future__ import annotations

import contextlib
import random
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from oncelog.protocol.errors import KafkaError
from oncelog.protocol.names import TopicPartition
from oncelog.protocol.records import build_batch, iter_headers, iter_records
from oncelog.storage.audit.verify import verify
from oncelog.storage.config import LogConfig
from oncelog.storage.directory.manager import LogManager
from oncelog.storage.env import Env
from oncelog.storage.journal.journal import LEAST_BYTES
from oncelog.storage.log.log import Log
from oncelog.storage.upkeep.retention import delete_records
from support.inline import SeededRandom, delete_topic
from support.seeds import lead_all
from support.simfs import Died, SimFileSystem
from support.simloop import T0_MS, StepFlusher

SLICE = 180
LIVES = 6
AUDIT_EVERY = 5  # seeds between two audits
DATA = Path("/data")
SMALL = {"internal.segment.bytes": "1500", "index.interval.bytes": "200", "file.delete.delay.ms": "20"}
COMPACT = {**SMALL, "cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}
PRODUCERS = 4


class TickingClock:
    """Every look takes a millisecond, so that work within a time budget is cut into pieces."""

    def __init__(self) -> None:
        self.now_ms = T0_MS

    def time_ms(self) -> int:
        return self.now_ms

    def monotonic_ms(self) -> float:
        self.now_ms += 1
        return float(self.now_ms)


class Written:
    """One batch of the model; a marker has no values."""

    __slots__ = ("base", "commit", "epoch", "key", "last", "pid", "sequence", "transactional", "values")

    def __init__(self, base: int, values: list[bytes], key: bytes | None, pid: int, epoch: int, sequence: int, transactional: bool) -> None:
        self.base, self.last = base, base + max(len(values), 1) - 1
        self.values, self.key = values, key
        self.pid, self.epoch, self.sequence = pid, epoch, sequence
        self.transactional = transactional
        self.commit: bool | None = None


class Partition:
    """What a log must hold: all that was written, in order of offsets, and how much of it was acknowledged."""

    def __init__(self, topic_partition: TopicPartition, compact: bool) -> None:
        self.topic_partition = topic_partition
        self.compact = compact
        self.batches: list[Written] = []
        self.acknowledged = 0
        self.log_start = 0
        self.next_sequence: dict[int, int] = {}

    @property
    def end(self) -> int:
        return self.batches[-1].last + 1 if self.batches else 0

    def cut(self, end: int) -> None:
        """What was not acknowledged may be gone from `end` on."""
        self.batches = [batch for batch in self.batches if batch.last < end]
        self.next_sequence = {}
        for batch in self.batches:
            if batch.values and batch.pid >= 0:
                self.next_sequence[batch.pid] = batch.sequence + len(batch.values)

    def open_transactions(self) -> dict[int, int]:
        """producer id -> first offset."""
        found: dict[int, int] = {}
        for batch in self.batches:
            if batch.commit is not None:
                found.pop(batch.pid, None)
            elif batch.transactional:
                found.setdefault(batch.pid, batch.base)
        return found

    def committed(self, end: int) -> dict[int, bytes]:
        """offset -> value of what a committed reader sees below `end`."""
        seen: dict[int, bytes] = {}
        waiting: dict[int, dict[int, bytes]] = {}
        for batch in self.batches:
            if batch.commit is not None:
                ended = waiting.pop(batch.pid, {})
                seen.update(ended if batch.commit else {})
            else:
                values = {batch.base + n: value for n, value in enumerate(batch.values)}
                (waiting.setdefault(batch.pid, {}) if batch.transactional else seen).update(values)
        return {offset: value for offset, value in sorted(seen.items()) if offset < end}


class World:
    """One data directory, the process on it, and the model."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.journal_bytes = LEAST_BYTES if seed % 2 else 0
        self.segment_bytes = str((1_500, 6_000, 30_000)[seed % 3])  # a batch behind a roll passes the journal by
        self.clock = TickingClock()
        self.fs = SimFileSystem(seed, now_ms=self.clock.time_ms)
        self.env = Env(self.clock, SeededRandom(seed), self.fs, "first")
        self.flusher = StepFlusher(self.chance)
        self.partitions: dict[TopicPartition, Partition] = {}
        self.unsure_topics: set[str] = set()
        self.topic_ids: dict[str, object] = {}
        self.ordered: list[tuple[Partition, int, bool]] = []  # what passed through the journal, and up to which offset; was it in it?
        self.values = 0
        self.counts: Counter[str] = Counter()
        self.topics_made = 0
        self.manager = self.start()
        for compact in (False, False, True):
            self.create(compact)

    def start(self) -> LogManager:
        self.flusher.forget()
        self.manager = LogManager(self.env, DATA, LogConfig(journal_bytes=self.journal_bytes), self.flusher)
        self.manager.start()
        self.manager.journal.want()
        self.manager.maintenance(self.clock.now_ms)
        if self.chance.random() < 0.9:  # the journal is made
            self.flusher.flush()
        return self.manager

    def log(self, partition: Partition) -> Log:
        log = self.manager.log(partition.topic_partition)
        assert log is not None, f"{partition.topic_partition} is gone"
        return log

    # -- a life

    def live(self, steps: int) -> None:
        for _ in range(steps):
            self.clock.now_ms += self.chance.randrange(30)
            self.step()

    def step(self) -> None:
        dice = self.chance.random()
        if dice < 0.30:
            self.flusher.step()
        elif dice < 0.90:
            self.append(self.chance.choice(list(self.partitions.values())))
        elif dice < 0.96:
            self.upkeep()
        elif dice < 0.98:
            self.delete_records(self.chance.choice(list(self.partitions.values())))
        elif dice < 0.99:
            self.create(self.chance.random() < 0.5)
        elif len(self.topic_ids) > 2:
            self.delete(self.chance.choice(sorted(self.topic_ids)))

    def append(self, partition: Partition) -> None:
        log = self.log(partition)
        pid = self.chance.randrange(-1, PRODUCERS)
        transactional = pid >= PRODUCERS // 2
        opened = partition.open_transactions()
        if pid in opened and self.chance.random() < 0.4:
            return self.end_transaction(partition, pid, self.chance.random() < 0.5)
        key = b"k%d" % self.chance.randrange(4) if partition.compact else None
        values = [self._value() for _ in range(self.chance.randrange(1, 4))]
        sequence = partition.next_sequence.get(pid, 0) if pid >= 0 else -1
        batch = build_batch(
            [(self.clock.now_ms, key, value) for value in values],
            producer_id=pid,
            producer_epoch=0 if pid >= 0 else -1,
            base_sequence=sequence,
            is_transactional=transactional,
        )
        base = log.log_end_offset
        written = Written(base, values, key, pid, 0, sequence, transactional)
        partition.batches.append(written)  # before the call: a process may die behind its write
        info = log.append(batch, self.clock.now_ms, verified=transactional)
        assert (info.base_offset, info.duplicate) == (base, False)
        if pid >= 0:
            partition.next_sequence[pid] = sequence + len(values)
        self._acknowledge(partition, log, info.last_offset + 1)
        return None

    def _value(self) -> bytes:
        self.values += 1
        return b"%d " % self.values + b"x" * self.chance.randrange(120)

    def _acknowledge(self, partition: Partition, log: Log, end: int) -> None:
        held = log.durability._held
        journaled = bool(held) and held[-1].end_offset == end and held[-1].journaled
        if journaled or partition.batches[-1].commit is not None:
            self.ordered.append((partition, end, journaled))
            self.counts["journaled"] += journaled

        def durable(error: KafkaError | None) -> None:
            if error is None:
                partition.acknowledged = max(partition.acknowledged, end)

        log.when_durable(end, durable)

    def end_transaction(self, partition: Partition, pid: int, commit: bool) -> None:
        log = self.log(partition)
        marker = Written(log.log_end_offset, [], None, pid, 0, -1, True)
        marker.commit = commit
        partition.batches.append(marker)
        offset = log.append_marker(pid, 0, 0, commit, self.clock.now_ms)
        self._acknowledge(partition, log, offset + 1)

    def upkeep(self) -> None:
        self.clock.now_ms += self.chance.choice((1_100, 5_100, 61_000, 400_000))
        for _ in range(self.chance.randrange(1, 30)):
            self.manager.maintenance(self.clock.now_ms)

    def delete_records(self, partition: Partition) -> None:
        log = self.log(partition)
        if not partition.compact and log.last_stable_offset > log.log_start_offset:  # not into an open transaction: it would be forgotten
            partition.log_start = self.chance.randrange(log.log_start_offset, log.last_stable_offset + 1)
            assert delete_records(log, partition.log_start) == partition.log_start

    def create(self, compact: bool) -> None:
        self.topics_made += 1
        name = f"t{self.topics_made}"
        self.unsure_topics.add(name)
        configs = {**(COMPACT if compact else SMALL), "internal.segment.bytes": self.segment_bytes}
        topic = self.manager.create_topic(name, 1, configs)
        self.unsure_topics.discard(name)
        self.topic_ids[name] = topic.topic_id
        place = TopicPartition(name, 0)
        self.partitions[place] = Partition(place, compact)

    def delete(self, name: str) -> None:
        self.unsure_topics.add(name)
        del self.partitions[TopicPartition(name, 0)]
        del self.topic_ids[name]
        delete_topic(self.manager, name)
        self.unsure_topics.discard(name)

    # -- a death

    def perish(self) -> None:
        """End the life, and begin the next one; a start may be cut off too."""
        self.fs.dead = True
        while True:
            with contextlib.suppress(Died):  # a pass of the cleaner under way ends here, not when Python collects it
                self.manager.chores.cleaner.close()
            if self.chance.random() < 0.7:
                self.fs.crash()
                self.env = replace(self.env, boot_id=f"after {self.chance.random()}")
                self.counts["power cuts"] += 1
            else:
                self.fs.kill()
                self.counts["kills"] += 1
            if self.chance.random() < 0.3:
                self.fs.die(self.chance.randrange(1, 40))
            try:
                self.start()
            except Died:
                continue
            self.fs.die(None)
            return

    # -- what must hold then

    def check(self) -> None:
        known = {topic.name: topic.topic_id for topic in self.manager.topics.all()}
        for name in self.unsure_topics & known.keys():
            delete_topic(self.manager, known.pop(name) and name)
        self.unsure_topics.clear()
        assert known == self.topic_ids
        self.check_order()
        for partition in self.partitions.values():
            check_partition(self.log(partition), partition, self.clock.now_ms)

    def check_order(self) -> None:
        """No batch of the journal, and no marker, is there while an earlier batch of the journal, of any log, is not."""
        lost = ""
        for partition, end, journaled in self.ordered:
            if partition.topic_partition not in self.partitions or self.partitions[partition.topic_partition] is not partition:
                continue
            is_there = self.log(partition).log_end_offset >= end
            assert not (is_there and lost), f"{partition.topic_partition} {end} is there, {lost} is not"
            if journaled and not is_there:
                lost = f"{partition.topic_partition} {end}"
        self.counts["lives with lost batches"] += bool(lost)
        self.ordered.clear()

    def audit(self) -> None:
        """An orderly stop, then the offline auditor on a copy of the directory. Nobody coordinates here, so open transactions end first."""
        for partition in self.partitions.values():
            for pid in partition.open_transactions():
                self.end_transaction(partition, pid, False)
        self.flusher.flush()
        self.manager.stop()
        with tempfile.TemporaryDirectory() as folder:
            copy_out(self.fs, Path(folder))
            report = verify(Path(folder))
        served = {
            str(place) for place in self.partitions
        }  # folders of topics whose making or deletion was cut off are kept, and not served
        errors = [finding for finding in report.errors if finding.partition in served or not finding.partition]
        assert not errors, errors
        self.counts["audits"] += 1
        self.fs.kill()
        self.start()


def check_partition(log: Log, partition: Partition, now_ms: int) -> None:
    assert log.offline is None
    assert partition.acknowledged <= log.log_end_offset <= partition.end, "acknowledged records lost"
    assert log.log_start_offset <= partition.log_start, (log, partition.log_start, partition.acknowledged)
    partition.cut(log.log_end_offset)
    for pid in partition.next_sequence:  # of a producer whose newest records are deleted only what is left can tell, as in Kafka
        kept = (batch.pid == pid and batch.values and batch.base >= log.log_start_offset for batch in partition.batches)
        if partition.compact or not any(kept):
            entry = log.state.get(pid)
            partition.next_sequence[pid] = entry.last_sequence + 1 if entry else 0
    opened = partition.open_transactions()
    stable = min(opened.values(), default=log.log_end_offset)
    assert log.last_stable_offset == max(stable, log.log_start_offset), (
        log,
        log.last_stable_offset,
        stable,
        log.open_transactions(),
        opened,
    )
    assert {pid: first for pid, _, first in log.open_transactions()} == opened, (log, log.open_transactions(), opened)
    written = {batch.base + n: value for batch in partition.batches for n, value in enumerate(batch.values)}
    kept = dict(read_all(log, 0))
    committed = dict(read_all(log, 1))
    expected = partition.committed(log.last_stable_offset)
    if partition.compact:
        check_compacted(log, partition, kept, committed, expected)
    else:
        expect = {offset: value for offset, value in written.items() if offset >= log.log_start_offset}
        assert kept == expect, (
            log,
            "missing",
            sorted(expect.keys() - kept.keys()),
            "extra",
            sorted(kept.keys() - expect.keys()),
            "other",
            [o for o in kept if expect.get(o, kept[o]) != kept[o]],
            "acked",
            partition.acknowledged,
        )
        assert committed == {offset: value for offset, value in expected.items() if offset >= log.log_start_offset}
    check_producers(log, partition, now_ms)


def check_compacted(
    log: Log, partition: Partition, kept: dict[int, bytes], committed: dict[int, bytes], expected: dict[int, bytes]
) -> None:
    """What is left was written, and of every key the newest committed value is left."""
    written = {batch.base + n: value for batch in partition.batches for n, value in enumerate(batch.values)}
    assert kept.items() <= written.items()
    assert committed.items() <= expected.items(), (log, sorted(committed.keys() - expected.keys()))
    newest: dict[bytes | None, int] = {}
    for batch in partition.batches:
        for offset in range(batch.base, batch.last + 1):
            if offset in expected:
                newest[batch.key] = max(newest.get(batch.key, -1), offset)
    assert set(newest.values()) <= committed.keys(), (log, newest, sorted(committed), partition.acknowledged)


def check_producers(log: Log, partition: Partition, now_ms: int) -> None:
    """A retry of any of a producer's five newest batches is answered with its first offset."""
    for pid in range(PRODUCERS):
        mine = [batch for batch in partition.batches if batch.pid == pid and batch.values and batch.base >= log.log_start_offset]
        if partition.compact:  # the cleaner keeps the newest batch only, and in a power cut that may be one that is lost
            continue
        for batch in mine[-5:]:
            again = build_batch(
                [(now_ms, batch.key, value) for value in batch.values],
                producer_id=pid,
                producer_epoch=0,
                base_sequence=batch.sequence,
                is_transactional=batch.transactional,
            )
            info = log.append(again, now_ms, verified=True)
            seen = (info.duplicate, info.base_offset, info.last_offset)
            assert seen == (True, batch.base, batch.last), (log, seen, batch.base, pid, batch.sequence)


def read_all(log: Log, isolation: int) -> Iterator[tuple[int, bytes]]:
    """(offset, value) as a consumer finds them."""
    offset = log.log_start_offset
    dropped: set[int] = set()
    while offset < log.readable_end(isolation):
        data = log.read(offset, 4_000, isolation=isolation, min_one_message=True)
        raw = memoryview(bytes(data.records))
        if not raw:
            return  # the rest was compacted away
        aborted = sorted(data.aborted or [], key=lambda entry: entry.first_offset)
        for position, header in iter_headers(raw):
            dropped.update(entry.producer_id for entry in aborted if entry.first_offset <= header.last_offset <= entry.last_offset)
            if header.is_control:
                dropped.discard(header.producer_id)
            elif not (header.is_transactional and header.producer_id in dropped):
                for record in iter_records(raw[position : position + header.size_bytes]):
                    if record.offset >= log.log_start_offset:
                        yield record.offset, bytes(record.value or b"")
            offset = header.next_offset


def copy_out(fs: SimFileSystem, folder: Path) -> None:
    for name, inode in sorted(fs.names.items()):
        if not name.startswith(f"{DATA}/"):
            continue
        target = folder / name[len(f"{DATA}/") :]
        if inode is None:
            target.mkdir(parents=True, exist_ok=True)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(inode.content)


def lead(seed: int) -> Counter[str]:
    """One seed: several lives of one directory."""
    world = World(seed)
    for life in range(LIVES):
        try:
            if world.chance.random() < 0.8:
                world.fs.die(world.chance.randrange(1, 200))
            world.live(world.chance.randrange(10, 120))
        except Died:
            pass  # where the dice fell; the rest of that life does not happen
        world.perish()
        world.check()
        if life == LIVES - 1 and seed % AUDIT_EVERY == 0:
            world.audit()
            world.check()
    return world.counts


def repeat_with(seed: int) -> str:
    return f"repeat with: make sim SEED={seed} RUNS=1"


@pytest.mark.parametrize("seed_of_old", [521, 5460, 5620, 5764, 6233, 31420])
def test_seeds_that_found_something(seed_of_old: int) -> None:
    lead(seed_of_old)


@pytest.mark.timeout(0)
@pytest.mark.usefixtures("quiet")
def test_acknowledged_records_survive(seed: int, runs: int | None, request: pytest.FixtureRequest, tell: Callable[[str], None]) -> None:
    seeds = range(seed, seed + (runs or SLICE))
    total = lead_all(lead, seeds, request.config.getoption("--jobs"), "make sim SEED={seed} RUNS=1", tell, cuts)
    tell(f"{dict(total)}; lost=0 reused=0")
    assert total["power cuts"] > 3 * len(seeds)


def cuts(total: Counter[str], seconds: float) -> str:
    count = total["power cuts"]
    return f"{count:,} power cuts, {total['kills']:,} kills, {total['audits']:,} audits, {count / seconds:.0f} cuts/s"


def test_every_failing_call(seed: int) -> None:
    """Fail the Nth file call of a life, then N+1, until none fails: the process goes on or ends; the next start has it all."""
    nth = 0
    while True:
        nth += 1
        world = World(seed)
        world.fs.fail(nth)
        with contextlib.suppress(KafkaError, OSError):  # told to whoever asked
            world.live(60)
        reached = world.fs.failed is not None
        world.fs.fail(None)
        world.fs.crash() if nth % 2 else world.fs.kill()
        world.env = replace(world.env, boot_id=f"after {nth // 2}")
        world.start()
        try:
            world.check()
        except AssertionError as error:
            raise AssertionError(f"call {nth} ({world.fs.failed}) of seed {seed}; {repeat_with(seed)}") from error
        if not reached:
            break
    print(f"seed {seed}: {nth - 1} calls failed, one after the other")
