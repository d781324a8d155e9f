"""What of a log is to be cleaned, and when."""

from __future__ import annotations

from oncelog.protocol.config_def import parse_config
from oncelog.storage.config import LogConfig
from oncelog.storage.upkeep.compaction.choice import cleanable_range
from support.compacted_log import T0, FakeLog


def test_what_is_cleanable(log: FakeLog) -> None:
    assert cleanable_range(log, None, T0) is None
    log.write([("a", "1")], time=T0)
    log.roll()
    dirty = cleanable_range(log, None, T0)
    assert dirty is not None
    assert dirty == (0, 1, 1.0, False)
    assert cleanable_range(log, 1, T0) is None
    assert cleanable_range(log, 99, T0) == dirty  # a checkpoint beyond the end counts as absent
    log.config = parse_config(LogConfig, {"log.cleanup.policy": "compact", "log.cleaner.min.compaction.lag.ms": "1000"})
    assert cleanable_range(log, None, T0 + 999) is None
    assert cleanable_range(log, None, T0 + 1000) == dirty
    log.config = parse_config(LogConfig, {"log.cleanup.policy": "compact", "log.cleaner.max.compaction.lag.ms": "1000"})
    late = cleanable_range(log, None, T0 + 1001)
    assert late is not None
    assert late.must
    log.config = parse_config(LogConfig, {"log.cleanup.policy": "delete"})
    assert cleanable_range(log, None, T0) is None
