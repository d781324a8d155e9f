"""RecordBatch v2: read its header, patch it in place, walk its records, build one.

```
 0 base_offset i64 | 8 batch_length i32 | 12 partition_leader_epoch i32 | 16 magic i8 | 17 crc u32 | 21 attributes i16
23 last_offset_delta i32 | 27 base_timestamp i64 | 35 max_timestamp i64 | 43 producer_id i64 | 51 producer_epoch i16
53 base_sequence i32 | 57 records_count i32 | 61 records
```

The CRC-32C covers bytes 21 to the end, so that a broker may write base_offset and partition_leader_epoch without computing it again.
Attributes: bits 0-2 codec, 3 LogAppendTime, 4 transactional, 5 control, 6 delete horizon (`DefaultRecordBatch`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from struct import Struct, error
from typing import Any, Final, NamedTuple, TypeAlias

from oncelog.protocol.compression import compress, decompress
from oncelog.protocol.crc import crc32c
from oncelog.protocol.primitives import Buffer, increment_sequence, read_varint, varint

HEADER_SIZE: Final = 61
LOG_OVERHEAD: Final = 12  # base_offset and batch_length: what batch_length does not count
CRC_START: Final = 21
CURRENT_MAGIC: Final = 2

CODEC_MASK: Final = 0x07
TIMESTAMP_TYPE_BIT: Final = 0x08
TRANSACTIONAL_BIT: Final = 0x10
CONTROL_BIT: Final = 0x20
DELETE_HORIZON_BIT: Final = 0x40

NO_TIMESTAMP: Final = -1

_HEADER = Struct(">qiibIhiqqqhii")
_UP_TO_CRC = Struct(">qiibI")
_AFTER_CRC = Struct(">hiqqqhii")
_OFFSET = Struct(">q")
_INT32 = Struct(">i")
_CRC = Struct(">I")
unpack_header = _HEADER.unpack_from  # the fields of a `BatchHeader` in their order

RecordHeader: TypeAlias = tuple[str, bytes | None]
NewRecord: TypeAlias = tuple[int, bytes | None, bytes | None] | tuple[int, bytes | None, bytes | None, Sequence[RecordHeader]]


class CorruptBatch(ValueError):
    """Bytes that are no well-formed record batch."""


class BatchHeader:
    """The 61 bytes in front of the records."""

    __slots__ = (
        "attributes",
        "base_offset",
        "base_sequence",
        "base_timestamp",
        "batch_length",
        "crc",
        "last_offset_delta",
        "magic",
        "max_timestamp",
        "partition_leader_epoch",
        "producer_epoch",
        "producer_id",
        "records_count",
    )

    base_offset: int
    batch_length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    records_count: int

    @property
    def size_bytes(self) -> int:
        """The whole batch, this header included."""
        return self.batch_length + LOG_OVERHEAD

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        """Sequence of the last record, -1 without one."""
        if self.base_sequence < 0:
            return self.base_sequence
        return increment_sequence(self.base_sequence, self.last_offset_delta)

    @property
    def codec(self) -> int:
        return self.attributes & CODEC_MASK

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL_BIT)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL_BIT)

    @property
    def is_log_append_time(self) -> bool:
        return bool(self.attributes & TIMESTAMP_TYPE_BIT)

    @property
    def has_delete_horizon(self) -> bool:
        """base_timestamp is then the time from which tombstones and markers of the batch may be removed."""
        return bool(self.attributes & DELETE_HORIZON_BIT)

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={getattr(self, name)}" for name in self.__slots__)
        return f"BatchHeader({fields})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BatchHeader):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    __hash__ = None  # type: ignore[assignment]


class Record(NamedTuple):
    """One record as a consumer sees it."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: list[RecordHeader]
    sequence: int


def parse_header(buf: Buffer, pos: int = 0) -> BatchHeader:
    """The batch header at `pos`. Checks nothing; raises struct.error when fewer than 61 bytes are left."""
    header = BatchHeader()
    (
        header.base_offset,
        header.batch_length,
        header.partition_leader_epoch,
        header.magic,
        header.crc,
        header.attributes,
        header.last_offset_delta,
        header.base_timestamp,
        header.max_timestamp,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        header.records_count,
    ) = unpack_header(buf, pos)
    return header


def iter_headers(buf: Buffer, pos: int = 0) -> Iterator[tuple[int, BatchHeader]]:
    """(position, header) of each whole batch from `pos` on; a torn batch at the end ends the walk silently.

    Raises CorruptBatch for a length that no batch can have.
    """
    end = len(buf)
    while pos + HEADER_SIZE <= end:
        header = parse_header(buf, pos)
        size = header.batch_length + LOG_OVERHEAD
        if size < HEADER_SIZE:
            raise CorruptBatch(f"batch at {pos} claims {size} bytes")
        if pos + size > end:
            return
        yield pos, header
        pos += size


def iter_records(batch: Buffer) -> Iterator[Record]:
    """The records of one batch, decompressed. Raises CorruptBatch when count, lengths and content disagree."""
    header = parse_header(batch)
    payload: Buffer = memoryview(batch)[HEADER_SIZE : header.size_bytes]
    if len(payload) + HEADER_SIZE != header.size_bytes:
        raise CorruptBatch("batch is cut short")
    if header.codec:
        payload = decompress(header.codec, payload)
    yield from iter_unpacked(header, payload)


def iter_unpacked(header: BatchHeader, payload: Buffer) -> Iterator[Record]:
    """`iter_records` of what `decompress` gave."""
    if len(payload) <= _WORTH_A_COPY:
        payload = bytes(payload)  # indexing bytes is faster than indexing a view
    append_time = header.max_timestamp if header.is_log_append_time else None
    pos = 0
    for _ in range(header.records_count):
        try:
            record, pos = _read_record(payload, pos, header, append_time)
        except (IndexError, ValueError) as problem:
            raise CorruptBatch(f"record at byte {pos}: {problem}") from problem
        yield record
    if pos != len(payload):
        raise CorruptBatch(f"{len(payload) - pos} bytes after the last record")


def _read_record(data: Buffer, pos: int, header: BatchHeader, append_time: int | None) -> tuple[Record, int]:
    length, pos = read_varint(data, pos, 5)
    end = pos + length
    if length < 0 or end > len(data):
        raise ValueError(f"length {length} does not fit")
    pos += 1  # attributes, unused
    timestamp_delta, pos = read_varint(data, pos)
    offset_delta, pos = read_varint(data, pos, 5)
    key, pos = _read_bytes(data, pos, end)
    value, pos = _read_bytes(data, pos, end)
    count, pos = read_varint(data, pos, 5)
    if not 0 <= count <= end - pos:
        raise ValueError(f"{count} headers do not fit")
    headers: list[RecordHeader] = []
    for _ in range(count):
        name, pos = _read_bytes(data, pos, end)
        if name is None:
            raise ValueError("null header key")
        content, pos = _read_bytes(data, pos, end)
        headers.append((name.decode("utf-8", "replace"), content))
    if pos != end:
        raise ValueError(f"record content ends {end - pos} bytes before its length")
    sequence = increment_sequence(header.base_sequence, offset_delta) if header.base_sequence >= 0 else -1
    timestamp = header.base_timestamp + timestamp_delta if append_time is None else append_time
    return Record(header.base_offset + offset_delta, timestamp, key, value, headers, sequence), end


_WORTH_A_COPY: Final = 1 << 20


def _read_bytes(data: Buffer, pos: int, end: int) -> tuple[bytes | None, int]:
    length, pos = read_varint(data, pos, 5)
    if length < 0:
        return None, pos
    stop = pos + length
    if stop > end:
        raise ValueError(f"length {length} does not fit")
    piece = data[pos:stop]
    return piece if type(piece) is bytes else bytes(piece), stop


def build_batch(
    records: Iterable[NewRecord],
    *,
    base_offset: int = 0,
    codec: int = 0,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    is_transactional: bool = False,
    is_control: bool = False,
    leader_epoch: int = 0,
    log_append_time_ms: int | None = None,
) -> bytearray:
    """A whole batch of `records`: (timestamp_ms, key, value[, headers]).

    With `log_append_time_ms` the batch is stamped LogAppendTime. No records give an empty batch, as compaction leaves them.
    """
    payload = bytearray()
    base_timestamp = max_timestamp = NO_TIMESTAMP
    count = 0
    for new in records:
        timestamp, key, value = new[0], new[1], new[2]
        if count == 0:
            base_timestamp = max_timestamp = timestamp
        max_timestamp = max(max_timestamp, timestamp)
        body = b"".join((b"\x00", varint(timestamp - base_timestamp), varint(count), _sized(key), _sized(value), _pack_headers(new[3:])))
        payload += varint(len(body))
        payload += body
        count += 1
    attributes = codec | (TRANSACTIONAL_BIT if is_transactional else 0) | (CONTROL_BIT if is_control else 0)
    if log_append_time_ms is not None:
        attributes |= TIMESTAMP_TYPE_BIT
        max_timestamp = log_append_time_ms
    return _assemble(
        compress(codec, payload) if codec else payload,
        (base_offset, leader_epoch),
        (attributes, max(count - 1, 0), base_timestamp, max_timestamp, producer_id, producer_epoch, base_sequence, count),
    )


def record_of(index: int, key: bytes, value: bytes | None) -> bytes:
    """One record of the batch's own time, without headers, as it stands in a batch as number `index`."""
    sized = b"\x01" if value is None else varint(len(value)) + value
    body = b"".join((b"\x00\x00", varint(index), varint(len(key)), key, sized, b"\x00"))
    return varint(len(body)) + body


def batch_at(
    base_offset: int,
    leader_epoch: int,
    timestamp_ms: int,
    count: int,
    records: bytes,
    attributes: int = 0,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
) -> bytes:
    """The batch of `count` uncompressed records of one time, as it is stored: about 1 us."""
    delta = count - 1
    covered = _AFTER_CRC.pack(attributes, delta, timestamp_ms, timestamp_ms, producer_id, producer_epoch, base_sequence, count) + records
    return _UP_TO_CRC.pack(base_offset, len(covered) + CRC_START - LOG_OVERHEAD, leader_epoch, CURRENT_MAGIC, crc32c(covered)) + covered


def _assemble(payload: Buffer, position: tuple[int, int], fields: tuple[Any, ...]) -> bytearray:
    base_offset, leader_epoch = position
    batch_length = HEADER_SIZE - LOG_OVERHEAD + len(payload)
    batch = bytearray(_HEADER.pack(base_offset, batch_length, leader_epoch, CURRENT_MAGIC, 0, *fields))
    batch += payload
    rewrite_crc(batch)
    return batch


def _sized(data: bytes | None) -> bytes:
    return b"\x01" if data is None else varint(len(data)) + data


def _pack_headers(rest: tuple[Any, ...]) -> bytes:
    headers: Sequence[RecordHeader] = rest[0] if rest else ()
    if not headers:
        return b"\x00"
    return varint(len(headers)) + b"".join(_sized(name.encode("utf-8")) + _sized(value) for name, value in headers)


def patch_offset(batch: bytearray | memoryview, base_offset: int, leader_epoch: int) -> None:
    """Write what a broker assigns, in place; neither field is covered by the CRC."""
    _OFFSET.pack_into(batch, 0, base_offset)
    _INT32.pack_into(batch, LOG_OVERHEAD, leader_epoch)


def assigned(batch: bytearray | memoryview, base_offset: int, leader_epoch: int) -> bytearray | memoryview:
    """`batch` with offset and epoch: itself, or a copy of bytes that may not be changed."""
    if isinstance(batch, memoryview) and batch.readonly:
        batch = bytearray(batch)
    patch_offset(batch, base_offset, leader_epoch)
    return batch


def rewrite_crc(batch: bytearray | memoryview) -> None:
    """Recompute the CRC in place after a field it covers was changed. `batch` ends where the batch ends."""
    _CRC.pack_into(batch, 17, crc32c(memoryview(batch)[CRC_START:]))


def check_crc(batch: Buffer) -> bool:
    """True when `batch` (exactly one whole batch) carries the CRC of its content."""
    try:
        (stored,) = _CRC.unpack_from(batch, 17)
    except error:
        return False
    return bool(crc32c(memoryview(batch)[CRC_START:]) == stored)
