"""A long answer on its way to a client: read from the log piece by piece, as fast as the socket takes it.

A client that does not read costs one piece. The answer's length has been promised: what cannot be read any more ends the connection.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from struct import Struct
from typing import Protocol, cast

from oncelog.protocol.primitives import Buffer, Piece
from oncelog.storage.log.stored_records import StoredRecords

PIECE_BYTES = 64 << 10
LONG_PIECE_BYTES = 1 << 20  # while little is unread: fewer calls for those who read fast
TURN_BYTES = 2 << 20  # sent in one turn of the loop at most, so that a fast reader of long answers leaves room for others

pack_length = Struct(">i").pack

Pieces = Sequence[Piece]
Sent = Pieces | bytes  # an answer's buffers without its length; as bytes: all of it, with its length in front


def whole(answer: Sent) -> bytes:
    """All bytes of an answer, its length in front; what of it stands in a file is read now. Nothing for one that is not sent.

    Raises OSError.
    """
    if isinstance(answer, bytes):
        return answer
    data = b"".join(part.read(0, len(part)) if isinstance(part, StoredRecords) else cast("Buffer", part) for part in answer)
    return pack_length(len(data)) + data if answer else b""


class AnswerStream:
    """What is left of one answer."""

    __slots__ = ("_at", "_parts")

    def __init__(self, answer: Pieces) -> None:
        self._parts = deque(answer)
        self._at = 0  # how far the first part has been sent

    @staticmethod
    def is_needed(answer: Pieces) -> bool:
        """Does anything of it still stand in a file?"""
        return any(isinstance(part, StoredRecords) for part in answer)

    @property
    def done(self) -> bool:
        return not self._parts

    def next_pieces(self, size: int) -> list[Buffer]:
        """What to send next: some small parts, and at most one piece of `size` bytes from a file. Raises OSError."""
        pieces: list[Buffer] = []
        while self._parts:
            part = self._parts[0]
            if not isinstance(part, StoredRecords):
                pieces.append(cast("Buffer", part))
                self._parts.popleft()
                continue
            piece = part.read(self._at, size)
            pieces.append(piece)
            self._at += len(piece)
            if self._at == len(part):
                self._parts.popleft()
                self._at = 0
            break
        return pieces


class Reader(Protocol):
    """A connection, as far as it does not read."""

    def unread_too_long(self) -> None: ...


class UnreadAnswers:
    """What all transports hold for clients that do not read (`oncelog.queued.max.answer.bytes`): the longest unread gives way.

    `limit` in bytes. A connection is here from when its transport asked it to write no more until that has got rid of enough.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._total = 0
        self._held: dict[Reader, int] = {}  # in the order in which they stopped reading

    @property
    def total(self) -> int:
        return self._total

    @property
    def piece_bytes(self) -> int:
        """How much to read at a time of a long answer."""
        return LONG_PIECE_BYTES if self._total < self._limit // 8 else PIECE_BYTES

    def stopped(self, reader: Reader, size: int) -> None:
        """`reader` leaves `size` bytes unread."""
        self.ended(reader)
        self._held[reader] = size
        self._total += size
        while self._total > self._limit:
            oldest = next(iter(self._held))
            self.ended(oldest)
            oldest.unread_too_long()

    def ended(self, reader: Reader) -> None:
        """It reads again, or is gone."""
        self._total -= self._held.pop(reader, 0)
