"""The append of what the broker itself writes: records of a coordinator, and markers.

Nobody has to look at such a batch again, and offset and leader epoch are in it from the beginning. Where the active segment takes it
without ado it goes there in a straight line. Anything else (the first batch of a segment, one that does not fit, a log that is offline) is
left to `Log.append_own`, which finds the words.
"""

from __future__ import annotations

from typing import Protocol

from oncelog.protocol.control_records import marker_record
from oncelog.protocol.errors import KafkaError
from oncelog.protocol.records import CONTROL_BIT, HEADER_SIZE, TRANSACTIONAL_BIT, batch_at
from oncelog.storage.config import LogConfig
from oncelog.storage.files.leader_epochs import LeaderEpochs
from oncelog.storage.log.rolling import room_of
from oncelog.storage.log.segment import MAX_RELATIVE_OFFSET, Segment
from oncelog.storage.log.segments import Segments

_MARKER = TRANSACTIONAL_BIT | CONTROL_BIT


class AppendedLog(Protocol):
    """What is needed of the log that is appended to."""

    config: LogConfig
    segments: Segments
    epochs: LeaderEpochs
    leader_epoch: int
    log_end_offset: int
    jitter_ms: int
    offline: str | None

    def append_own(self, batch: bytes, now_ms: int, *, of_any_size: bool) -> None:
        """Write `batch` at the log end. Raises KafkaError."""

    def appended(self) -> None: ...

    def write_failed(self, error: OSError) -> KafkaError: ...


class OwnAppends:
    """Those of one log. What the settings and the active segment allow is looked up once for both."""

    __slots__ = ("_config", "_full_at", "_largest_bytes", "_limit_bytes", "_log", "_newest", "_segment")

    def __init__(self, log: AppendedLog) -> None:
        self._log = log
        self._config: LogConfig | None = None
        self._segment: Segment | None = None
        self._largest_bytes = 0  # of a batch
        self._limit_bytes = 0  # of a segment
        self._full_at = 0  # bytes of the segment, from which on it may have to be rolled
        self._newest = 0  # likewise, of a batch's timestamp

    def records(self, count: int, records: bytes, now_ms: int, base_sequence: int) -> int:
        """Append `count` records of a coordinator, as they stand in a batch; their base offset. Raises KafkaError."""
        log = self._log
        base = log.log_end_offset
        batch = batch_at(base, log.leader_epoch, now_ms, count, records, 0, -1, -1, base_sequence)
        if not self._write(batch, base + count - 1, now_ms):
            log.append_own(batch, now_ms, of_any_size=False)
        log.appended()
        return base

    def marker(self, producer_id: int, producer_epoch: int, coordinator_epoch: int, commit: bool, now_ms: int) -> int:
        """Append a marker, which may be there; its offset. Whoever waits for it is not told yet. Raises KafkaError."""
        log = self._log
        base = log.log_end_offset
        record = marker_record(commit, coordinator_epoch)
        batch = batch_at(base, log.leader_epoch, now_ms, 1, record, _MARKER, producer_id, producer_epoch)
        if not self._write(batch, base, now_ms):
            log.append_own(batch, now_ms, of_any_size=True)
        return base

    def _write(self, batch: bytes, last_offset: int, now_ms: int) -> bool:
        """False: nothing was done. Raises KafkaError."""
        log, size = self._log, len(batch)
        segment = log.segments.active
        if log.offline is not None or not ((log.config is self._config and segment is self._segment) or self._look()):
            return False
        if (
            size > self._largest_bytes
            or segment.size + size > self._full_at
            or not 0 <= now_ms <= self._newest
            or last_offset - segment.base_offset > MAX_RELATIVE_OFFSET
        ):
            return False
        try:
            segment.append(batch, last_offset, now_ms, self._limit_bytes)
        except OSError as error:
            raise log.write_failed(error) from error
        log.log_end_offset = last_offset + 1
        return True

    def _look(self) -> bool:
        """Whether the active segment is one that was begun."""
        log = self._log
        config, segment = log.config, log.segments.active
        self._config = self._segment = None
        try:
            if segment.size < HEADER_SIZE or segment.first_timestamp < 0 or log.leader_epoch > log.epochs.latest:
                return False
        except OSError:
            return False
        self._config, self._segment = config, segment
        self._limit_bytes = config.max_segment_bytes
        self._largest_bytes = min(config.max_message_bytes, self._limit_bytes)
        self._full_at, self._newest = room_of(segment, config, log.jitter_ms)
        return True
