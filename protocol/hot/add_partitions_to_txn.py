"""AddPartitionsToTxn (24), v0-3, by hand: what clients send.

Request: transactional_id, producer_id, producer_epoch, topics of (name, partitions). Answer: throttle_time_ms, then an error for each.
v3 is the first flexible version, v4 and v5 are spoken between brokers.
"""

from __future__ import annotations

from struct import Struct, error
from typing import Final

from oncelog.protocol.hot.fields import INT32, pack_count, pack_string, read_count, read_string, skip_tags
from oncelog.protocol.names import TopicPartition
from oncelog.protocol.primitives import MalformedRequest

FIRST_FOR_BROKERS: Final = 4
_LONGEST_BYTES: Final = 512  # of the topics that are remembered
_FIRST_FLEXIBLE: Final = 3
_KNOWN: Final = 5_000
_PAIR = Struct(">qh")
_RESULT = Struct(">ih")


class Added:
    """The topics of a request. `partitions` in its order."""

    __slots__ = ("_flexible", "_topics", "partitions")

    def __init__(self, flexible: bool, topics: list[tuple[str, list[int]]]) -> None:
        self._flexible = flexible
        self._topics = topics
        self.partitions = [TopicPartition(name, index) for name, indexes in topics for index in indexes]

    def answer(self, correlation_id: int, error_code: int) -> bytes:
        """The whole answer, its length in front: the same for all."""
        flexible = self._flexible
        tags = b"\x00" if flexible else b""
        pieces = [INT32.pack(correlation_id), tags, INT32.pack(0), pack_count(len(self._topics), flexible)]
        for name, indexes in self._topics:
            pieces += (pack_string(name, flexible), pack_count(len(indexes), flexible))
            for index in indexes:
                pieces += (_RESULT.pack(index, error_code), tags)
            pieces.append(tags)
        pieces.append(tags)
        body = b"".join(pieces)
        return INT32.pack(len(body)) + body


class AddedReader:
    """Reads requests; clients name the same topics again and again, so that what they make stands in a dictionary."""

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[bytes, Added | None] = {}

    def read(self, version: int, frame: memoryview, begin: int) -> tuple[str, int, int, Added] | None:
        """(transactional id, producer id, epoch, topics) of the request whose body begins at `begin`; None: `messages` has to read it."""
        flexible = version >= _FIRST_FLEXIBLE
        try:
            id, pos = read_string(frame, begin, flexible)
            producer_id, epoch = _PAIR.unpack_from(frame, pos)
        except (IndexError, error, MalformedRequest):
            return None
        topics = bytes(frame[pos + _PAIR.size :])
        if len(topics) > _LONGEST_BYTES:
            return None
        key = topics + b"f" if flexible else topics + b"r"
        known = self._known
        added = known.get(key)
        if added is None:
            if key in known:
                return None
            if len(known) >= _KNOWN:
                known.clear()
            added = known[key] = _added(flexible, topics)
            if added is None:
                return None
        return id, producer_id, epoch, added


def _added(flexible: bool, topics: bytes) -> Added | None:
    """None: something is unusual. A partition that is named twice is, and so is a topic."""
    view = memoryview(topics)
    found: list[tuple[str, list[int]]] = []
    try:
        count, pos = read_count(view, 0, flexible, 3 if flexible else 6)
        for _ in range(count):
            name, pos = read_string(view, pos, flexible)
            number, pos = read_count(view, pos, flexible, 4)
            indexes = list(Struct(f">{number}i").unpack_from(view, pos))
            pos += 4 * number
            if flexible:
                pos = skip_tags(view, pos)
            if not indexes or len(set(indexes)) != number:
                return None
            found.append((name, indexes))
        if flexible:
            pos = skip_tags(view, pos)
    except (MalformedRequest, error, IndexError):
        return None
    if pos != len(view) or not found or len({name for name, _ in found}) != len(found):
        return None
    return Added(flexible, found)
