"""What a log has done by another thread with a segment in doubt: `storage/log/mending.py` says when."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from oncelog.protocol.names import TopicPartition
from oncelog.storage.env import FileSystem
from oncelog.storage.log.segment import DamagedSegment, Segment
from oncelog.storage.recovery.lost_markers import markers_again
from oncelog.storage.recovery.missing import Ranges, read_missing, tell_missing
from oncelog.storage.recovery.resuming import stand_for
from oncelog.storage.recovery.salvage import check_segment

_log = logging.getLogger(__name__)


def mend(
    fs: FileSystem,
    topic_partition: TopicPartition,
    segments: Sequence[Segment],
    segment: Segment,
    durable: int,
    log_end: int,
    *,
    indexes_only: bool,
) -> Callable[[], None] | None:
    """While the log is open: its `Mender`. Raises OSError."""
    if indexes_only:
        try:
            segment.index_headers()
            segment.save_indexes(final=True, sync=True)
            return None
        except DamagedSegment as damage:
            if segment.trusted_from == 0:
                raise
            _log.info("damage found while building indexes partition=%s error=%s", topic_partition, damage)
    markers = partial(markers_again, fs, segments, log_end=log_end)
    following = next((one.base_offset for one in segments if one.base_offset > segment.base_offset), log_end)
    end = check_segment(segment, topic_partition, durable, clean=True, tail=None, markers=markers, following=following)
    nothing_behind = not any(one.size for one in segments if one.base_offset > segment.base_offset)
    lost = segment.lost_tail or ([(end, following)] if nothing_behind and end < following else [])
    if nothing_behind and lost and lost[-1][1] == following:
        stand_for(segment, lost[-1][0], following)
    segment.save_indexes(final=True, sync=True)
    return partial(_tell_lost_tail, fs, segment.folder, topic_partition, lost) if lost else None


def _tell_lost_tail(fs: FileSystem, folder: Path, topic_partition: TopicPartition, lost: Ranges) -> None:
    tell_missing(fs, folder, topic_partition, read_missing(fs, folder), lost)
