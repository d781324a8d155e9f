"""What a log follows from its configs, and that a topic's own lie over the broker's."""

from __future__ import annotations

import pytest
from oncelog.protocol.config_def import options_of, parse_config
from oncelog.protocol.errors import KafkaError
from oncelog.storage.config import LogConfig


@pytest.mark.parametrize(
    ("config", "size"),
    [(LogConfig(), 1 << 30), (LogConfig(segment_bytes=5), 5), (LogConfig(segment_bytes=5, internal_segment_bytes=14), 14)],
)
def test_the_size_at_which_a_segment_is_rolled(config: LogConfig, size: int) -> None:
    assert config.max_segment_bytes == size


@pytest.mark.parametrize(
    ("policy", "lag_ms", "age_ms"),
    [(("delete",), 10, 1_000), (("compact",), 10, 10), (("compact", "delete"), 10, 10), (("compact",), 2_000, 1_000)],
)
def test_a_compacted_log_rolls_in_time_for_its_lag(policy: tuple[str, ...], lag_ms: int, age_ms: int) -> None:
    assert LogConfig(segment_ms=1_000, max_compaction_lag_ms=lag_ms, cleanup_policy=policy).max_segment_ms == age_ms


@pytest.mark.parametrize(
    ("policy", "compact", "delete"),
    [((), False, False), (("delete",), False, True), (("compact",), True, False), (("delete", "compact"), True, True)],
)
def test_policies(policy: tuple[str, ...], compact: bool, delete: bool) -> None:
    config = LogConfig(cleanup_policy=policy)
    assert (config.compact, config.delete) == (compact, delete)


def test_whose_time_counts() -> None:
    assert LogConfig(message_timestamp_type="LogAppendTime").log_append_time
    assert not LogConfig().log_append_time


def test_a_topics_configs_lie_over_the_brokers() -> None:
    broker = parse_config(LogConfig, {"log.retention.ms": "5", "log.segment.bytes": "2000000", "retention.ms": "7"})
    topic = parse_config(LogConfig, {"retention.ms": "9", "log.segment.bytes": "3000000"}, topic_level=True, base=broker)
    assert (broker.retention_ms, broker.segment_bytes) == (5, 2_000_000)
    assert (topic.retention_ms, topic.segment_bytes) == (9, 2_000_000)


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("compression.gzip.level", ("-1", "1", "9"), ("0", "10", "-2")),
        ("compression.lz4.level", ("1", "17"), ("0", "18")),
        ("compression.zstd.level", ("-131072", "22"), ("-131073", "23")),
        ("segment.bytes", (str(1 << 20),), (str((1 << 20) - 1), str(1 << 31))),
        ("min.cleanable.dirty.ratio", ("0", "1"), ("-0.1", "1.1")),
        ("cleanup.policy", ("compact", "delete,compact"), ("keep", "delete,keep")),
        ("compression.type", ("zstd", "producer"), ("none", "lzma")),
        ("message.timestamp.type", ("CreateTime",), ("createtime",)),
        ("retention.ms", ("-1", "0"), ("-2", "1_000")),
    ],
)
def test_bounds(name: str, good: tuple[str, ...], bad: tuple[str, ...]) -> None:
    for text in good:
        parse_config(LogConfig, {name: text}, topic_level=True)
    for text in bad:
        with pytest.raises(KafkaError, match=f"for configuration {name}: "):
            parse_config(LogConfig, {name: text}, topic_level=True)


def test_every_default_is_one_that_could_be_set() -> None:
    for option in options_of(LogConfig).values():
        text = option.format(option.default)
        assert text is None or option.parse(text) == option.default, option.kafka_name


def test_no_name_stands_for_two_options() -> None:
    options = options_of(LogConfig).values()
    for names in ([one.kafka_name for one in options], [one.topic_name for one in options if one.topic_name]):
        assert len(names) == len(set(names))
