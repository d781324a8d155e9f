"""Markers for partitions whose leader is this process."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Protocol

from oncelog.coordinator.txn.markers import NOTHING_TO_AWAIT, Delivery, Marker
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.names import CONSUMER_OFFSETS, TopicPartition

COORDINATOR_EPOCH = 0  # so that a directory that moves into a Kafka cluster never meets a higher one there

_log = logging.getLogger(__name__)

OffsetsMarkerListener = Callable[[int, int, int, bool, int], None]  # partition, producer id, producer epoch, commit, offset


class _Producer(Protocol):
    @property
    def producer_id(self) -> int: ...
    @property
    def epoch(self) -> int: ...
    @property
    def coordinator_epoch(self) -> int: ...
    @property
    def last_timestamp(self) -> int: ...
    @property
    def current_txn_first_offset(self) -> int | None: ...


class _Producers(Protocol):
    def get(self, producer_id: int) -> _Producer | None: ...

    def marked(self, producer_id: int) -> tuple[int, int, int]: ...


class MarkerLog(Protocol):
    """What of a `Log` markers need."""

    def append_marker(
        self, producer_id: int, producer_epoch: int, coordinator_epoch: int, commit: bool, now_ms: int, *, transaction_version: int = 0
    ) -> int: ...

    @property
    def high_watermark(self) -> int: ...

    @property
    def state(self) -> _Producers: ...

    def when_durable(self, offset: int, callback: Callable[[KafkaError | None], None]) -> None: ...


class LocalMarkerChannel:
    """Appends to the log itself. Whoever keeps offsets in `__consumer_offsets` is told in the same turn."""

    def __init__(self, log_of: Callable[[TopicPartition], MarkerLog | None]) -> None:
        self._log_of = log_of
        self.on_offsets_marker: OffsetsMarkerListener | None = None

    def write(self, marker: Marker, now_ms: int, *, unless_since_ms: int | None = None) -> Delivery:
        """A partition that is gone, or that somebody with a higher epoch closed, needs no marker any more."""
        log = self._log_of(marker.topic_partition)
        if log is None:
            return NOTHING_TO_AWAIT  # the topic was deleted; the catalogue is complete before the first call
        if unless_since_ms is not None and is_marked(log, marker, unless_since_ms):
            return NOTHING_TO_AWAIT
        try:
            end = self.append(log, marker, _coordinator_epoch(log, marker.producer_id), now_ms)
            return NOTHING_TO_AWAIT if log.high_watermark >= end else Delivery(ErrorCode.NONE, end)
        except KafkaError as error:
            _log.warning(
                "marker refused partition=%s producer_id=%d epoch=%d error=%s",
                marker.topic_partition,
                marker.producer_id,
                marker.producer_epoch,
                error.code.name,
            )
            return Delivery(error.code)

    def append(self, log: MarkerLog, marker: Marker, coordinator_epoch: int, now_ms: int) -> int:
        """Append and tell the listener; the offset after the marker. Raises KafkaError when the log refuses."""
        offset = log.append_marker(
            marker.producer_id,
            marker.producer_epoch,
            coordinator_epoch,
            marker.commit,
            now_ms,
            transaction_version=marker.transaction_version,
        )
        topic, partition = marker.topic_partition
        if topic == CONSUMER_OFFSETS and self.on_offsets_marker is not None:
            self.on_offsets_marker(partition, marker.producer_id, marker.producer_epoch, marker.commit, offset)
        return offset + 1


def is_marked(log: MarkerLog, marker: Marker, since_ms: int) -> bool:
    """Nothing is open, and what the producer did last, at or after `since_ms`, carried the marker's epoch: that was the marker.

    Where each end raises the epoch the time does not matter: nothing but the marker can have brought the new epoch here.
    """
    entry = log.state.get(marker.producer_id)
    if entry is None or entry.current_txn_first_offset is not None:
        return False
    bumped = entry.epoch >= marker.producer_epoch and marker.transaction_version >= 2
    return bumped or (entry.epoch == marker.producer_epoch and entry.last_timestamp >= since_ms)


def _coordinator_epoch(log: MarkerLog, producer_id: int) -> int:
    """0, unless the partition was brought from a Kafka cluster, whose coordinators have counted."""
    return max(COORDINATOR_EPOCH, log.state.marked(producer_id)[1])
