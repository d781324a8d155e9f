"""Handing out offsets: which of those that were read a member gets, and in what portions."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import NamedTuple

from oncelog.broker.sharing.pieces import ACQUIRED, ARCHIVED, Batch, Fate, Piece, Pieces


class Span(NamedTuple):
    """First and last offset of a batch in the log, or of some aborted ones in it."""

    first: int
    last: int


class Acquired(NamedTuple):
    """What a member has got."""

    first: int
    last: int
    delivery_count: int


class Limits(NamedTuple):
    """Of the group, at this moment."""

    lock_ms: int = 30_000
    delivery_count: int = 5
    record_locks: int = 2_000

    @property
    def isolated_from(self) -> int:
        """The delivery count from which on records are handed out in shrinking pieces (4.2)."""
        return max(2, (self.delivery_count + 1) // 2)


class Wanted(NamedTuple):
    """Who asks for how much. `exact`: never more than `max_records` (KIP-1206); else whole batches of the log, in portions of about
    `batch_size` offsets."""

    member: str
    max_records: int
    batch_size: int = 500
    exact: bool = False


class Acquiring:
    """One member's turn at what was read."""

    def __init__(
        self, pieces: Pieces, spans: Sequence[Span], wanted: Wanted, limits: Limits, deadline_ms: float, aborted: Sequence[Span]
    ) -> None:
        self._pieces = pieces
        self._spans = spans
        self._aborted = aborted
        self._wanted = wanted
        self._limits = limits
        self._deadline_ms = deadline_ms
        self._left = wanted.max_records
        self._stopped = False
        self._taken: list[Piece] = []

    def pass_over(self, offset: int) -> None:
        """The log has nothing between `offset` and what was read: compacted away."""
        first, pieces = self._spans[0].first, self._pieces
        while offset < first and offset <= pieces.end:
            piece = pieces[pieces.index(offset)]
            last = min(piece.last, first - 1)
            if piece.is_available:
                pieces.change(pieces.cut_out(offset, last), Fate(ARCHIVED, piece.fate.deliveries))
            offset = last + 1
        if pieces.end + 1 < first:
            pieces.append(Batch(pieces.end + 1, first - 1), first - 1, Fate(ARCHIVED, 0))

    def take(self) -> None:
        """What is available first, then what nobody has had yet, while there is room for it."""
        pieces, last = self._pieces, self._spans[-1].last
        offset = max(self._spans[0].first, pieces.start)
        while offset <= min(last, pieces.end) and self._left > 0 and not self._stopped:
            piece = pieces[pieces.index(offset)]
            end, hidden = self._run(offset, min(piece.last, last))
            if piece.is_available and hidden:
                pieces.change(pieces.cut_out(offset, end), Fate(ARCHIVED, piece.fate.deliveries))
            elif piece.is_available:
                self._take_again(piece, offset, end)
            offset = end + 1
        while pieces.end < last and self._left > 0 and not self._stopped:
            room = min(self._left, self._limits.record_locks - (pieces.end - pieces.start + 1))
            if room <= 0:
                break
            self._take_new(pieces.end + 1, last, room)

    def _take_new(self, offset: int, last: int, room: int) -> None:
        """Some of what nobody has had, from `offset` on."""
        end, hidden = self._run(offset, last)
        if hidden:
            self._pieces.append(Batch(offset, end), end, Fate(ARCHIVED, 0))
            return
        for first, until in self._portions(offset, self._end_of(offset, room, end)):
            self._taken.append(self._pieces.append(Batch(first, until), until, self._acquired(1)))
            self._left -= until - first + 1

    def _run(self, offset: int, last: int) -> tuple[int, bool]:
        """How far from `offset` to `last` all are to be seen, or all are not, and which."""
        at = bisect_left(self._aborted, offset, key=_last)
        if at == len(self._aborted) or self._aborted[at].first > last:
            return last, False
        first, end = self._aborted[at]
        return (min(end, last), True) if first <= offset else (first - 1, False)

    def _acquired(self, count: int) -> Fate:
        return Fate(ACQUIRED, count, self._wanted.member, self._deadline_ms)

    def _take_again(self, piece: Piece, first: int, last: int) -> None:
        count = piece.fate.deliveries
        if count == 0:  # acquired when the broker ended, never acknowledged: as if nobody had had it
            for begin, end in self._portions(first, self._end_of(first, self._left, last)):
                part = self._pieces.cut_out(begin, end)
                part.batch = Batch(begin, end)
                self._take(part)
            return
        if count >= self._limits.isolated_from:
            self._stopped = True  # what comes behind is handed out without those that keep failing
            if count >= self._limits.delivery_count - 1:
                if self._taken:
                    return
                last = first
            else:
                last = min(last, first + max(1, piece.batch.size >> (count - self._limits.isolated_from + 1)) - 1)
        if self._wanted.exact:
            last = min(last, first + self._left - 1)
        self._take(self._pieces.cut_out(first, last))

    def _take(self, piece: Piece) -> None:
        self._pieces.change(piece, self._acquired(piece.fate.deliveries + 1))
        self._taken.append(piece)
        self._left -= piece.size

    def _end_of(self, first: int, room: int, last: int) -> int:
        """The last of about `room` offsets from `first` on, at most `last`: the end of a batch of the log unless `exact`."""
        wanted = first + room - 1
        if wanted >= last:
            return last
        if self._wanted.exact:
            return wanted
        return min(last, self._spans[self._span_at(wanted)].last)

    def _span_at(self, offset: int) -> int:
        """The first batch of the log that ends at or behind `offset`."""
        return bisect_left(self._spans, offset, key=_last)

    def _portions(self, first: int, last: int) -> Iterator[Span]:
        """`first` to `last`, a new one wherever `batch_size` is reached at the border of a batch of the log."""
        size = max(self._wanted.batch_size, 1)
        if not self._wanted.exact and last - first + 1 > size:
            for at in range(self._span_at(first), len(self._spans)):
                begin = self._spans[at].first
                if begin > last:
                    break
                if begin - first >= size:
                    yield Span(first, begin - 1)
                    first = begin
        yield Span(first, last)

    def result(self) -> list[Acquired]:
        """In order; neighbours of a batch with one count together."""
        found: list[Acquired] = []
        before: Piece | None = None
        for piece in self._taken:
            count = piece.fate.deliveries
            if before is not None and before.batch is piece.batch and before.last + 1 == piece.first and before.fate.deliveries == count:
                found[-1] = found[-1]._replace(last=piece.last)
            else:
                found.append(Acquired(piece.first, piece.last, count))
            before = piece
        if found:
            self._pieces.join(found[0].first, found[-1].last)
        return found


_last = attrgetter("last")
