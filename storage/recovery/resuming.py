"""A log that lost its end goes on where it ended: acknowledged offsets are given to nobody else.

Whoever reads waits for the first lost offset, so there has to be something at which a reader can pass: an empty batch over all of them, as
compaction leaves them (`DefaultRecordBatch.writeEmptyHeader`).
"""

from __future__ import annotations

from oncelog.protocol.records import HEADER_SIZE, NO_TIMESTAMP, BatchHeader, parse_header
from oncelog.storage.config import LogConfig
from oncelog.storage.env import Env
from oncelog.storage.files.descriptors import Descriptors
from oncelog.storage.log.segment import MAX_RELATIVE_OFFSET, Segment
from oncelog.storage.upkeep.compaction.batch import empty_batch


def resume_at(env: Env, segments: list[Segment], descriptors: Descriptors, config: LogConfig, lost: int, end: int) -> None:
    """Have the log, which ends at `lost`, go on at `end`. Raises OSError.

    What is more than a batch can stand for is left as a gap between two segments.
    """
    last, fits = segments[-1], end - 1 - lost <= MAX_RELATIVE_OFFSET
    epoch = _last_epoch(segments)
    new = Segment.create(descriptors, last.folder, lost if fits else end, config.index_interval_bytes, env.clock.time_ms())
    if last.size:
        last.save_indexes(final=True)
        segments.append(new)
    else:
        segments[-1] = new
        if last.base_offset != new.base_offset:
            last.remove()
    if fits:
        new.append(_standing_for(lost, end, epoch), end - 1, NO_TIMESTAMP, config.max_segment_bytes)


def stand_for(segment: Segment, lost: int, end: int) -> None:
    """The same, where nothing follows a segment that lost its end while the log is open. Raises OSError."""
    if end - 1 - segment.base_offset <= MAX_RELATIVE_OFFSET:
        segment.rewrite([(0, segment.size), _standing_for(lost, end, _last_epoch([segment]))])


def _standing_for(first: int, end: int, epoch: int) -> bytes:
    header = BatchHeader()
    header.base_offset, header.last_offset_delta, header.partition_leader_epoch = first, end - 1 - first, epoch
    header.attributes, header.max_timestamp = 0, NO_TIMESTAMP
    header.producer_id = header.producer_epoch = header.base_sequence = -1
    return bytes(empty_batch(header))


def _last_epoch(segments: list[Segment]) -> int:
    """Of the last batch there is."""
    for segment in reversed(segments):
        last = b""
        for _, head in segment.heads():
            last = bytes(head)
        if len(last) >= HEADER_SIZE:
            return parse_header(last).partition_leader_epoch
    return 0
