"""Produce (0), v3-13, by hand.

Request: transactional_id, acks, timeout_ms, then topics (v13: by id) of (partition, records). v9 is the first flexible version.
Answer: v5 log_start_offset, v8 record_errors and error_message, v10 tagged fields that a single node leaves empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from struct import Struct, error
from typing import Final, NamedTuple, TypeAlias

from oncelog.protocol.hot.fields import INT32, pack_count, pack_string, pack_topic, read_count, read_nullable_string, read_topic, skip_tags
from oncelog.protocol.primitives import Buffer, MalformedRequest, read_unsigned_varint

FIRST_FLEXIBLE: Final = 9
FIRST_BY_TOPIC_ID: Final = 13

ProducePartition: TypeAlias = tuple[int, memoryview | None]
ProduceTopic: TypeAlias = tuple[str | None, bytes | None, list[ProducePartition]]

_ACKS_TIMEOUT = Struct(">hi")
_TWO_INT32 = Struct(">ii")
_unpack_int32 = INT32.unpack_from

# index, error_code, base_offset, log_append_time_ms, then what the version adds
_V3 = Struct(">ihqq")
_V5 = Struct(">ihqqq")
_V8_PLAIN = Struct(">ihqqqih")  # … record_errors [], error_message null
_V9_PLAIN = Struct(">ihqqqBBB")  # … the same in compact form, and no tags


class ProduceRequest:
    """`topics`: (name, None, partitions) up to v12, (None, topic id, partitions) in v13; a partition is (index, records).

    Records are a view on the request; None where the client sent null, which the schema allows and no broker accepts.
    """

    __slots__ = ("acks", "timeout_ms", "topics", "transactional_id")

    def __init__(self, transactional_id: str | None, acks: int, timeout_ms: int, topics: list[ProduceTopic]) -> None:
        self.transactional_id = transactional_id
        self.acks = acks
        self.timeout_ms = timeout_ms
        self.topics = topics


class PartitionProduceResponse(NamedTuple):
    """The answer for one partition. `record_errors`: (batch index, message) of each refused record."""

    index: int  # type: ignore[assignment]  # over tuple.index: Kafka's name counts
    error_code: int = 0
    base_offset: int = -1
    log_append_time_ms: int = -1
    log_start_offset: int = -1
    record_errors: Sequence[tuple[int, str | None]] = ()
    error_message: str | None = None


def parse_produce(version: int, body: Buffer) -> ProduceRequest:
    """The request in `body` (without header), v3-13; bytes after it are ignored. Raises MalformedRequest."""
    view = memoryview(body)
    flexible = version >= FIRST_FLEXIBLE
    by_id = version >= FIRST_BY_TOPIC_ID
    try:
        transactional_id, pos = read_nullable_string(view, 0, flexible)
        acks, timeout_ms = _ACKS_TIMEOUT.unpack_from(view, pos)
        count, pos = read_count(view, pos + 6, flexible, 3 if flexible else 6)
        topics: list[ProduceTopic] = []
        for _ in range(count):
            name, topic_id, pos = read_topic(view, pos, flexible, by_id)
            partitions, pos = (_read_partitions if flexible else _read_old_partitions)(view, pos)
            topics.append((name, topic_id, partitions))
        if flexible:
            skip_tags(view, pos)
    except (error, IndexError) as problem:
        raise MalformedRequest(f"Produce v{version} ends early: {problem}") from problem
    return ProduceRequest(transactional_id, acks, timeout_ms, topics)


class LoneProduce(NamedTuple):
    """What stands before the records of a request for one partition, and before the partition's fields in its answer."""

    transactional_id: str | None
    acks: int
    topic: str | None
    topic_id: bytes | None
    partition: int
    answer_head: bytes


class LoneProduceReader:
    """Reads flexible requests for one partition, nearly all that small producers send: their bytes up to the records are the same
    from one request to the next, so that reading them is a look into a dictionary. Anything else is left to `parse_produce`.
    """

    __slots__ = ("_known",)

    def __init__(self) -> None:
        self._known: dict[tuple[int, bytes], LoneProduce | None] = {}

    def read(self, version: int, view: memoryview) -> tuple[LoneProduce, memoryview] | None:
        """(what precedes the records, the records); None when `parse_produce` has to read it. Raises nothing."""
        if version < FIRST_FLEXIBLE:
            return None
        try:
            pos = (view[0] or 1) + 7  # transactional id, acks, timeout, count of topics
            pos += 21 if version >= FIRST_BY_TOPIC_ID else view[pos] + 5  # topic, count of partitions, index
            key = version, bytes(view[:pos])
            length = view[pos]
            if length < 0x80:
                pos += 1
            else:
                length, pos = read_unsigned_varint(view, pos)
            stop = pos + length - 1
            if length == 0 or bytes(view[stop : stop + 3]) != b"\x00\x00\x00":
                return None  # null records, tags, or more partitions
        except (IndexError, MalformedRequest):
            return None
        known = self._known.get(key)
        if known is None:
            if key in self._known:
                return None
            known = self._learn(key, version, view)
            if known is None:
                return None
        return known, view[pos:stop]

    def _learn(self, key: tuple[int, bytes], version: int, view: memoryview) -> LoneProduce | None:
        if len(self._known) >= _KNOWN_REQUESTS:
            self._known.clear()
        self._known[key] = None
        prefix = key[1]
        empty = parse_produce(version, prefix + b"\x01\x00\x00\x00") if _names_one(version, prefix) else None
        if empty is None or len(empty.topics) != 1 or len(empty.topics[0][2]) != 1:
            return None
        name, topic_id, partitions = empty.topics[0]
        answer_head = b"\x02" + pack_topic(topic_id if topic_id is not None else name or "", True) + b"\x02"
        lone = LoneProduce(empty.transactional_id, empty.acks, name, topic_id, partitions[0][0], answer_head)
        self._known[key] = lone
        return lone


_KNOWN_REQUESTS: Final = 10_000


def _names_one(version: int, prefix: bytes) -> bool:
    """The positions that the reader assumed are those of one topic with one partition."""
    pos = (prefix[0] or 1) + 6
    name_bytes = 16 if version >= FIRST_BY_TOPIC_ID else prefix[pos + 1]
    if prefix[0] >= 0x80 or prefix[pos] != 2 or not 0 < name_bytes < 0x80:
        return False
    return pos + 1 + name_bytes + 5 == len(prefix) and prefix[-5] == 2


def pack_lone_answer(lone: LoneProduce, error_code: int, base_offset: int, log_append_time_ms: int, log_start_offset: int) -> bytes:
    """The answer's body to a flexible request for one partition, without words."""
    return lone.answer_head + _LONE.pack(lone.partition, error_code, base_offset, log_append_time_ms, log_start_offset, 1, 0, 0, 0, 0, 0)


_LONE = Struct(">ihqqqBBBBiB")  # … record_errors [], error_message null, tags of partition and topic, throttle_time_ms, tags


def _read_partitions(view: memoryview, pos: int) -> tuple[list[ProducePartition], int]:
    """Partitions and the topic's own tag section, v9 on."""
    count, pos = read_count(view, pos, True, 6)
    end = len(view)
    partitions: list[ProducePartition] = []
    for _ in range(count):
        (index,) = _unpack_int32(view, pos)
        length, pos = read_unsigned_varint(view, pos + 4)
        if length == 0:
            partitions.append((index, None))
        else:
            stop = pos + length - 1
            if stop > end:
                raise MalformedRequest("records reach beyond the body")
            partitions.append((index, view[pos:stop]))
            pos = stop
        pos = pos + 1 if view[pos] == 0 else skip_tags(view, pos)
    return partitions, skip_tags(view, pos)


def _read_old_partitions(view: memoryview, pos: int) -> tuple[list[ProducePartition], int]:
    """Partitions up to v8."""
    count, pos = read_count(view, pos, False, 8)
    end = len(view)
    partitions: list[ProducePartition] = []
    for _ in range(count):
        index, length = _TWO_INT32.unpack_from(view, pos)
        pos += 8
        if length < 0:
            partitions.append((index, None))
            continue
        stop = pos + length
        if stop > end:
            raise MalformedRequest("records reach beyond the body")
        partitions.append((index, view[pos:stop]))
        pos = stop
    return partitions, pos


def pack_produce_response(
    version: int, topics: Sequence[tuple[str | bytes, Sequence[PartitionProduceResponse]]], throttle_ms: int = 0
) -> bytes:
    """The answer's body, v3-13. `topics`: names up to v12, 16-byte topic ids in v13."""
    flexible = version >= FIRST_FLEXIBLE
    out = bytearray(pack_count(len(topics), flexible))
    for topic, partitions in topics:
        out += pack_topic(topic, flexible)
        out += pack_count(len(partitions), flexible)
        if version >= 8:
            _pack_partitions(out, partitions, flexible)
        elif version >= 5:
            for partition in partitions:
                out += _V5.pack(*partition[:5])
        else:
            for partition in partitions:
                out += _V3.pack(*partition[:4])
        if flexible:
            out.append(0)
    out += INT32.pack(throttle_ms)
    if flexible:
        out.append(0)
    return bytes(out)


def _pack_partitions(out: bytearray, partitions: Iterable[PartitionProduceResponse], flexible: bool) -> None:
    """Partitions from v8 on; the usual one, without words, in a single pack."""
    for index, code, base_offset, append_time, start_offset, record_errors, message in partitions:
        if not record_errors and message is None:
            if flexible:
                out += _V9_PLAIN.pack(index, code, base_offset, append_time, start_offset, 1, 0, 0)
            else:
                out += _V8_PLAIN.pack(index, code, base_offset, append_time, start_offset, 0, -1)
            continue
        out += _V5.pack(index, code, base_offset, append_time, start_offset)
        out += pack_count(len(record_errors), flexible)
        for batch_index, record_message in record_errors:
            out += INT32.pack(batch_index)
            out += pack_string(record_message, flexible)
            if flexible:
                out.append(0)
        out += pack_string(message, flexible)
        if flexible:
            out.append(0)
