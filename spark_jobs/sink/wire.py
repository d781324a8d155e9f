"""Just enough of Kafka's protocol for one transaction: nine requests and the record batch, in the standard library alone.

Executors get these modules by `addPyFile`, on clusters where nobody can install anything, so they may import nothing that is not there
already. `crc32c` and `cramjam` are used when they happen to be installed; without them the checksum is slower and the codec is gzip.

Every version here is served by each Kafka from 2.5 to 4.x. Versions that end a transaction without an epoch bump (EndTxn v1) are meant: the
tasks of a batch share one epoch that the driver got for exactly this batch.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

PRODUCE, METADATA, OFFSET_FETCH, FIND_COORDINATOR = (0, 7), (3, 4), (9, 7), (10, 1)
INIT_PRODUCER_ID, ADD_PARTITIONS, ADD_OFFSETS, END_TXN, TXN_OFFSET_COMMIT = (22, 4), (24, 1), (25, 1), (26, 1), (28, 2)
SASL_HANDSHAKE, SASL_AUTHENTICATE = (17, 1), (36, 0)
FLEXIBLE = frozenset({OFFSET_FETCH, INIT_PRODUCER_ID})
"""Calls whose headers and bodies carry tagged fields (KIP-482)."""

GROUP, TRANSACTION = 0, 1
"""Key types of FindCoordinator."""

GZIP, ZSTD = 1, 4
"""Codec numbers in a batch's attributes."""

Api = tuple[int, int]


# ------------------------------------------------------------------------------------------------------------------- primitives


class Writer:
    """A request body under construction."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def pack(self, layout: str, *values: object) -> Writer:
        self.parts.append(struct.pack(">" + layout, *values))
        return self

    def string(self, text: str | None) -> Writer:
        encoded = None if text is None else text.encode()
        self.pack("h", -1 if encoded is None else len(encoded))
        self.parts.append(encoded or b"")
        return self

    def compact_string(self, text: str) -> Writer:
        encoded = text.encode()
        self.parts += [unsigned_varint(len(encoded) + 1), encoded]
        return self

    def raw(self, data: bytes) -> Writer:
        self.parts.append(data)
        return self


class Reader:
    """An answer being taken apart. Raises struct.error or IndexError when it is too short."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def unpack(self, layout: str) -> tuple[int, ...]:
        values = struct.unpack_from(">" + layout, self.data, self.at)
        self.at += struct.calcsize(">" + layout)
        return values

    def number(self, layout: str) -> int:
        return self.unpack(layout)[0]

    def take(self, size: int) -> bytes:
        self.at += size
        return self.data[self.at - size : self.at]

    def string(self) -> str | None:
        size = self.number("h")
        return None if size < 0 else self.take(size).decode()

    def compact_string(self) -> str | None:
        size = self.varint() - 1
        return None if size < 0 else self.take(size).decode()

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.data[self.at]
            self.at += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def tags(self) -> None:
        for _ in range(self.varint()):
            self.varint()
            self.take(self.varint())


def unsigned_varint(value: int) -> bytes:
    """Seven bits a byte, low bits first."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def frame(api: Api, correlation_id: int, client_id: str, body: Iterable[bytes]) -> bytes:
    """A whole request: size, header, body."""
    head = Writer().pack("hhi", *api, correlation_id).string(client_id)
    if api in FLEXIBLE:
        head.raw(b"\0")
    request = b"".join([*head.parts, *body])
    return struct.pack(">i", len(request)) + request


# --------------------------------------------------------------------------------------------------------------------- requests


class Partition(NamedTuple):
    """A partition as Metadata describes it; `leader` is -1 while there is none."""

    number: int
    error: int
    leader: int


class ClusterView(NamedTuple):
    """An answer to Metadata."""

    brokers: dict[int, tuple[str, int]]
    topics: dict[str, tuple[int, list[Partition]]]
    """name → (error, partitions)"""


def metadata_request(topics: Sequence[str]) -> list[bytes]:
    """Metadata of `topics`; never creates one."""
    body = Writer().pack("i", len(topics))
    for topic in topics:
        body.string(topic)
    return body.pack("?", False).parts


def metadata_answer(data: bytes) -> ClusterView:
    reader = Reader(data)
    reader.number("i")
    brokers = {}
    for _ in range(reader.number("i")):
        node = reader.number("i")
        brokers[node] = (reader.string() or "", reader.number("i"))
        reader.string()
    reader.string()
    reader.number("i")
    topics = {}
    for _ in range(reader.number("i")):
        error, name, _internal = reader.number("h"), reader.string() or "", reader.number("?")
        topics[name] = (error, [_partition(reader) for _ in range(reader.number("i"))])
    return ClusterView(brokers, topics)


def _partition(reader: Reader) -> Partition:
    error, number, leader = reader.unpack("hii")
    for _replicas_then_isr in range(2):
        reader.take(4 * reader.number("i"))
    return Partition(number, error, leader)


def find_coordinator_request(key: str, kind: int) -> list[bytes]:
    return Writer().string(key).pack("b", kind).parts


def find_coordinator_answer(data: bytes) -> tuple[int, tuple[str, int]]:
    """(error, (host, port))"""
    reader = Reader(data)
    _throttle, error = reader.unpack("ih")
    reader.string()
    reader.number("i")
    return error, (reader.string() or "", reader.number("i"))


def init_producer_id_request(transactional_id: str, timeout_ms: int, producer_id: int, epoch: int) -> list[bytes]:
    return Writer().compact_string(transactional_id).pack("iqh", timeout_ms, producer_id, epoch).raw(b"\0").parts


def init_producer_id_answer(data: bytes) -> tuple[int, int, int]:
    """(error, producer id, epoch)"""
    _throttle, error, producer_id, epoch = Reader(data).unpack("ihqh")
    return error, producer_id, epoch


def add_partitions_request(transactional_id: str, producer_id: int, epoch: int, partitions: dict[str, Sequence[int]]) -> list[bytes]:
    body = Writer().string(transactional_id).pack("qhi", producer_id, epoch, len(partitions))
    for topic, indexes in partitions.items():
        body.string(topic).pack(f"i{len(indexes)}i", len(indexes), *indexes)
    return body.parts


def topics_answer(data: bytes) -> dict[tuple[str, int], int]:
    """AddPartitionsToTxn and TxnOffsetCommit answer alike: (topic, partition) → error."""
    reader = Reader(data)
    reader.number("i")
    errors = {}
    for _ in range(reader.number("i")):
        topic = reader.string() or ""
        for _ in range(reader.number("i")):
            partition, error = reader.unpack("ih")
            errors[topic, partition] = error
    return errors


def add_offsets_request(transactional_id: str, producer_id: int, epoch: int, group: str) -> list[bytes]:
    return Writer().string(transactional_id).pack("qh", producer_id, epoch).string(group).parts


def end_txn_request(transactional_id: str, producer_id: int, epoch: int, commit: bool) -> list[bytes]:
    return Writer().string(transactional_id).pack("qh?", producer_id, epoch, commit).parts


def error_answer(data: bytes) -> int:
    """AddOffsetsToTxn and EndTxn answer with one error."""
    return Reader(data).unpack("ih")[1]


def txn_offset_commit_request(
    transactional_id: str, group: str, producer_id: int, epoch: int, topic: str, offset: int, metadata: str
) -> list[bytes]:
    """Commit `offset` for partition 0 of `topic`."""
    body = Writer().string(transactional_id).string(group).pack("qhi", producer_id, epoch, 1)
    return body.string(topic).pack("iiqi", 1, 0, offset, -1).string(metadata).parts


def offset_fetch_request(group: str) -> list[bytes]:
    """All committed offsets of `group`; waits (88) for transactions that could change them."""
    return Writer().compact_string(group).raw(b"\0").pack("?", True).raw(b"\0").parts


class Committed(NamedTuple):
    """One committed offset."""

    error: int
    offset: int
    metadata: str


def offset_fetch_answer(data: bytes) -> tuple[int, list[Committed]]:
    """(error, every committed offset of the group)"""
    reader = Reader(data)
    reader.number("i")
    found = []
    for _ in range(reader.varint() - 1):
        reader.compact_string()
        for _ in range(reader.varint() - 1):
            _index, offset, _leader_epoch = reader.unpack("iqi")
            metadata = reader.compact_string() or ""
            found.append(Committed(reader.number("h"), offset, metadata))
            reader.tags()
        reader.tags()
    return reader.number("h"), found


def produce_request(transactional_id: str, timeout_ms: int, topic: str, partition: int, batch: bytes) -> list[bytes]:
    """One batch for one partition, acknowledged by all replicas."""
    return [
        *Writer().string(transactional_id).pack("hii", -1, timeout_ms, 1).string(topic).pack("iii", 1, partition, len(batch)).parts,
        batch,
    ]


def produce_answer(data: bytes) -> tuple[int, int]:
    """(error, base offset)"""
    reader = Reader(data)
    reader.number("i")
    reader.string()
    _count, _partition_index, error, base_offset = reader.unpack("iihq")
    return error, base_offset


# ---------------------------------------------------------------------------------------------------------------------- records


def zigzag_varint(value: int) -> bytes:
    """Signed varint as in record fields."""
    return unsigned_varint(value << 1 if value >= 0 else (-value << 1) - 1)


SMALL = tuple(zigzag_varint(value) for value in range(1 << 13))
"""Varints of the lengths and deltas that nearly all records have: looking one up costs a tenth of making it."""
NULL = zigzag_varint(-1)
NO_HEADERS = zigzag_varint(0)

Header = tuple[str, bytes | None]


def varint(value: int) -> bytes:
    """`zigzag_varint` of a number that is not negative."""
    return SMALL[value] if value < len(SMALL) else zigzag_varint(value)


def encode_headers(headers: Sequence[Header]) -> bytes:
    parts = [varint(len(headers))]
    for name, value in headers:
        encoded = name.encode()
        parts += [varint(len(encoded)), encoded, *((NULL,) if value is None else (varint(len(value)), value))]
    return b"".join(parts)


def encode_record(offset_delta: int, key: bytes | None, value: bytes | None, headers: bytes = NO_HEADERS) -> bytes:
    """One record; all records of a batch share its timestamp, so the delta is 0."""
    keyed = NULL if key is None else varint(len(key)) + key
    valued = NULL if value is None else varint(len(value)) + value
    body = b"\0\0" + varint(offset_delta) + keyed + valued + headers
    return varint(len(body)) + body


def record_batch(records: bytes, count: int, timestamp_ms: int, producer_id: int, epoch: int, base_sequence: int, codec: int) -> bytes:
    """A transactional batch, format v2, of `count` encoded records."""
    payload = COMPRESSORS[codec](records)
    checked = (
        struct.pack(">hiqqqhii", 0x10 | codec, count - 1, timestamp_ms, timestamp_ms, producer_id, epoch, base_sequence, count) + payload
    )
    return struct.pack(">qiibI", 0, len(checked) + 9, -1, 2, crc32c(checked)) + checked


def _gzip(data: bytes) -> bytes:
    compressor = zlib.compressobj(1, zlib.DEFLATED, 31)
    return compressor.compress(data) + compressor.flush()


def _table_crc32c(data: bytes) -> int:
    """CRC-32C (Castagnoli) without the `crc32c` package: about 10 MB/s."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = CRC_TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def _crc_entry(value: int) -> int:
    for _ in range(8):
        value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
    return value


CRC_TABLE = tuple(map(_crc_entry, range(256)))
COMPRESSORS: dict[int, Callable[[bytes], bytes]] = {0: lambda data: data, GZIP: _gzip}
crc32c: Callable[[bytes], int]
try:
    from crc32c import crc32c
except ImportError:
    crc32c = _table_crc32c
try:
    import cramjam

    COMPRESSORS[ZSTD] = lambda data: bytes(cramjam.zstd.compress(data, 1))
except ImportError:
    pass

CODECS = {"none": 0, "gzip": GZIP, "zstd": ZSTD}


def codec_number(name: str | None) -> int:
    """Number of a codec by name; None picks the best one this process has. Raises ValueError."""
    if name is None:
        return max(COMPRESSORS)
    if CODECS.get(name) not in COMPRESSORS:
        raise ValueError(
            f"compression {name!r} is not to be had here; choose one of {', '.join(k for k, v in CODECS.items() if v in COMPRESSORS)}"
        )
    return CODECS[name]


# ----------------------------------------------------------------------------------------------------------------- partitioning


def murmur2(data: bytes) -> int:
    """The 32-bit hash that Java's default partitioner takes of a key (Kafka's Utils.murmur2), as a number that is not negative."""
    length = len(data)
    hashed = 0x9747B28C ^ length
    whole = length & ~3
    for (word,) in struct.iter_unpack("<I", data[:whole]):
        word = word * 0x5BD1E995 & 0xFFFFFFFF
        word = (word ^ word >> 24) * 0x5BD1E995 & 0xFFFFFFFF
        hashed = (hashed * 0x5BD1E995 & 0xFFFFFFFF) ^ word
    if length & 3:
        hashed = (hashed ^ int.from_bytes(data[whole:], "little")) * 0x5BD1E995 & 0xFFFFFFFF
    hashed = (hashed ^ hashed >> 13) * 0x5BD1E995 & 0xFFFFFFFF
    return hashed ^ hashed >> 15


def partition_of(key: bytes, partitions: int) -> int:
    """Partition that Java's default partitioner gives to `key`."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions
