"""The offsets of a share partition in flight, as pieces: neighbours with one fate are one piece, however many they are.

The pieces lie side by side from the start offset (SPSO) to the end offset (SPEO), without holes. A piece belongs to the batch that was
handed out as one (Kafka's `InFlightBatch`); it is the whole of it until somebody takes or acknowledges a part.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import Final, NamedTuple

AVAILABLE: Final = 0  # the numbers that are persisted
ACQUIRED: Final = 1
ACKNOWLEDGED: Final = 2
ARCHIVED: Final = 4
NOBODY: Final = ""


class Batch:
    """What was handed out as one. `split`: from then on offsets count, and are spoken of, one by one."""

    __slots__ = ("first", "last", "split")

    def __init__(self, first: int, last: int) -> None:
        self.first = first
        self.last = last
        self.split = False

    @property
    def size(self) -> int:
        return self.last - self.first + 1


class Fate(NamedTuple):
    """What offsets are: `deadline_ms` (monotonic) and `owner` of those that are acquired."""

    state: int
    deliveries: int
    owner: str = NOBODY
    deadline_ms: float = 0.0


class Piece:
    """Offsets `first` to `last`. `was`: what they are again if the write that is under way fails; until then nobody gets them."""

    __slots__ = ("batch", "fate", "first", "last", "was")

    def __init__(self, batch: Batch, first: int, last: int, fate: Fate) -> None:
        self.batch = batch
        self.first = first
        self.last = last
        self.fate = fate
        self.was: Fate | None = None

    def __repr__(self) -> str:
        return f"{self.first}-{self.last} {self.fate} was={self.was}"

    @property
    def size(self) -> int:
        return self.last - self.first + 1

    @property
    def is_available(self) -> bool:
        return self.fate.state == AVAILABLE and self.was is None

    @property
    def is_acquired(self) -> bool:
        return self.fate.state == ACQUIRED and self.was is None

    @property
    def is_over(self) -> bool:
        """Nobody will ever get these again."""
        return self.fate.state >= ACKNOWLEDGED


class Pieces:
    """Sorted, without holes. `end` is the last offset in flight, `start` - 1 when there is none."""

    __slots__ = ("_all", "_firsts", "available", "over", "start")

    def __init__(self, start: int) -> None:
        self.start = start
        self.over = 0  # offsets whose piece is over
        self.available = 0  # offsets somebody may get
        self._all: list[Piece] = []
        self._firsts: list[int] = []

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[Piece]:
        return iter(self._all)

    def __getitem__(self, index: int) -> Piece:
        return self._all[index]

    @property
    def end(self) -> int:
        return self._all[-1].last if self._all else self.start - 1

    def index(self, offset: int) -> int:
        """Of the piece that holds `offset`, which is in flight."""
        return bisect_right(self._firsts, offset) - 1

    def append(self, batch: Batch, last: int, fate: Fate) -> Piece:
        """A piece behind the others."""
        piece = Piece(batch, self.end + 1, last, fate)
        self._all.append(piece)
        self._firsts.append(piece.first)
        self._count(piece, 1)
        return piece

    def cut_out(self, first: int, last: int) -> Piece:
        """The piece that is exactly these offsets, which are in one piece that no write is about."""
        at = self.index(first)
        piece = self._all[at]
        if piece.first == first and piece.last == last:
            return piece
        assert piece.was is None
        piece.batch.split = True
        borders = [(piece.first, first - 1), (first, last), (last + 1, piece.last)]
        parts = [Piece(piece.batch, a, b, piece.fate) for a, b in borders if a <= b]
        self._all[at : at + 1] = parts
        self._firsts[at : at + 1] = [part.first for part in parts]
        return parts[1] if piece.first < first else parts[0]

    def change(self, piece: Piece, fate: Fate, was: Fate | None = None) -> None:
        """Give all of a piece another fate."""
        self._count(piece, -1)
        piece.fate, piece.was = fate, was
        self._count(piece, 1)

    def _count(self, piece: Piece, sign: int) -> None:
        if piece.is_over:
            self.over += sign * piece.size
        elif piece.is_available:
            self.available += sign * piece.size

    def join(self, first: int, last: int) -> None:
        """Make one of neighbours in a batch that have the same fate, among the pieces that hold `first` to `last` and those beside them."""
        if not self._all:
            return
        low = max(self.index(max(first, self.start)) - 1, 0)
        high = min(self.index(min(last, self.end)) + 2, len(self._all))
        joined: list[Piece] = []
        for piece in self._all[low:high]:
            before = joined[-1] if joined else None
            if before is not None and before.batch is piece.batch and before.fate == piece.fate and before.was is piece.was is None:
                before.last = piece.last
            else:
                joined.append(piece)
        if len(joined) < high - low:
            self._all[low:high] = joined
            self._firsts[low:high] = [piece.first for piece in joined]

    def drop_over(self) -> bool:
        """Move the start behind everything that is over and written; did it move?"""
        number = 0
        for piece in self._all:
            if not piece.is_over or piece.was is not None:
                break
            number += 1
        if number:
            self._drop(number, self._all[number - 1].last + 1)
        return number > 0

    def start_at(self, offset: int) -> None:
        """Forget everything below `offset`, whatever it is."""
        number = self.index(offset - 1) + 1 if self._all and offset > self.start else 0
        cut: Piece | None = None
        if number and self._all[number - 1].last >= offset:
            number -= 1
            cut = self._all[number]
        if number:
            self._drop(number, offset)
        if cut is not None:
            self._count(cut, -1)
            cut.first = self._firsts[0] = offset
            cut.batch.split = True
            self._count(cut, 1)
        self.start = max(self.start, offset)

    def _drop(self, number: int, start: int) -> None:
        for piece in self._all[:number]:
            self._count(piece, -1)
            piece.was = None  # whoever waits for its write has nothing to do
        del self._all[:number]
        del self._firsts[:number]
        self.start = start
