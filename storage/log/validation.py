"""What a produced batch must be, in Kafka's order, and what the broker rewrites in it
(`UnifiedLog.analyzeAndValidateRecords`, `LogValidator`).

Every record is looked at. Work that could hold the loop's thread comes in steps: `checking` yields None where its turn should end, and
a call that belongs on another thread. A wrong maxTimestamp in the header is corrected.

Three times we are stricter than Kafka, whose broker then stores what consumers stumble over: in a compressed batch a record must have the
length it claims, nothing may follow packed data, and what it unpacks to is bounded (`unpacked_limit`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from functools import partial
from struct import Struct
from typing import Any, Final, NamedTuple, TypeAlias

from oncelog.protocol.compression import MAX_DECOMPRESSED_BYTES, Codec, CompressionError, UnpacksTooLarge, compress, decompress
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.names import TopicPartition
from oncelog.protocol.primitives import Buffer, crc32c
from oncelog.protocol.record_walk import Allowance, CorruptRecords, RecordWalk
from oncelog.protocol.records import (
    CODEC_MASK,
    CONTROL_BIT,
    CRC_START,
    CURRENT_MAGIC,
    HEADER_SIZE,
    LOG_OVERHEAD,
    TIMESTAMP_TYPE_BIT,
    BatchHeader,
    iter_unpacked,
    parse_header,
    rewrite_crc,
)
from oncelog.storage.config import LogConfig

_PREFIX = Struct(">qii")
_ATTRIBUTES = Struct(">h")
_TIMESTAMP = Struct(">q")
_SMALLEST_LENGTH: Final = 14  # of any magic
_MAGIC_END: Final = 17
_USED_ATTRIBUTES: Final = 0x3F
_LAST_CODEC: Final = int(Codec.ZSTD)
_CODECS: Final = {"uncompressed": Codec.NONE, "gzip": Codec.GZIP, "snappy": Codec.SNAPPY, "lz4": Codec.LZ4, "zstd": Codec.ZSTD}

UNPACKED_MULTIPLE: Final = 64  # of max.message.bytes: what a batch may unpack to, ...
QUICK_UNPACKED_BYTES: Final = 1 << 18  # ... on the loop's thread, ...
QUICK_COMPRESSED_BYTES: Final = 1 << 14  # ... and what may be packed there
_STEPS_A_KILOBYTE: Final = 4  # of gzip, the slowest
_RECORD_ERRORS: Final = 1000  # at most told one by one
_UNLIMITED: Final = 1 << 62
_TWO_64: Final = 1 << 64

Writable = bytearray | memoryview
Checked: TypeAlias = tuple[BatchHeader, Writable]
Checking: TypeAlias = Generator[Callable[[], Any] | None, Any, Checked]


class RecordError(NamedTuple):
    """One refused record of a batch."""

    batch_index: int
    message: str


class InvalidRecordError(KafkaError):
    """INVALID_RECORD or INVALID_TIMESTAMP with what was wrong record by record."""

    def __init__(self, code: ErrorCode, message: str, record_errors: list[RecordError] | None = None) -> None:
        super().__init__(code, message)
        self.record_errors = record_errors or []


def unpacked_limit(config: LogConfig) -> int:
    """What the records of one batch may unpack to."""
    return max(config.max_message_bytes, min(UNPACKED_MULTIPLE * config.max_message_bytes, MAX_DECOMPRESSED_BYTES))


def validate(
    batch: Writable,
    config: LogConfig,
    topic_partition: TopicPartition,
    now_ms: int,
    *,
    client: bool,
    header: BatchHeader | None = None,
) -> Checked:
    """The header and the bytes to store (offset and epoch still to be assigned); a view of `batch`, patched in place, unless recompressed.

    `header`: the caller has read it from `batch` and vouches that it is of magic 2 and `batch` exactly as long as it says.
    Raises KafkaError with Kafka's code and message; InvalidRecordError names records.
    """
    steps = checking(batch, config, topic_partition, now_ms, Allowance(_UNLIMITED), client=client, header=header)
    try:
        job = next(steps)
        while True:
            job = _done_here(steps, job)
    except StopIteration as end:
        checked: Checked = end.value
        return checked


def _done_here(steps: Checking, job: Callable[[], Any] | None) -> Callable[[], Any] | None:
    try:
        made = job() if job is not None else None
    except (CompressionError, KafkaError) as error:
        return steps.throw(error)
    return steps.send(made)


def checking(
    batch: Writable,
    config: LogConfig,
    topic_partition: TopicPartition,
    now_ms: int,
    allowance: Allowance,
    *,
    client: bool,
    header: BatchHeader | None = None,
) -> Checking:
    """`validate` in steps: ends a turn with None, or with a call whose result it wants; `allowance` is what the turn has left."""
    view = batch
    if header is None:
        view = only_batch(batch)
        base_offset = _PREFIX.unpack_from(view)[0]
        header = parse_header(view) if len(view) >= HEADER_SIZE else None
    else:
        base_offset = header.base_offset
    if client and base_offset != 0:
        raise _invalid(f"The baseOffset of the record batch in the append to {topic_partition} should be 0, but it is {base_offset}")
    if len(view) > config.max_message_bytes:
        raise _too_large(len(view), config, topic_partition)
    if header is None:
        raise KafkaError(
            ErrorCode.CORRUPT_MESSAGE,
            f"Record batch is corrupt (the size {len(view)} is smaller than the minimum allowed overhead {HEADER_SIZE})",
        )
    allowance.left -= len(view) >> 14
    if crc32c(view[CRC_START:]) != header.crc:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"Record is corrupt (stored crc = {header.crc}) in topic partition {topic_partition}.")
    if client:
        _check_header(header, topic_partition)
        view = yield from _check_records(header, view, config, topic_partition, now_ms, allowance)
    if len(view) > config.max_segment_bytes:
        raise KafkaError(
            ErrorCode.RECORD_LIST_TOO_LARGE,
            f"Message batch size is {len(view)} bytes in append to partition {topic_partition}, "
            f"which exceeds the maximum configured segment size of {config.max_segment_bytes}.",
        )
    return header, view


def _invalid(message: str) -> InvalidRecordError:
    return InvalidRecordError(ErrorCode.INVALID_RECORD, message)


def only_batch(batch: Buffer) -> memoryview:
    """The one whole batch of magic 2; bytes of a cut one behind it are ignored (`ProduceRequest.validateRecords`). Raises KafkaError."""
    view = memoryview(batch)
    size = _whole_batch(view)
    if size == 0:
        raise _invalid("Produce requests are required to have exactly one record batch per partition")
    if view[16] != CURRENT_MAGIC:
        raise _invalid(f"Produce requests are only allowed to contain record batches with magic version {CURRENT_MAGIC}")
    if len(view) == size:
        return view
    if _whole_batch(view[size:]):
        raise _invalid("Produce requests are only allowed to contain exactly one record batch per partition")
    return view[:size]


def _whole_batch(view: memoryview) -> int:
    """Size of the batch at the front, 0 when it is cut. Raises KafkaError(CORRUPT_MESSAGE) for what can be no batch."""
    if len(view) < LOG_OVERHEAD:
        return 0
    length = int.from_bytes(view[8:12], "big", signed=True)
    if length < _SMALLEST_LENGTH:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"Record size {length} is less than the minimum record overhead ({_SMALLEST_LENGTH})")
    if len(view) < _MAGIC_END:
        return 0
    if view[16] > CURRENT_MAGIC:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"Invalid magic found in record: {view[16]}")
    size = length + LOG_OVERHEAD
    return size if size <= len(view) else 0


def _too_large(size: int, config: LogConfig, topic_partition: TopicPartition) -> KafkaError:
    return KafkaError(
        ErrorCode.MESSAGE_TOO_LARGE,
        f"The record batch size in the append to {topic_partition} is {size} bytes "
        f"which exceeds the maximum configured value of {config.max_message_bytes}.",
    )


def _check_header(header: BatchHeader, topic_partition: TopicPartition) -> None:
    count = header.records_count
    if header.last_offset_delta < 0:
        raise _invalid(f"Batch has an invalid offset range: [{header.base_offset}, {header.last_offset}] for partition {topic_partition}")
    if count <= 0:
        raise _invalid(f"Invalid reported count for record batch: {count} for partition {topic_partition}")
    if header.last_offset_delta + 1 != count:
        raise _invalid(
            f"Inconsistent batch offset range [{header.base_offset}, {header.last_offset}] and count of records {count} "
            f"for partition {topic_partition}"
        )
    if header.attributes & CONTROL_BIT:
        raise _invalid("Clients are not allowed to write control records")
    if header.producer_id >= 0 and header.base_sequence < 0:
        raise _invalid(
            f"Invalid sequence number {header.base_sequence} in record batch with producerId {header.producer_id} "
            f"for partition {topic_partition}"
        )
    if header.codec > _LAST_CODEC:
        raise _invalid(f"Unknown compression type id: {header.codec}")


def _check_records(
    header: BatchHeader, view: Writable, config: LogConfig, topic_partition: TopicPartition, now_ms: int, allowance: Allowance
) -> Generator[Callable[[], Any] | None, Any, Writable]:
    """The bytes to store: every record looked at, stamped, corrected or recompressed."""
    payload: Buffer = memoryview(view)[HEADER_SIZE:]
    refusal: KafkaError | None = None
    try:
        if header.codec:
            payload = yield from _unpack(header.codec, payload, unpacked_limit(config), allowance)
        walk = RecordWalk(payload, header.records_count)
        while not walk.run(allowance):
            yield None
            allowance.refill()
    except ValueError as error:
        refusal = _refusal(error, topic_partition)
    if refusal is not None:
        raise refusal  # without a trace to what was unpacked, which the caller may keep
    largest, smallest = _timestamps(header, walk)
    append_time = config.log_append_time
    early, late = now_ms - config.message_timestamp_before_max_ms, now_ms + config.message_timestamp_after_max_ms
    if (config.compact and walk.keyless >= 0) or (not append_time and (largest > late or smallest < early)):
        check = partial(_check_each, header, payload, config, topic_partition, now_ms)
        if header.records_count > allowance.left:
            yield check
            allowance.refill()
        else:
            check()
    if append_time and header.is_log_append_time:
        raise InvalidRecordError(
            ErrorCode.INVALID_TIMESTAMP,
            f"Invalid timestamp type in message to {topic_partition}. Producer should not set timestamp type to LogAppendTime.",
        )
    codec = _CODECS.get(config.compression_type, header.codec) if config.compression_type != "producer" else header.codec
    if header.codec and walk.misplaced >= 0:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"record {walk.misplaced} of a compressed batch has another offset")
    if codec != header.codec:
        view = yield from _recompress(header, view, payload, codec, config, topic_partition)
    if append_time:
        _stamp(header, view, TIMESTAMP_TYPE_BIT, now_ms)
    elif largest != header.max_timestamp or header.attributes & TIMESTAMP_TYPE_BIT:
        _stamp(header, view, 0, largest)
    return view


def _refusal(error: ValueError, topic_partition: TopicPartition) -> KafkaError:
    if isinstance(error, CorruptRecords):
        return _invalid(f"Found invalid records in batch for partition {topic_partition}: {error}")
    if isinstance(error, UnpacksTooLarge):
        return KafkaError(ErrorCode.MESSAGE_TOO_LARGE, f"The record batch in the append to {topic_partition} {error}.")
    if isinstance(error, CompressionError):
        return KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"Failed to decompress record stream: {error}")
    raise error


def _unpack(codec: int, data: Buffer, limit: int, allowance: Allowance) -> Generator[Callable[[], Any] | None, Any, Buffer]:
    """The records, unpacked here when they are few. Raises CompressionError."""
    if allowance.left <= 0:
        yield None
        allowance.refill()
    quick = min(limit, QUICK_UNPACKED_BYTES)
    if len(data) <= quick:
        try:
            payload = decompress(codec, data, quick)
        except UnpacksTooLarge:
            allowance.left -= _STEPS_A_KILOBYTE * quick >> 10
        else:
            allowance.left -= _STEPS_A_KILOBYTE * len(payload) >> 10
            return payload
    unpacked: Buffer = yield partial(decompress, codec, data, limit)
    allowance.refill()
    return unpacked


def _timestamps(header: BatchHeader, walk: RecordWalk) -> tuple[int, int]:
    """The largest and smallest timestamp of the records, both at least -1."""
    if header.is_log_append_time:
        return header.max_timestamp, header.max_timestamp
    largest, smallest = ((header.base_timestamp + delta + _TWO_64 // 2) % _TWO_64 - _TWO_64 // 2 for delta in (walk.largest, walk.smallest))
    return max(-1, largest), smallest


def _check_each(header: BatchHeader, payload: Buffer, config: LogConfig, topic_partition: TopicPartition, now_ms: int) -> None:
    """Raises InvalidRecordError that names the records at fault."""
    earliest, latest = now_ms - config.message_timestamp_before_max_ms, now_ms + config.message_timestamp_after_max_ms
    errors: list[RecordError] = []
    bad_timestamp = False
    count = 0
    for index, record in enumerate(iter_unpacked(header, payload)):
        if config.compact and record.key is None:
            error = f"Compacted topic cannot accept message without key in topic partition {topic_partition}."
        elif not config.log_append_time and record.timestamp >= 0 and not earliest <= record.timestamp <= latest:
            bad_timestamp = True
            error = (
                f"Timestamp {record.timestamp} of message with offset {record.offset} is out of range. "
                f"The timestamp should be within [{earliest}, {latest}]"
            )
        else:
            continue
        count += 1
        if count <= _RECORD_ERRORS:
            errors.append(RecordError(index, error))
    if bad_timestamp:
        raise InvalidRecordError(ErrorCode.INVALID_TIMESTAMP, "One or more records have been rejected due to invalid timestamp", errors)
    if errors:
        shown = ", ".join(f"RecordError(batchIndex={e.batch_index}, message='{e.message}')" for e in errors[:3])
        raise InvalidRecordError(
            ErrorCode.INVALID_RECORD,
            f"One or more records have been rejected due to {count} record errors in total, "
            f"and only showing the first three errors at most: [{shown}]",
            errors,
        )


def _stamp(header: BatchHeader, view: Writable, timestamp_type: int, max_timestamp: int) -> None:
    """Write timestamp type and maxTimestamp; unused attribute bits are cleared, as `DefaultRecordBatch.setMaxTimestamp` does."""
    header.attributes = header.attributes & _USED_ATTRIBUTES & ~TIMESTAMP_TYPE_BIT | timestamp_type
    header.max_timestamp = max_timestamp
    _ATTRIBUTES.pack_into(view, 21, header.attributes)
    _TIMESTAMP.pack_into(view, 35, max_timestamp)
    rewrite_crc(view)


def _recompress(
    header: BatchHeader, view: Writable, payload: Buffer, codec: int, config: LogConfig, topic_partition: TopicPartition
) -> Generator[Callable[[], Any] | None, Any, bytearray]:
    """The same records by another codec; header fields, offsets and sequence are kept."""
    packed: Buffer = payload
    if codec:
        pack = partial(compress, codec, payload, _level(codec, config))
        packed = pack() if len(payload) <= QUICK_COMPRESSED_BYTES else (yield pack)
    if HEADER_SIZE + len(packed) > config.max_message_bytes:
        raise _too_large(HEADER_SIZE + len(packed), config, topic_partition)
    rebuilt = bytearray(view[:HEADER_SIZE])
    rebuilt += packed
    header.batch_length = len(rebuilt) - LOG_OVERHEAD
    header.attributes = header.attributes & ~CODEC_MASK | codec
    rebuilt[8:12] = header.batch_length.to_bytes(4, "big")
    _ATTRIBUTES.pack_into(rebuilt, 21, header.attributes)
    rewrite_crc(rebuilt)
    return rebuilt


def _level(codec: int, config: LogConfig) -> int | None:
    levels = {Codec.GZIP: config.compression_gzip_level, Codec.LZ4: config.compression_lz4_level, Codec.ZSTD: config.compression_zstd_level}
    level = levels.get(Codec(codec))
    return None if codec == Codec.GZIP and level == -1 else level
