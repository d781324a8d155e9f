"""A share partition as one dictionary of records, and random lives that a real one must agree with it about.

The model says what may be; which of the available records are handed out, and in what portions, it takes from the machine and judges.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from oncelog.broker.sharing.acquiring import Acquired, Limits, Span, Wanted
from oncelog.broker.sharing.partition import (
    ACCEPT,
    GAP,
    REJECT,
    RELEASE,
    RENEW,
    AcknowledgedBatch,
    Change,
    SharePartition,
)
from oncelog.broker.sharing.pieces import ACKNOWLEDGED, ACQUIRED, ARCHIVED, AVAILABLE
from oncelog.protocol.errors import KafkaError
from oncelog.protocol.internal.share_state import StateBatch

MEMBERS = ("a", "b", "c")


@dataclass(frozen=True)
class Known:
    """One record."""

    state: int = AVAILABLE
    deliveries: int = 0
    owner: str = ""
    deadline: float = 0.0
    was: Known | None = None

    @property
    def free(self) -> bool:
        return self.state == AVAILABLE and self.was is None


class Life:
    """A machine and its model, led through random operations by a seed; AssertionError when they differ."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        random = self.random
        self.limits = Limits(random.choice((5, 20, 100)), random.choice((2, 3, 5, 10)), random.choice((10, 40, 2000)))
        self.now = 0.0
        self.log: list[Span] = []  # batches; offsets between them are not there
        self.aborted: list[Span] = []
        self.log_start = 0
        self.start = 0
        self.records: dict[int, Known] = {}
        self.accepted: Counter[int] = Counter()
        self.pending: list[Change] = []
        self.stored: dict[int, tuple[int, int]] = {}  # what is on disk: state and count
        self.stored_start = 0
        self.machine = SharePartition(0)
        self.counts: Counter[str] = Counter()

    # -- the log

    @property
    def log_end(self) -> int:
        return self.log[-1].last + 1 if self.log else self.log_start

    def produce(self) -> None:
        first = self.log_end + (self.random.randrange(1, 9) if self.random.random() < 0.1 else 0)
        span = Span(first, first + self.random.choice((0, 0, 1, 4, 9)))
        self.log.append(span)
        if self.random.random() < 0.15:
            self.aborted.append(span)

    def compact(self) -> None:
        if len(self.log) > 1:
            del self.log[self.random.randrange(len(self.log) - 1)]

    def delete_records(self) -> None:
        self.log_start = min(self.log_start + self.random.randrange(12), self.log_end)
        self.log = [span for span in self.log if span.last >= self.log_start]
        if not self.log:
            self.log = [Span(self.log_start, self.log_start + 3)]
        if self.machine.log_starts_at(self.log_start):
            self.records = {offset: known for offset, known in self.records.items() if offset >= self.log_start}
            self.start = max(self.start, self.log_start)
        self.move_start()

    # -- what members do

    def acquire(self) -> None:
        member = self.random.choice(MEMBERS)
        exact = self.random.random() < 0.3
        wanted = Wanted(member, self.random.choice((1, 3, 10, 500)), self.random.choice((1, 5, 500)), exact)
        offset = self.machine.next_offset()
        free = sorted(o for o, known in self.records.items() if known.free)
        assert offset == (free[0] if free else self.end + 1), (offset, free[:1], self.end)
        spans = [span for span in self.log if span.last >= offset][: self.random.randrange(1, 6)]
        aborted = [span for span in self.aborted if span in spans] if self.random.random() < 0.5 else []
        if not spans:
            return
        room = max(self.end + 1, spans[0].first) - self.start < self.limits.record_locks
        found = self.machine.acquire(offset, spans, wanted, self.limits, self.now, aborted)
        self.judge(found, offset, spans, wanted, aborted, room)

    def judge(self, found: list[Acquired], offset: int, spans: Sequence[Span], wanted: Wanted, aborted: Sequence[Span], room: bool) -> None:
        given = {o: each.delivery_count for each in found for o in range(each.first, each.last + 1)}
        assert len(given) == sum(each.last - each.first + 1 for each in found), found
        assert list(given) == sorted(given), found
        hidden = {o for span in aborted for o in range(span.first, span.last + 1)}
        assert not hidden & given.keys(), (hidden, found)
        assert not given or max(given) <= spans[-1].last
        assert not wanted.exact or len(given) <= wanted.max_records, (wanted, found)
        end_before, taken = self.end, 0
        for o in range(self.end + 1, max(self.machine.end_offset, max(given, default=-1)) + 1):
            self.records[o] = Known()
        for o, known in list(self.records.items()):
            if o in given:
                assert known.free, (o, known)
                assert given[o] == known.deliveries + 1, (o, known, found)
                assert given[o] <= self.limits.delivery_count, (o, found)
                self.records[o] = Known(ACQUIRED, given[o], wanted.member, self.now + self.limits.lock_ms)
                taken += 1
            elif known.free and (o in hidden or offset <= o < spans[0].first or (o > end_before and o not in given)):
                seen = self.machine_state(o)
                if seen == ARCHIVED:
                    self.records[o] = replace(known, state=ARCHIVED)
        nothing_there = not any(self.records.get(o, Known()).free for span in spans for o in range(span.first, span.last + 1))
        assert given or hidden or nothing_there or not room, (offset, spans, wanted)
        self.counts["acquired"] += taken
        self.move_start()

    def machine_state(self, offset: int) -> int:
        if offset < self.machine.start_offset:
            return ARCHIVED
        return next((p.delivery_state for p in self.machine.pieces() if p.first_offset <= offset <= p.last_offset), AVAILABLE)

    def acknowledge(self) -> None:
        member = self.random.choice(MEMBERS)
        batches = self.some_batches(member)
        expected = self.verdict(member, batches)
        before = self.machine.pieces()
        change: Change | None = None
        try:
            change = self.machine.acknowledge(member, batches, self.limits, self.now)
            refused = False
        except KafkaError:
            refused = True
        assert refused != expected, (member, batches)
        if refused:
            assert flat(self.machine.pieces()) == flat(before)
            self.counts["refused"] += 1
            return
        changed = {o: kind for batch in batches for o, kind in kinds(batch) if o >= self.start}
        for o, kind in changed.items():
            if kind == RENEW:
                self.records[o] = replace(self.records[o], deadline=self.now + self.limits.lock_ms)
            else:
                self.records[o] = self.after(self.records[o], kind)
        self.counts["acknowledged"] += len(changed)
        self.keep(change, {o for o, kind in changed.items() if kind != RENEW})

    def some_batches(self, member: str) -> list[AcknowledgedBatch]:
        random = self.random
        held = sorted(o for o, known in self.records.items() if known.state == ACQUIRED and known.owner == member)
        if not held or random.random() < 0.1:
            first = random.randrange(max(self.start - 3, 0), self.end + 4)
            return [AcknowledgedBatch(first, first + random.randrange(4), [random.randrange(5)])]
        made: list[AcknowledgedBatch] = []
        at = random.randrange(len(held))
        while at < len(held) and len(made) < 3:
            size = random.choice((1, 2, 5, 20))
            run = [o for index, o in enumerate(held[at : at + size]) if o == held[at] + index]
            each = [random.choice((GAP, ACCEPT, ACCEPT, ACCEPT, RELEASE, RELEASE, REJECT, RENEW)) for _ in run]
            made.append(AcknowledgedBatch(run[0], run[-1], each if random.random() < 0.3 else each[:1]))
            at += len(run) + random.randrange(3)
        return made

    def verdict(self, member: str, batches: Sequence[AcknowledgedBatch]) -> bool:
        seen: set[int] = set()
        for batch in batches:
            if batch.last < self.start:
                continue
            for o, kind in kinds(batch):
                known = self.records.get(o)
                if o < self.start:
                    continue
                if known is None or known.state != ACQUIRED or known.was or known.owner != member or o in seen:
                    return False
                if kind != RENEW:
                    seen.add(o)
        return True

    def after(self, known: Known, kind: int) -> Known:
        state = {ACCEPT: ACKNOWLEDGED, RELEASE: AVAILABLE}.get(kind, ARCHIVED)
        if kind == RELEASE and known.deliveries >= self.limits.delivery_count:
            state = ARCHIVED
        return Known(state, known.deliveries, was=known)

    def keep(self, change: Change | None, offsets: set[int]) -> None:
        assert (change is not None) == bool(offsets)
        if change is None:
            return
        assert {o for batch in change.batches for o in offsets_of(batch)} == offsets
        assert change.start_offset == self.start
        assert change.over == sum(known.state >= ACKNOWLEDGED for known in self.records.values())
        self.pending.append(change)

    def release(self) -> None:
        member = self.random.choice(MEMBERS)
        self.end_locks(
            self.machine.release(member, self.limits),
            {o for o, known in self.records.items() if known.state == ACQUIRED and known.owner == member and known.was is None},
        )

    def expire(self) -> None:
        self.now += self.random.choice((1, 10, 50))
        due = {o for o, known in self.records.items() if known.state == ACQUIRED and known.was is None and known.deadline <= self.now}
        assert not due or self.machine.next_deadline_ms() <= self.now
        self.end_locks(self.machine.expire(self.now, self.limits), due)
        assert self.machine.next_deadline_ms() > self.now

    def end_locks(self, change: Change | None, offsets: set[int]) -> None:
        for o in offsets:
            self.records[o] = self.after(self.records[o], RELEASE)
        self.counts["released"] += len(offsets)
        self.keep(change, offsets)

    # -- the disk

    def written(self) -> None:
        """The oldest write ends, well or badly."""
        if not self.pending:
            return
        change = self.pending.pop(0)
        offsets = [o for batch in change.batches for o in offsets_of(batch) if o in self.records]
        if self.random.random() < 0.2:
            self.machine.roll_back(change)
            for o in offsets:
                was = self.records[o].was
                self.records[o] = was if was is not None else self.records[o]
            self.counts["rolled back"] += 1
            return
        self.store(change)
        self.machine.commit(change)
        for o in offsets:
            self.records[o] = replace(self.records[o], was=None)
        self.move_start()

    def store(self, change: Change) -> None:
        self.stored_start = max(self.stored_start, change.start_offset)
        for batch in change.batches:
            for o in offsets_of(batch):
                before = self.stored.get(o, (AVAILABLE, 0))
                assert before[0] == AVAILABLE, (o, before, batch)  # what is over is never written again
                assert batch.delivery_count >= before[1], (o, before, batch)
                assert batch.delivery_state != ARCHIVED or batch.delivery_count > 0
                self.stored[o] = batch.delivery_state, batch.delivery_count
                if batch.delivery_state == ACKNOWLEDGED:
                    self.accepted[o] += 1
                    assert self.accepted[o] == 1, o

    def crash(self) -> None:
        """Nothing is left but what is on disk."""
        self.pending = []
        start = max(self.stored_start, 0)
        kept = {o: each for o, each in self.stored.items() if o >= start}
        self.machine = SharePartition(start, [StateBatch(o, o, *each) for o, each in kept.items()])
        last = max(kept, default=start - 1)
        self.records = {o: Known(*kept.get(o, (AVAILABLE, 0))) for o in range(start, last + 1)}
        self.start = start
        self.machine.log_starts_at(self.log_start)
        self.records = {o: known for o, known in self.records.items() if o >= self.log_start}
        self.start = max(self.start, self.log_start)
        self.move_start()
        self.counts["crashes"] += 1

    # -- both

    @property
    def end(self) -> int:
        return max(self.records, default=self.start - 1)

    def move_start(self) -> None:
        while self.start in self.records and self.records[self.start].state >= ACKNOWLEDGED and self.records[self.start].was is None:
            del self.records[self.start]
            self.start += 1

    def compare(self) -> None:
        machine = self.machine
        assert (machine.start_offset, machine.end_offset) == (self.start, self.end)
        expected = {o: (known.state, known.deliveries) for o, known in self.records.items()}
        found = flat(machine.pieces())
        assert found == expected, [(o, found.get(o), expected.get(o)) for o in expected if found.get(o) != expected.get(o)][:3]
        assert machine.delivery_complete_count == sum(known.state >= ACKNOWLEDGED for known in self.records.values())
        assert machine.may_acquire(0) == any(known.free for known in self.records.values())
        assert all(known.deliveries <= self.limits.delivery_count for known in self.records.values())

    def lead(self, steps: int) -> Counter[str]:
        """Live on for so many steps; what happened."""
        doings = [self.produce] * 4 + [self.acquire] * 5 + [self.acknowledge] * 6 + [self.written] * 5
        doings += [self.expire, self.release, self.compact, self.delete_records]
        for _ in range(steps):
            doing = self.random.choice(doings) if self.random.random() > 0.005 else self.crash
            doing()
            self.compare()
        return self.counts


def kinds(batch: AcknowledgedBatch) -> list[tuple[int, int]]:
    offsets = range(batch.first, batch.last + 1)
    types = batch.types if len(batch.types) > 1 else list(batch.types) * len(offsets)
    return list(zip(offsets, types, strict=True))


def flat(batches: Sequence[StateBatch]) -> dict[int, tuple[int, int]]:
    return {o: (batch.delivery_state, batch.delivery_count) for batch in batches for o in offsets_of(batch)}


def offsets_of(batch: StateBatch) -> range:
    return range(batch.first_offset, batch.last_offset + 1)
