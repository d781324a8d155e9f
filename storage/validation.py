"""What a produced batch must be, in Kafka's order, and what the broker rewrites in it
(`UnifiedLog.analyzeAndValidateRecords`, `LogValidator`).

Records are not walked when the header can stand in for them: its maxTimestamp for the upper timestamp bound. They are walked in batches
of up to `log.validated.records` records, for compacted topics, for a lower timestamp bound, for recompression, and to say which record
is at fault. A walk also corrects a wrong maxTimestamp in the header.
"""

from __future__ import annotations

from struct import Struct
from typing import Final

from oncelog.protocol.compression import Codec, compress, decompress
from oncelog.protocol.config_def import LONG_MAX
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.names import TopicPartition
from oncelog.protocol.primitives import Buffer, crc32c
from oncelog.protocol.records import (
    CODEC_MASK,
    CONTROL_BIT,
    CRC_START,
    CURRENT_MAGIC,
    HEADER_SIZE,
    LOG_OVERHEAD,
    TIMESTAMP_TYPE_BIT,
    BatchHeader,
    Record,
    iter_records,
    largest_timestamp,
    parse_header,
    rewrite_crc,
)
from oncelog.storage.append import InvalidRecordError, RecordError
from oncelog.storage.config import LogConfig

_PREFIX = Struct(">qii")
_ATTRIBUTES = Struct(">h")
_TIMESTAMP = Struct(">q")
_SMALLEST_LENGTH: Final = 14  # of any magic
_MAGIC_END: Final = 17
_USED_ATTRIBUTES: Final = 0x3F
_LAST_CODEC: Final = int(Codec.ZSTD)
_CODECS: Final = {"uncompressed": Codec.NONE, "gzip": Codec.GZIP, "snappy": Codec.SNAPPY, "lz4": Codec.LZ4, "zstd": Codec.ZSTD}

Writable = bytearray | memoryview


def validate(
    batch: Writable, config: LogConfig, topic_partition: TopicPartition, now_ms: int, *, client: bool, header: BatchHeader | None = None
) -> tuple[BatchHeader, Writable]:
    """The header and the bytes to store (offset and epoch still to be assigned); a view of `batch`, patched in place, unless recompressed.

    `header`: the caller has read it from `batch` and vouches that it is of magic 2 and `batch` exactly as long as it says.
    Raises KafkaError with Kafka's code and message; InvalidRecordError names records.
    """
    view = batch
    if header is None:
        view = _only_batch(batch)
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
    if crc32c(view[CRC_START:]) != header.crc:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"Record is corrupt (stored crc = {header.crc}) in topic partition {topic_partition}.")
    if client:
        _check_header(header, topic_partition)
        view = _check_records(header, view, config, topic_partition, now_ms)
    if len(view) > config.max_segment_bytes:
        raise KafkaError(
            ErrorCode.RECORD_LIST_TOO_LARGE,
            f"Message batch size is {len(view)} bytes in append to partition {topic_partition}, "
            f"which exceeds the maximum configured segment size of {config.max_segment_bytes}.",
        )
    return header, view


def _invalid(message: str) -> InvalidRecordError:
    return InvalidRecordError(ErrorCode.INVALID_RECORD, message)


def _only_batch(batch: Buffer) -> memoryview:
    """The one whole batch; bytes of a cut batch behind it are ignored (`ProduceRequest.validateRecords`)."""
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


def _check_records(header: BatchHeader, view: Writable, config: LogConfig, topic_partition: TopicPartition, now_ms: int) -> Writable:
    """The bytes to store: walked where a rule asks for it, stamped, corrected or recompressed."""
    codec = _CODECS.get(config.compression_type, header.codec) if config.compression_type != "producer" else header.codec
    append_time = config.log_append_time
    latest = now_ms + config.message_timestamp_after_max_ms
    largest = header.max_timestamp
    if (
        config.compact
        or codec != header.codec
        or (not append_time and (largest > latest or config.message_timestamp_before_max_ms != LONG_MAX))
    ):
        records = _walk(view, topic_partition)
        _check_each(records, header, config, topic_partition, now_ms)
        largest = max(-1, max(record.timestamp for record in records))
    elif header.records_count <= config.validated_records:
        largest = _largest_timestamp(view, header, topic_partition)
        if largest > latest and not append_time:
            _check_each(_walk(view, topic_partition), header, config, topic_partition, now_ms)
    if append_time and header.is_log_append_time:
        raise InvalidRecordError(
            ErrorCode.INVALID_TIMESTAMP,
            f"Invalid timestamp type in message to {topic_partition}. Producer should not set timestamp type to LogAppendTime.",
        )
    if codec != header.codec:
        view = _recompress(header, view, codec, config)
        if len(view) > config.max_message_bytes:
            raise _too_large(len(view), config, topic_partition)
    if append_time:
        _stamp(header, view, TIMESTAMP_TYPE_BIT, now_ms)
    elif largest != header.max_timestamp or header.attributes & TIMESTAMP_TYPE_BIT:
        _stamp(header, view, 0, largest)
    return view


def _largest_timestamp(view: Writable, header: BatchHeader, topic_partition: TopicPartition) -> int:
    try:
        return max(-1, largest_timestamp(view, header))
    except ValueError as error:  # CorruptBatch, and what a codec raises
        raise _invalid(f"Found invalid records in batch for partition {topic_partition}: {error}") from error


def _walk(view: Writable, topic_partition: TopicPartition) -> list[Record]:
    try:
        return list(iter_records(view))
    except ValueError as error:  # CorruptBatch, and what a codec raises
        raise _invalid(f"Found invalid records in batch for partition {topic_partition}: {error}") from error


def _check_each(records: list[Record], header: BatchHeader, config: LogConfig, topic_partition: TopicPartition, now_ms: int) -> None:
    earliest, latest = now_ms - config.message_timestamp_before_max_ms, now_ms + config.message_timestamp_after_max_ms
    errors: list[RecordError] = []
    bad_timestamp = False
    for index, record in enumerate(records):
        if config.compact and record.key is None:
            errors.append(RecordError(index, f"Compacted topic cannot accept message without key in topic partition {topic_partition}."))
        elif not config.log_append_time and record.timestamp >= 0 and not earliest <= record.timestamp <= latest:
            bad_timestamp = True
            errors.append(
                RecordError(
                    index,
                    f"Timestamp {record.timestamp} of message with offset {record.offset} is out of range. "
                    f"The timestamp should be within [{earliest}, {latest}]",
                )
            )
    if bad_timestamp:
        raise InvalidRecordError(ErrorCode.INVALID_TIMESTAMP, "One or more records have been rejected due to invalid timestamp", errors)
    if errors:
        shown = ", ".join(f"RecordError(batchIndex={e.batch_index}, message='{e.message}')" for e in errors[:3])
        raise InvalidRecordError(
            ErrorCode.INVALID_RECORD,
            f"One or more records have been rejected due to {len(errors)} record errors in total, "
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


def _recompress(header: BatchHeader, view: Writable, codec: int, config: LogConfig) -> bytearray:
    """The same records by another codec; header fields, offsets and sequence are kept."""
    payload: Buffer = memoryview(view)[HEADER_SIZE:]
    if header.codec:
        payload = decompress(header.codec, payload)
    packed = compress(codec, payload, _level(codec, config)) if codec else payload
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
