"""Fetch (1), v4-18, by hand.

Request: v5 log_start_offset, v7 sessions, v9 current_leader_epoch, v11 rack_id, v12 flexible and last_fetched_epoch, v13 topics by id,
v15 replica_id moves into a tagged field, v17-18 tags that only replicas send.
Answer: v5 log_start_offset, v7 error_code and session_id, v11 preferred_read_replica (never: -1), v12 flexible, v13 topics by id.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from struct import Struct, error
from typing import Final, Generic, NamedTuple, TypeAlias, TypeVar

from oncelog.protocol.hot.fields import INT32, pack_count, pack_topic, read_count, read_string, read_topic, skip_tags
from oncelog.protocol.primitives import Buffer, MalformedRequest, Piece, read_unsigned_varint, unsigned_varint

T = TypeVar("T")
FIRST_WITH_SESSIONS: Final = 7
FIRST_WITH_RACK: Final = 11
FIRST_FLEXIBLE: Final = 12
FIRST_BY_TOPIC_ID: Final = 13
FIRST_WITH_REPLICA_STATE: Final = 15
_REPLICA_STATE_TAG: Final = 1

_HEAD_V4 = Struct(">iiiib")  # replica_id, max_wait_ms, min_bytes, max_bytes, isolation_level
_HEAD_V7 = Struct(">iiiibii")  # … session_id, session_epoch
_HEAD_V15 = Struct(">iiibii")  # … without replica_id
_PARTITION_V4 = Struct(">iqi")
_PARTITION_V5 = Struct(">iqqi")
_PARTITION_V9 = Struct(">iiqqi")
_PARTITION_V12 = Struct(">iiqiqi")

_ANSWER_V4 = Struct(">ihqq")  # index, error_code, high_watermark, last_stable_offset
_ANSWER_V5 = Struct(">ihqqq")  # … log_start_offset
_ABORTED = Struct(">qq")
_ABORTED_V12 = Struct(">qqB")


class FetchPartition(NamedTuple):
    """What a request wants of one partition; fields its version lacks are -1."""

    partition: int
    current_leader_epoch: int
    fetch_offset: int
    last_fetched_epoch: int
    log_start_offset: int
    partition_max_bytes: int


FetchTopic: TypeAlias = tuple[str | None, bytes | None, list[FetchPartition]]
ForgottenTopic: TypeAlias = tuple[str | None, bytes | None, list[int]]


class FetchRequest:
    """`topics` and `forgotten`: (name, None, partitions) up to v12, (None, topic id, partitions) from v13 on."""

    __slots__ = (
        "forgotten",
        "isolation_level",
        "max_bytes",
        "max_wait_ms",
        "min_bytes",
        "rack_id",
        "replica_id",
        "session_epoch",
        "session_id",
        "topics",
    )

    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    isolation_level: int
    session_id: int
    session_epoch: int
    topics: list[FetchTopic]
    forgotten: list[ForgottenTopic]
    rack_id: str
    replica_id: int


class FetchPartitionData(NamedTuple):
    """The answer for one partition. `aborted`: (producer id, first offset) of each aborted transaction, None for read_uncommitted."""

    index: int  # type: ignore[assignment]  # over tuple.index: Kafka's name counts
    error_code: int = 0
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    aborted: Sequence[tuple[int, int]] | None = None
    records: Piece = b""


def parse_fetch(version: int, body: Buffer) -> FetchRequest:
    """The request in `body` (without header), v4-18; bytes after it are ignored. Raises MalformedRequest."""
    view = memoryview(body)
    try:
        request, pos = _read_head(version, view)
        if version >= FIRST_FLEXIBLE:
            _read_rest(version, view, pos, request)
        else:
            _read_old_rest(version, view, pos, request)
    except (error, IndexError) as problem:
        raise MalformedRequest(f"Fetch v{version} ends early: {problem}") from problem
    return request


def _read_rest(version: int, view: memoryview, pos: int, request: FetchRequest) -> None:
    """Topics and what follows them, v12 on. Empty tag sections, nearly all there are, are read without a call."""
    by_id = version >= FIRST_BY_TOPIC_ID
    request.topics = topics = []
    count, pos = read_count(view, pos, True, 3)
    make, unpack = FetchPartition._make, _PARTITION_V12.unpack_from
    for _ in range(count):
        name, topic_id, pos = read_topic(view, pos, True, by_id)
        number, pos = read_count(view, pos, True, _PARTITION_V12.size + 1)
        partitions: list[FetchPartition] = []
        topics.append((name, topic_id, partitions))
        for _ in range(number):
            partitions.append(make(unpack(view, pos)))
            pos += 32
            pos = pos + 1 if view[pos] == 0 else skip_tags(view, pos)
        pos = pos + 1 if view[pos] == 0 else skip_tags(view, pos)
    if bytes(view[pos : pos + 3]) == _NOTHING_FORGOTTEN_NO_RACK_NO_TAGS:
        request.forgotten, request.rack_id = [], ""
        return
    request.forgotten, pos = _read_forgotten(view, pos, True, by_id)
    request.rack_id, pos = read_string(view, pos, True)
    if view[pos]:
        _read_tags(version, view, pos, request)


_NOTHING_FORGOTTEN_NO_RACK_NO_TAGS: Final = b"\x01\x01\x00"


def _read_old_rest(version: int, view: memoryview, pos: int, request: FetchRequest) -> None:
    """Topics and what follows them, up to v11."""
    request.topics = topics = []
    count, pos = read_count(view, pos, False, 6)
    for _ in range(count):
        name, pos = read_string(view, pos, False)
        partitions, pos = _read_old_partitions(version, view, pos)
        topics.append((name, None, partitions))
    request.forgotten, request.rack_id = [], ""
    if version >= FIRST_WITH_SESSIONS:
        request.forgotten, pos = _read_forgotten(view, pos, False, False)
    if version >= FIRST_WITH_RACK:
        request.rack_id, pos = read_string(view, pos, False)


def _read_head(version: int, view: memoryview) -> tuple[FetchRequest, int]:
    request = FetchRequest()
    request.session_id, request.session_epoch = 0, -1
    if version >= FIRST_WITH_REPLICA_STATE:
        request.replica_id = -1
        (
            request.max_wait_ms,
            request.min_bytes,
            request.max_bytes,
            request.isolation_level,
            request.session_id,
            request.session_epoch,
        ) = _HEAD_V15.unpack_from(view)
        return request, _HEAD_V15.size
    if version >= FIRST_WITH_SESSIONS:
        (
            request.replica_id,
            request.max_wait_ms,
            request.min_bytes,
            request.max_bytes,
            request.isolation_level,
            request.session_id,
            request.session_epoch,
        ) = _HEAD_V7.unpack_from(view)
        return request, _HEAD_V7.size
    request.replica_id, request.max_wait_ms, request.min_bytes, request.max_bytes, request.isolation_level = _HEAD_V4.unpack_from(view)
    return request, _HEAD_V4.size


def _read_old_partitions(version: int, view: memoryview, pos: int) -> tuple[list[FetchPartition], int]:
    layout = _PARTITION_V9 if version >= 9 else _PARTITION_V5 if version >= 5 else _PARTITION_V4
    count, pos = read_count(view, pos, False, layout.size)
    end = pos + count * layout.size
    rows = layout.iter_unpack(view[pos:end])
    make = FetchPartition
    if version >= 9:
        return [make(index, epoch, offset, -1, start, max_bytes) for index, epoch, offset, start, max_bytes in rows], end
    if version >= 5:
        return [make(index, -1, offset, -1, start, max_bytes) for index, offset, start, max_bytes in rows], end
    return [make(index, -1, offset, -1, -1, max_bytes) for index, offset, max_bytes in rows], end


def _read_forgotten(view: memoryview, pos: int, flexible: bool, by_id: bool) -> tuple[list[ForgottenTopic], int]:
    count, pos = read_count(view, pos, flexible, 3 if flexible else 6)
    forgotten: list[ForgottenTopic] = []
    for _ in range(count):
        name, topic_id, pos = read_topic(view, pos, flexible, by_id)
        partitions, pos = read_count(view, pos, flexible, 4)
        forgotten.append((name, topic_id, list(Struct(f">{partitions}i").unpack_from(view, pos))))
        pos += 4 * partitions
        if flexible:
            pos = skip_tags(view, pos)
    return forgotten, pos


def _read_tags(version: int, view: memoryview, pos: int, request: FetchRequest) -> None:
    """Of the tagged fields only the replica id matters: whoever claims to be a broker is told so."""
    count, pos = read_unsigned_varint(view, pos)
    for _ in range(count):
        tag, pos = read_unsigned_varint(view, pos)
        size, pos = read_unsigned_varint(view, pos)
        if pos + size > len(view):
            raise MalformedRequest("tagged field reaches beyond the body")
        if tag == _REPLICA_STATE_TAG and version >= FIRST_WITH_REPLICA_STATE:
            (request.replica_id,) = INT32.unpack_from(view, pos)
        pos += size


class LoneFetch:
    """The one partition of a flexible request without a session, and the answer to it, alike in all those versions.

    `topic_id` from v13 on, `topic` before; the other one is None.
    """

    __slots__ = ("_head", "partition", "topic", "topic_id")

    def __init__(self, topic: str | None, topic_id: bytes | None, partition: int) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.partition = partition
        # no tags in the header, no throttling, no error, no session, one topic, one partition
        self._head = bytes(11) + b"\x02" + pack_topic(self._ref, True) + b"\x02"

    @property
    def _ref(self) -> str | bytes:
        return self.topic_id if self.topic_id is not None else self.topic or ""

    def answer(self, correlation_id: int, data: FetchPartitionData) -> bytes | list[Piece]:
        """The whole answer, its length in front, when it is short; else its buffers."""
        _index, code, high_watermark, stable, start, aborted, records = data
        if aborted or not isinstance(records, bytes) or len(records) > _SHORT_BYTES:
            body = pack_fetch_response(FIRST_FLEXIBLE, 0, 0, [(self._ref, [data])])
            return [INT32.pack(correlation_id) + b"\x00", *body]
        length = unsigned_varint(len(records) + 1)
        size = _LONE_BYTES + len(self._head) + len(length) + len(records)
        none = 0 if aborted is None else 1  # transactions; and no preferred read replica
        fields = _LONE.pack(self.partition, code, high_watermark, stable, start, none, -1)
        return b"".join((_TWO_INT32.pack(size, correlation_id), self._head, fields, length, records, _NO_TAGS_THRICE))


class LoneFetchReader(Generic[T]):
    """Reads flexible requests without a session for one partition, by topic id (from v13) or by name (v12): all that clients without
    sessions (librdkafka) send for one. What `learn` made of the partition stands in a dictionary. Anything else is left to `parse_fetch`.
    """

    __slots__ = ("_by_id", "_known", "_learn")

    def __init__(self, by_id: bool, learn: Callable[[LoneFetch], T]) -> None:
        self._by_id = by_id
        self._learn = learn
        self._known: dict[bytes, T] = {}

    def read(self, version: int, frame: memoryview, begin: int) -> tuple[T, int, int, int, int, int, int, int, int] | None:
        """(what `learn` made, max_wait_ms, min_bytes, max_bytes, isolation_level, current_leader_epoch, fetch_offset, last_fetched_epoch,
        partition_max_bytes) of the request whose body begins at `begin`; None when `parse_fetch` has to read it. Raises nothing."""
        try:
            if version >= FIRST_WITH_REPLICA_STATE:
                wait_ms, least, most, isolation, session, session_epoch = _HEAD_V15.unpack_from(frame, begin)
                replica, pos = -1, begin + _HEAD_V15.size
            else:
                replica, wait_ms, least, most, isolation, session, session_epoch = _HEAD_V7.unpack_from(frame, begin)
                pos = begin + _HEAD_V7.size
            stop = pos + (22 if self._by_id else frame[pos + 1] + 6)  # count of topics, topic, count of partitions, index
            prefix = bytes(frame[pos:stop])
            epoch, offset, last_epoch, _start, partition_most, rest = _LONE_REST.unpack_from(frame, stop)
        except (IndexError, error):
            return None
        if session or session_epoch != -1 or replica != -1 or rest != _NOTHING_MORE:
            return None
        known = self._known.get(prefix)
        if known is None:
            lone = self._parse(prefix)
            if lone is None:
                return None
            if len(self._known) >= _KNOWN_REQUESTS:
                self._known.clear()
            known = self._known[prefix] = self._learn(lone)
        return known, wait_ms, least, most, isolation, epoch, offset, last_epoch, partition_most

    def _parse(self, prefix: bytes) -> LoneFetch | None:
        """Only if the positions that `read` assumed are those of one topic with one partition."""
        name_bytes = 16 if self._by_id else prefix[1]
        if prefix[0] != 2 or not 0 < name_bytes < 0x80 or prefix[-5] != 2:
            return None
        name, topic_id, _pos = read_topic(memoryview(prefix), 1, True, self._by_id)
        return LoneFetch(name, topic_id, INT32.unpack_from(prefix, len(prefix) - 4)[0])


_LONE_REST = Struct(">iqiqi5s")  # of a partition behind its index, and of the request
_NOTHING_MORE: Final = b"\x00\x00" + _NOTHING_FORGOTTEN_NO_RACK_NO_TAGS
_TWO_INT32 = Struct(">ii")
_LONE = Struct(_ANSWER_V5.format + "Bi")
_LONE_BYTES: Final = 4 + _LONE.size + 3  # of an answer, beside its head and its records
_NO_TAGS_THRICE: Final = bytes(3)  # of the partition, of the topic, of the answer
_SHORT_BYTES: Final = 16 << 10
_KNOWN_REQUESTS: Final = 5_000


def pack_fetch_response(
    version: int,
    error_code: int,
    session_id: int,
    topics: Sequence[tuple[str | bytes, Sequence[FetchPartitionData]]],
    throttle_ms: int = 0,
) -> list[Piece]:
    """The answer's body, v4-18, as buffers for a gathering write: records are passed on, and copied only where that costs less."""
    flexible = version >= FIRST_FLEXIBLE
    buffers: list[Piece] = []
    out = bytearray(INT32.pack(throttle_ms))
    if version >= FIRST_WITH_SESSIONS:
        out += _ERROR_SESSION.pack(error_code, session_id)
    out += pack_count(len(topics), flexible)
    for topic, partitions in topics:
        out += pack_topic(topic, flexible)
        out += pack_count(len(partitions), flexible)
        for partition in partitions:
            _pack_head(version, out, partition)
            records = partition.records
            if records and len(records) <= _COPIED_BYTES and isinstance(records, bytes | bytearray | memoryview):
                out += records
            elif records:
                buffers.append(out)
                buffers.append(records)
                out = bytearray()
            if flexible:
                out.append(0)
        if flexible:
            out.append(0)
    if flexible:
        out.append(0)
    if out:
        buffers.append(out)
    return buffers


_ERROR_SESSION = Struct(">hi")
_COPIED_BYTES: Final = 512


def _pack_head(version: int, out: bytearray, partition: FetchPartitionData) -> None:
    """Everything of a partition up to the length of its records."""
    index, code, high_watermark, stable, start, aborted, records = partition
    if version >= 5:
        out += _ANSWER_V5.pack(index, code, high_watermark, stable, start)
    else:
        out += _ANSWER_V4.pack(index, code, high_watermark, stable)
    if version >= FIRST_FLEXIBLE:
        if aborted is None:
            out.append(0)
        else:
            out += unsigned_varint(len(aborted) + 1)
            for producer_id, first_offset in aborted:
                out += _ABORTED_V12.pack(producer_id, first_offset, 0)
        out += b"\xff\xff\xff\xff"  # no preferred read replica
        out += unsigned_varint(len(records) + 1)
        return
    out += INT32.pack(-1 if aborted is None else len(aborted))
    for producer_id, first_offset in aborted or ():
        out += _ABORTED.pack(producer_id, first_offset)
    if version >= FIRST_WITH_RACK:
        out += b"\xff\xff\xff\xff"
    out += INT32.pack(len(records))
