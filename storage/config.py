"""Configs of one log: Kafka's topic configs with their broker-wide defaults (`LogConfig`, `ServerLogConfigs`)."""

from __future__ import annotations

from oncelog.protocol.config_def import BOOLEAN, DOUBLE, INT, LIST, LONG, LONG_MAX, STRING, config_class, option

_DAY_MS = 86_400_000


@config_class
class LogConfig:
    """Immutable; a topic's config is the broker's with the topic's overrides laid over it."""

    segment_bytes: int = option(
        "log.segment.bytes",
        INT,
        1 << 30,
        "The maximum size of a single log file.",
        topic="segment.bytes",
        at_least=1 << 20,
        dynamic=True,
    )
    internal_segment_bytes: int | None = option(
        "internal.log.segment.bytes",
        INT,
        None,
        "The maximum size of a single log file, for tests: overrides segment.bytes and may be smaller than its minimum.",
        topic="internal.segment.bytes",
        at_least=14,
    )
    segment_ms: int = option(
        "log.roll.ms",
        LONG,
        7 * _DAY_MS,
        "The maximum time before a new log segment is rolled out (in milliseconds), by record time and only on append.",
        topic="segment.ms",
        at_least=1,
        dynamic=True,
    )
    segment_jitter_ms: int = option(
        "log.roll.jitter.ms",
        LONG,
        0,
        "The maximum jitter to subtract from segment.ms (in milliseconds).",
        topic="segment.jitter.ms",
        at_least=0,
        dynamic=True,
    )
    segment_index_bytes: int = option(
        "log.index.size.max.bytes",
        INT,
        10 << 20,
        "The maximum size in bytes of the offset index; a full index rolls the segment.",
        topic="segment.index.bytes",
        at_least=4,
        dynamic=True,
    )
    index_interval_bytes: int = option(
        "log.index.interval.bytes",
        INT,
        4096,
        "The interval with which we add an entry to the offset index.",
        topic="index.interval.bytes",
        at_least=0,
        dynamic=True,
    )
    retention_ms: int = option(
        "log.retention.ms",
        LONG,
        7 * _DAY_MS,
        "The number of milliseconds to keep a log file before deleting it; -1 for no limit.",
        topic="retention.ms",
        at_least=-1,
        dynamic=True,
    )
    retention_bytes: int = option(
        "log.retention.bytes",
        LONG,
        -1,
        "The maximum size of the log before deleting it; -1 for no limit.",
        topic="retention.bytes",
        dynamic=True,
    )
    file_delete_delay_ms: int = option(
        "log.segment.delete.delay.ms",
        LONG,
        60_000,
        "The amount of time to wait before deleting a file from the filesystem.",
        topic="file.delete.delay.ms",
        at_least=0,
        dynamic=True,
    )
    cleanup_policy: tuple[str, ...] = option(
        "log.cleanup.policy",
        LIST,
        ("delete",),
        "The cleanup policy for segments beyond the retention window: delete, compact or both.",
        topic="cleanup.policy",
        one_of=("compact", "delete"),
        dynamic=True,
    )
    delete_retention_ms: int = option(
        "log.cleaner.delete.retention.ms",
        LONG,
        _DAY_MS,
        "The amount of time to retain tombstones and transaction markers in compacted topics.",
        topic="delete.retention.ms",
        at_least=0,
        dynamic=True,
    )
    min_compaction_lag_ms: int = option(
        "log.cleaner.min.compaction.lag.ms",
        LONG,
        0,
        "The minimum time a message will remain uncompacted in the log.",
        topic="min.compaction.lag.ms",
        at_least=0,
        dynamic=True,
    )
    max_compaction_lag_ms: int = option(
        "log.cleaner.max.compaction.lag.ms",
        LONG,
        LONG_MAX,
        "The maximum time a message will remain ineligible for compaction in the log.",
        topic="max.compaction.lag.ms",
        at_least=1,
        dynamic=True,
    )
    min_cleanable_dirty_ratio: float = option(
        "log.cleaner.min.cleanable.ratio",
        DOUBLE,
        0.5,
        "The minimum ratio of dirty log to total log for a log to be eligible for cleaning.",
        topic="min.cleanable.dirty.ratio",
        at_least=0,
        at_most=1,
        dynamic=True,
    )
    max_message_bytes: int = option(
        "message.max.bytes",
        INT,
        1_048_588,
        "The largest record batch size allowed (after compression if compression is enabled).",
        topic="max.message.bytes",
        at_least=0,
        dynamic=True,
    )
    compression_type: str = option(
        "compression.type",
        STRING,
        "producer",
        "The final compression type of a topic; `producer` keeps what the producer chose.",
        topic="compression.type",
        one_of=("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
        dynamic=True,
    )
    compression_gzip_level: int = option(
        "compression.gzip.level",
        INT,
        -1,
        "The compression level to use if compression.type is set to gzip.",
        topic="compression.gzip.level",
        validate=lambda level: None if level == -1 or 1 <= level <= 9 else "Value must be between 1 and 9 or equal to -1",
        dynamic=True,
    )
    compression_lz4_level: int = option(
        "compression.lz4.level",
        INT,
        9,
        "The compression level to use if compression.type is set to lz4.",
        topic="compression.lz4.level",
        at_least=1,
        at_most=17,
        dynamic=True,
    )
    compression_zstd_level: int = option(
        "compression.zstd.level",
        INT,
        3,
        "The compression level to use if compression.type is set to zstd.",
        topic="compression.zstd.level",
        at_least=-131_072,
        at_most=22,
        dynamic=True,
    )
    message_timestamp_type: str = option(
        "log.message.timestamp.type",
        STRING,
        "CreateTime",
        "Whether the timestamp in the message is message create time or log append time.",
        topic="message.timestamp.type",
        one_of=("CreateTime", "LogAppendTime"),
        dynamic=True,
    )
    message_timestamp_before_max_ms: int = option(
        "log.message.timestamp.before.max.ms",
        LONG,
        LONG_MAX,
        "How much earlier than the broker's time a record's timestamp may be.",
        topic="message.timestamp.before.max.ms",
        at_least=0,
        dynamic=True,
    )
    message_timestamp_after_max_ms: int = option(
        "log.message.timestamp.after.max.ms",
        LONG,
        3_600_000,
        "How much later than the broker's time a record's timestamp may be.",
        topic="message.timestamp.after.max.ms",
        at_least=0,
        dynamic=True,
    )
    flush_messages: int = option(
        "log.flush.interval.messages",
        LONG,
        LONG_MAX,
        "The number of messages accumulated on a log partition before they are flushed to disk.",
        topic="flush.messages",
        at_least=1,
        dynamic=True,
    )
    flush_ms: int = option(
        "log.flush.interval.ms",
        LONG,
        LONG_MAX,
        "The maximum time in ms that a message is kept in memory before it is flushed to disk.",
        topic="flush.ms",
        at_least=0,
        dynamic=True,
    )
    preallocate: bool = option(
        "log.preallocate",
        BOOLEAN,
        False,
        "Accepted; space is always reserved ahead of the writer, without a longer file.",
        topic="preallocate",
        dynamic=True,
    )
    min_insync_replicas: int = option(
        "min.insync.replicas",
        INT,
        1,
        "Accepted; there is one replica, which must acknowledge in any case.",
        topic="min.insync.replicas",
        at_least=1,
        dynamic=True,
    )
    unclean_leader_election_enable: bool = option(
        "unclean.leader.election.enable",
        BOOLEAN,
        False,
        "Accepted; there is one replica, which is always in sync.",
        topic="unclean.leader.election.enable",
        dynamic=True,
    )
    flush_on_ack: bool = option(
        "log.flush.on.ack",
        BOOLEAN,
        True,
        "Acknowledge (acks=1 as well as acks=all) after fdatasync (group commit); false does it from the page cache, as Kafka.",
        topic="flush.on.ack",
        ours=True,
    )
    journal_bytes: int = option(
        "oncelog.journal.bytes",
        INT,
        0,
        "Size of the journal, where one fdatasync covers small batches of many partitions; tried with 67108864. 0: none, every log is "
        "synced on its own.",
        at_least=0,
        ours=True,
    )
    retention_check_interval_ms: int = option(
        "log.retention.check.interval.ms",
        LONG,
        300_000,
        "How often, in ms, the broker looks for segments to delete or to compact.",
        at_least=1,
    )
    producer_id_expiration_ms: int = option(
        "producer.id.expiration.ms",
        INT,
        _DAY_MS,
        "The time in ms that the state of a producer id without an open transaction is kept after its last batch arrived.",
        at_least=1,
        dynamic=True,
    )

    @property
    def max_segment_bytes(self) -> int:
        """Size at which a segment is rolled."""
        return self.internal_segment_bytes if self.internal_segment_bytes is not None else self.segment_bytes

    @property
    def max_segment_ms(self) -> int:
        """A compacted log rolls early enough for max.compaction.lag.ms."""
        return min(self.segment_ms, self.max_compaction_lag_ms) if self.compact else self.segment_ms

    @property
    def compact(self) -> bool:
        return "compact" in self.cleanup_policy

    @property
    def delete(self) -> bool:
        return "delete" in self.cleanup_policy

    @property
    def log_append_time(self) -> bool:
        return self.message_timestamp_type == "LogAppendTime"
