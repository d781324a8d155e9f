"""The append of a plain batch in one straight line: what nearly all small producers send, at a third of what `Log.append` costs.

Plain is a batch that needs neither a second look nor a change: whole, not compressed, with the timestamps its header says, in sequence,
for the segment that is being written. Where it begins a transaction the coordinator is asked. Every check of `validation`,
`producer_checks` and `rolling` is made, but only the verdict "yes" is given here: for anything else nothing is done, and `Log.append`
decides and finds the words.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Protocol

from oncelog.protocol.crc import crc32c
from oncelog.protocol.errors import KafkaError
from oncelog.protocol.primitives import INT32_MAX
from oncelog.protocol.record_walk import UNKNOWN, WITH_KEY, WITHOUT_KEY, Allowance, CorruptRecords, RecordWalk, lone_record
from oncelog.protocol.records import CRC_START, CURRENT_MAGIC, HEADER_SIZE, LOG_OVERHEAD, TRANSACTIONAL_BIT, unpack_header
from oncelog.storage.config import LogConfig
from oncelog.storage.files.leader_epochs import LeaderEpochs
from oncelog.storage.log.producer_checks import continues, continues_transaction
from oncelog.storage.log.producer_state import ProducerState
from oncelog.storage.log.rolling import room_of
from oncelog.storage.log.segment import MAX_RELATIVE_OFFSET, Segment
from oncelog.storage.log.segments import Segments

NOT_PLAIN = -1
MOST_RECORDS = 4000  # of a batch: no turn of the loop is too short for them

_pack_assigned = Struct(">qii").pack_into  # base offset, batch length, leader epoch


class AppendedLog(Protocol):
    """What is needed of the log that is appended to."""

    config: LogConfig
    segments: Segments
    state: ProducerState
    epochs: LeaderEpochs
    leader_epoch: int
    log_end_offset: int
    jitter_ms: int
    offline: str | None

    def appended(self) -> None: ...

    def write_failed(self, error: OSError) -> KafkaError: ...


class PlainAppends:
    """Those of one log. What the settings and the active segment allow is looked up once for both."""

    __slots__ = ("_config", "_full_at", "_keys", "_largest_bytes", "_log", "_newest", "_segment")

    def __init__(self, log: AppendedLog) -> None:
        self._log = log
        self._config: LogConfig | None = None
        self._segment: Segment | None = None
        self._keys = WITHOUT_KEY  # what a record must have at least
        self._largest_bytes = 0  # of a batch
        self._full_at = 0  # bytes of the segment, from which on it may have to be rolled
        self._newest = 0  # likewise, of a batch's timestamp

    def append(self, batch: memoryview, now_ms: int, may_begin: Callable[[int, int], bool] | None = None) -> int:
        """Append `batch`, which may be written to, and give its base offset; NOT_PLAIN: nothing was done. About 4 µs for one record.

        `may_begin`: whether the coordinator knows of a transaction of that producer id and epoch on this partition, asked when nothing else
        is against the batch; without it no transactional batch is plain. Raises KafkaError(56) when the disk fails.
        """
        log, size = self._log, len(batch)
        config, segment = log.config, log.segments.active
        if log.offline is not None or size < HEADER_SIZE or not ((config is self._config and segment is self._segment) or self._look()):
            return NOT_PLAIN
        base, length, _, magic, crc, attributes, delta, first, newest, producer_id, epoch, sequence, count = unpack_header(batch, 0)
        position = segment.size
        if (
            base
            or (attributes and (attributes != TRANSACTIONAL_BIT or may_begin is None or producer_id < 0))
            or length != size - LOG_OVERHEAD
            or magic != CURRENT_MAGIC
            or not 0 < count <= MOST_RECORDS
            or delta != count - 1
            or size > self._largest_bytes
            or position + size > self._full_at
            or not 0 <= newest <= self._newest
            or newest > now_ms + config.message_timestamp_after_max_ms
            or crc32c(batch[CRC_START:]) != crc
        ):
            return NOT_PLAIN
        oldest = now_ms - config.message_timestamp_before_max_ms
        keys = lone_record(batch, HEADER_SIZE, size) if count == 1 and first == newest >= oldest else UNKNOWN
        if keys < self._keys and (keys != UNKNOWN or not self._are_plain(batch[HEADER_SIZE:], count, first, newest, oldest)):
            return NOT_PLAIN
        state = log.state
        base = log.log_end_offset
        last = base + delta
        if last - segment.base_offset > MAX_RELATIVE_OFFSET:
            return NOT_PLAIN
        if attributes:
            goes_on = continues_transaction(state.packed(producer_id), epoch, sequence)
            if goes_on is None or not (goes_on or may_begin is None or may_begin(producer_id, epoch)):
                return NOT_PLAIN
        elif producer_id >= 0 and not continues(state.packed(producer_id), epoch, sequence):
            return NOT_PLAIN
        _pack_assigned(batch, 0, base, length, log.leader_epoch)
        try:
            segment.append(batch, last, newest, config.max_segment_bytes)
        except OSError as error:
            raise log.write_failed(error) from error
        log.log_end_offset = last + 1
        if attributes:
            state.append(producer_id, epoch, base, delta, (sequence + delta) & INT32_MAX, newest, now_ms, attributes)
        elif producer_id >= 0:
            state.append_next(producer_id, (sequence + delta) & INT32_MAX, delta, last, newest, now_ms)
        log.appended()
        return base

    def _are_plain(self, records: memoryview, count: int, first: int, newest: int, oldest: int) -> bool:
        """Records of any shape."""
        walk = RecordWalk(records, count)
        try:
            whole = walk.run(Allowance())
        except CorruptRecords:
            return False
        times = first + walk.largest == newest and first + walk.smallest >= oldest
        return whole and times and (walk.keyless < 0 or self._keys < WITH_KEY)

    def _look(self) -> bool:
        """Whether settings and active segment are such that a batch can be plain."""
        log = self._log
        config, segment = log.config, log.segments.active
        self._config = self._segment = None
        first = segment.first_timestamp if segment.size else -1
        settled = first >= 0 and log.leader_epoch <= log.epochs.latest
        if not settled or config.log_append_time or config.compression_type != "producer":
            return False
        self._config, self._segment = config, segment
        self._keys = WITH_KEY if config.compact else WITHOUT_KEY
        self._largest_bytes = min(config.max_message_bytes, config.max_segment_bytes)
        self._full_at, self._newest = room_of(segment, config, log.jitter_ms)
        return True
