"""Produce (0), v3-13, by hand.

Request: transactional_id, acks, timeout_ms, then topics (v13: by id) of (partition, records). v9 is the first flexible version.
Answer: v5 log_start_offset, v8 record_errors and error_message, v10 tagged fields that a single node leaves empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from struct import Struct, error
from typing import Final, Generic, NamedTuple, TypeAlias, TypeVar

from oncelog.protocol.hot.fields import INT32, pack_count, pack_string, pack_topic, read_count, read_nullable_string, read_topic, skip_tags
from oncelog.protocol.primitives import Buffer, MalformedRequest, read_unsigned_varint

T = TypeVar("T")
FIRST_FLEXIBLE: Final = 9
FIRST_ADDING: Final = 12  # a transactional batch adds its partition by itself
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


class ManyPartitions(Exception):
    """A Produce request has more partitions, or topics, than were to be read."""


def parse_produce(version: int, body: Buffer, most: int = 1 << 31) -> ProduceRequest:
    """The request in `body` (without header), v3-13; bytes after it are ignored. Raises MalformedRequest, ManyPartitions."""
    view = memoryview(body)
    flexible = version >= FIRST_FLEXIBLE
    by_id = version >= FIRST_BY_TOPIC_ID
    try:
        transactional_id, pos = read_nullable_string(view, 0, flexible)
        acks, timeout_ms = _ACKS_TIMEOUT.unpack_from(view, pos)
        count, pos = read_count(view, pos + 6, flexible, 3 if flexible else 6)
        if count > most:
            raise ManyPartitions
        topics: list[ProduceTopic] = []
        for _ in range(count):
            name, topic_id, pos = read_topic(view, pos, flexible, by_id)
            partitions, pos = (_read_partitions if flexible else _read_old_partitions)(view, pos, most)
            most -= len(partitions)
            topics.append((name, topic_id, partitions))
        if flexible:
            skip_tags(view, pos)
    except (error, IndexError) as problem:
        raise MalformedRequest(f"Produce v{version} ends early: {problem}") from problem
    return ProduceRequest(transactional_id, acks, timeout_ms, topics)


class LoneProduce:
    """What a flexible request for one partition says before its records, and the answer to it, alike in all those versions.

    `topic_id` from v13 on, `topic` before; the other one is None.
    """

    __slots__ = ("_head", "acks", "partition", "topic", "topic_id", "transactional_id")

    def __init__(self, acks: int, topic: str | None, topic_id: bytes | None, partition: int, transactional_id: str | None = None) -> None:
        self.acks = acks
        self.transactional_id = transactional_id
        self.topic = topic
        self.topic_id = topic_id
        self.partition = partition
        self._head = b"\x00\x02" + pack_topic(self.ref, True) + b"\x02"  # no tags in the header, one topic, one partition

    @property
    def ref(self) -> str | bytes:
        """As the answer names the topic."""
        return self.topic_id if self.topic_id is not None else self.topic or ""

    def answer(self, correlation_id: int, base_offset: int, log_append_time_ms: int, log_start_offset: int) -> bytes:
        """The whole answer, its length in front, to a request that succeeded."""
        head = self._head
        fields = self.partition, 0, base_offset, log_append_time_ms, log_start_offset
        return _TWO_INT32.pack(_LONE_BYTES + len(head), correlation_id) + head + _LONE.pack(*fields, _LONE_TAIL)

    def refusal(self, correlation_id: int, response: PartitionProduceResponse) -> bytes:
        """The whole answer to one that did not."""
        body = pack_produce_response(FIRST_FLEXIBLE, [(self.ref, [response])])
        return _TWO_INT32.pack(5 + len(body), correlation_id) + b"\x00" + body


# record_errors [], error_message null, tags of the partition and of the topic, throttle_time_ms, tags
_LONE_TAIL: Final = b"\x01\x00\x00\x00\x00\x00\x00\x00\x00"
_LONE = Struct(_V5.format + "9s")
_LONE_BYTES: Final = 4 + _LONE.size
_KNOWN_REQUESTS: Final = 5_000


class LoneProduceReader(Generic[T]):
    """Reads flexible requests for one partition, by topic id (v13) or by name (before), nearly all that small producers send: their bytes
    up to the records are the same from one to the next, so that reading them is a look into a dictionary. Anything else is left to
    `parse_produce`.

    What stands in the dictionary is made by `learn`; None: such requests are left, too.
    """

    __slots__ = ("_by_id", "_known", "_learn")

    def __init__(self, by_id: bool, learn: Callable[[LoneProduce], T | None]) -> None:
        self._by_id = by_id
        self._learn = learn
        self._known: dict[bytes, T | None] = {}

    def read(self, frame: memoryview, begin: int) -> tuple[T, int, int] | None:
        """(what `learn` made, where the records begin, where they end) of the request whose body begins at `begin`; None when
        `parse_produce` has to read it. Raises nothing. 0.7 µs."""
        try:
            pos = begin + (frame[begin] or 1) + 7  # transactional id, acks, timeout, count of topics
            pos += 21 if self._by_id else frame[pos] + 5  # topic, count of partitions, index
            prefix = bytes(frame[begin:pos])
            length = frame[pos]
            pos += 1
            if length >= 0x80:
                length, pos = read_unsigned_varint(frame, pos - 1)
            stop = pos + length - 1
            if length == 0 or frame[stop] or frame[stop + 1] or frame[stop + 2]:
                return None  # null records, tags, or more partitions
        except (IndexError, MalformedRequest):
            return None
        known = self._known.get(prefix)
        if known is None:
            if prefix in self._known:
                return None
            if len(self._known) >= _KNOWN_REQUESTS:
                self._known.clear()
            lone = self._parse(prefix)
            known = self._known[prefix] = self._learn(lone) if lone is not None else None
            if known is None:
                return None
        return known, pos, stop

    def _parse(self, prefix: bytes) -> LoneProduce | None:
        """Only if the positions that `read` assumed are those of one topic with one partition."""
        pos = (prefix[0] or 1) + 6
        name_bytes = 16 if self._by_id else prefix[pos + 1]
        if prefix[0] >= 0x80 or prefix[pos] != 2 or not 0 < name_bytes < 0x80:
            return None
        if pos + 1 + name_bytes + 5 != len(prefix) or prefix[-5] != 2:
            return None
        request = parse_produce(FIRST_BY_TOPIC_ID if self._by_id else FIRST_FLEXIBLE, prefix + b"\x01\x00\x00\x00")
        ((name, topic_id, ((partition, _),)),) = request.topics
        return LoneProduce(request.acks, name, topic_id, partition, request.transactional_id)


def _read_partitions(view: memoryview, pos: int, most: int) -> tuple[list[ProducePartition], int]:
    """Partitions and the topic's own tag section, v9 on."""
    count, pos = read_count(view, pos, True, 6)
    if count > most:
        raise ManyPartitions
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


def _read_old_partitions(view: memoryview, pos: int, most: int) -> tuple[list[ProducePartition], int]:
    """Partitions up to v8."""
    count, pos = read_count(view, pos, False, 8)
    if count > most:
        raise ManyPartitions
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
