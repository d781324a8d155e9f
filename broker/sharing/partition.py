"""One share partition: which offsets are available, acquired, over; pure (Kafka's `SharePartition`).

What changes and must be written comes as a `Change`: its offsets have their new fate at once and nobody gets them, the start offset
passes them when `commit` says that it is on disk, and `roll_back` makes them what they were. Acquiring writes nothing: after a crash
such offsets are available again, with the count that was written last.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from oncelog.broker.sharing.acquiring import Acquired, Acquiring, Limits, Span, Wanted
from oncelog.broker.sharing.pieces import ACKNOWLEDGED, ARCHIVED, AVAILABLE, Batch, Fate, Piece, Pieces
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.internal.share_state import StateBatch

GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
MOST_EXPIRED = 500  # pieces in one go


class AcknowledgedBatch(NamedTuple):
    """As in a request; one type for all, or one an offset."""

    first: int
    last: int
    types: Sequence[int]


class Change:
    """What an acknowledgement, a lock that ran out or the end of a session does, until it is written or rolled back."""

    __slots__ = ("over", "pieces", "start_offset")

    def __init__(self, start_offset: int) -> None:
        self.pieces: list[Piece] = []
        self.start_offset = start_offset  # where it was before
        self.over = 0

    @property
    def batches(self) -> list[StateBatch]:
        """What is to be written of it."""
        made: list[StateBatch] = []
        for piece in self.pieces:
            state, deliveries = piece.fate[:2]
            if made and made[-1].last_offset + 1 == piece.first and made[-1][2:] == (state, deliveries):
                made[-1] = made[-1]._replace(last_offset=piece.last)
            else:
                made.append(StateBatch(piece.first, piece.last, state, deliveries))
        return made


class SharePartition:
    """Made of what was persisted; gaps between persisted batches had been acquired when the broker ended."""

    def __init__(self, start_offset: int, stored: Iterable[StateBatch] = ()) -> None:
        self._pieces = pieces = Pieces(start_offset)
        self._earliest_ms = math.inf  # no lock runs out before
        for first, last, state, deliveries in sorted(stored):
            if last <= pieces.end:
                continue
            if first > pieces.end + 1:
                pieces.append(Batch(pieces.end + 1, first - 1), first - 1, Fate(AVAILABLE, 0))
            known = state if state in (ACKNOWLEDGED, ARCHIVED) else AVAILABLE
            pieces.append(Batch(pieces.end + 1, last), last, Fate(known, deliveries))
        pieces.drop_over()

    # -- what is to be seen

    @property
    def start_offset(self) -> int:
        """The first offset that is not over (SPSO)."""
        return self._pieces.start

    @property
    def end_offset(self) -> int:
        """The last offset that was ever acquired (SPEO); one less than the start when all before it is over."""
        return self._pieces.end

    @property
    def delivery_complete_count(self) -> int:
        """Offsets from the start on that are over."""
        return self._pieces.over

    @property
    def in_flight(self) -> int:
        return self._pieces.end - self._pieces.start + 1

    def next_offset(self) -> int:
        """Where to read for the next who asks."""
        if self._pieces.available:
            return next(piece.first for piece in self._pieces if piece.is_available)
        return self._pieces.end + 1

    def may_acquire(self, most_locks: int) -> bool:
        """Is something available, or room for more?"""
        return self._pieces.available > 0 or self.in_flight < most_locks

    def next_deadline_ms(self) -> float:
        """No lock runs out before; infinity without any."""
        return self._earliest_ms

    def held(self) -> dict[str, int]:
        """How many offsets each member holds."""
        found: dict[str, int] = {}
        for piece in self._pieces:
            if piece.is_acquired:
                found[piece.fate.owner] = found.get(piece.fate.owner, 0) + piece.size
        return found

    def pieces(self) -> list[StateBatch]:
        """Everything in flight."""
        return [StateBatch(piece.first, piece.last, piece.fate.state, piece.fate.deliveries) for piece in self._pieces]

    # -- acquiring

    def acquire(
        self, offset: int, spans: Sequence[Span], wanted: Wanted, limits: Limits, now_ms: float, aborted: Sequence[Span] = ()
    ) -> list[Acquired]:
        """Give `wanted.member` what is available of the log's batches `spans`, which were read from `offset` (`next_offset`) on.

        `aborted`: those of them that nobody is to see; they are over at once.
        """
        if not spans or wanted.max_records <= 0:
            return []
        deadline_ms = now_ms + limits.lock_ms
        acquiring = Acquiring(self._pieces, spans, wanted, limits, deadline_ms, aborted)
        acquiring.pass_over(offset)
        acquiring.take()
        found = acquiring.result()
        if found:
            self._earliest_ms = min(self._earliest_ms, deadline_ms)
        self._pieces.drop_over()
        return found

    # -- what ends a lock

    def acknowledge(self, member: str, batches: Sequence[AcknowledgedBatch], limits: Limits, now_ms: float) -> Change | None:
        """All of it, or nothing; None: there is nothing to write. Raises KafkaError 42 and 121."""
        change = Change(self.start_offset)
        renewed: list[tuple[int, int]] = []
        try:
            for batch in batches:
                self._acknowledge(member, batch, limits, change, renewed)
        except KafkaError:
            self.roll_back(change)
            raise
        for first, last in renewed:
            self._renew(first, last, now_ms + limits.lock_ms)
        return self._ready(change)

    def _acknowledge(self, member: str, batch: AcknowledgedBatch, limits: Limits, change: Change, renewed: list[tuple[int, int]]) -> None:
        pieces = self._pieces
        if batch.last < pieces.start:
            return  # they are over
        if not len(pieces):
            raise KafkaError(
                ErrorCode.INVALID_RECORD_STATE, "Batch record not found. The request batch offsets are not found in the cache."
            )
        for offset, word in ((batch.first, "first"), (batch.last, "last")):
            if offset > pieces.end:
                text = f"Batch record not found. The {word} offset in request is past acquired records."
                raise KafkaError(ErrorCode.INVALID_REQUEST, text)
        offset = max(batch.first, pieces.start)
        while offset <= batch.last:
            piece = pieces[pieces.index(offset)]
            _check_owner(piece, member)
            kind, last = _run(batch, offset, min(piece.last, batch.last))
            if kind == RENEW:
                renewed.append((offset, last))
            else:
                self._change(pieces.cut_out(offset, last), _fate_after(kind, piece.fate, limits), change)
            offset = last + 1

    def _renew(self, first: int, last: int, deadline_ms: float) -> None:
        while first <= last:
            piece = self._pieces[self._pieces.index(first)]
            end = min(last, piece.last)
            if piece.is_acquired:
                self._pieces.change(self._pieces.cut_out(first, end), piece.fate._replace(deadline_ms=deadline_ms))
            first = end + 1
        self._earliest_ms = min(self._earliest_ms, deadline_ms)

    def release(self, member: str, limits: Limits) -> Change | None:
        """Everything that `member` holds, as its session has ended."""
        change = Change(self.start_offset)
        for piece in self._pieces:
            if piece.is_acquired and piece.fate.owner == member:
                self._change(piece, _fate_after(RELEASE, piece.fate, limits), change)
        return self._ready(change)

    def expire(self, now_ms: float, limits: Limits, most: int = MOST_EXPIRED) -> Change | None:
        """Release what was held too long, some now and the rest when called again."""
        if now_ms < self._earliest_ms:
            return None
        change = Change(self.start_offset)
        earliest = math.inf
        for piece in self._pieces:
            if not piece.is_acquired:
                continue
            if piece.fate.deadline_ms <= now_ms and len(change.pieces) < most:
                self._change(piece, _fate_after(RELEASE, piece.fate, limits), change)
            else:
                earliest = min(earliest, piece.fate.deadline_ms)
        self._earliest_ms = earliest
        return self._ready(change)

    def _change(self, piece: Piece, fate: Fate, change: Change) -> None:
        self._pieces.change(piece, fate, piece.fate)
        change.pieces.append(piece)

    def _ready(self, change: Change) -> Change | None:
        change.over = self._pieces.over
        return change if change.pieces else None

    # -- what becomes of a change

    def commit(self, change: Change) -> bool:
        """It is on disk. Is something available now, or the start beyond where it was?"""
        released = False
        for piece in change.pieces:
            if piece.was is not None:
                self._pieces.change(piece, piece.fate)
                released = released or piece.is_available
        self._join(change)
        return self._pieces.drop_over() or released

    def roll_back(self, change: Change) -> None:
        """It never will be."""
        for piece in change.pieces:
            if piece.was is not None:
                self._earliest_ms = min(self._earliest_ms, piece.was.deadline_ms)
                self._pieces.change(piece, piece.was)
        self._join(change)

    def _join(self, change: Change) -> None:
        if change.pieces:
            self._pieces.join(change.pieces[0].first, change.pieces[-1].last)

    def log_starts_at(self, offset: int) -> bool:
        """Retention or DeleteRecords: what is below has gone, whoever held it. Has anything changed?"""
        if offset <= self._pieces.start:
            return False
        self._pieces.start_at(offset)
        self._pieces.drop_over()
        return True


def _check_owner(piece: Piece, member: str) -> None:
    """Raises KafkaError."""
    split = piece.batch.split
    if not piece.is_acquired:
        text = (
            "The offset cannot be acknowledged. The offset is not acquired."
            if split
            else "The batch cannot be acknowledged. The batch is not in the acquired state."
        )
        raise KafkaError(ErrorCode.INVALID_RECORD_STATE, text)
    if piece.fate.owner != member:
        raise KafkaError(ErrorCode.INVALID_RECORD_STATE, f"Member is not the owner of {'offset' if split else 'batch record'}")


def _run(batch: AcknowledgedBatch, offset: int, last: int) -> tuple[int, int]:
    """(type, last offset) of the offsets from `offset` to at most `last` that are acknowledged alike."""
    types = batch.types
    if len(types) == 1:
        return types[0], last
    kind, end = types[offset - batch.first], offset
    while end < last and types[end + 1 - batch.first] == kind:
        end += 1
    return kind, end


def _fate_after(kind: int, fate: Fate, limits: Limits) -> Fate:
    if kind == ACCEPT:
        return Fate(ACKNOWLEDGED, fate.deliveries)
    if kind == RELEASE and fate.deliveries < limits.delivery_count:
        return Fate(AVAILABLE, fate.deliveries)
    return Fate(ARCHIVED, fate.deliveries)
