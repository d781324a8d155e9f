"""Leader epochs at the start of a log: the checkpoint against the batches.

The epoch of a batch lies outside of its CRC, and clients fence on it: whoever reads one that was never given out believes that the log was
truncated. The checkpoint says which epoch every offset has, so a batch that differs is mended from it; a checkpoint that the batches at its
own boundaries contradict is made again from all of them.
"""

from __future__ import annotations

import contextlib
import logging
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import chain, islice, pairwise

from oncelog.protocol.records import HEADER_SIZE, BatchHeader, parse_header
from oncelog.storage.files.leader_epochs import LeaderEpochs
from oncelog.storage.log.segment import DamagedSegment, Segment

_log = logging.getLogger(__name__)


def load_epochs(epochs: LeaderEpochs, segments: Sequence[Segment]) -> None:
    """From the checkpoint, if it holds; then every segment is held to it. Raises OSError."""
    epochs.load()
    for before, (epoch, start) in pairwise([(-1, -1), *epochs.entries]):
        if not _holds(segments, before[0], epoch, start):
            _log.warning("leader epochs contradict the log folder=%s epoch=%d start=%d", segments[0].folder, epoch, start)
            epochs.entries = []
            return
    if epochs.entries:
        for segment in segments:
            segment.epochs = epochs


def _holds(segments: Sequence[Segment], before: int, epoch: int, start: int) -> bool:
    """Of the two batches that follow `start` one has the epoch, and the one before has not."""
    here = [header.partition_leader_epoch for header in islice(_from(segments, start), 2)]
    if here and epoch not in here:
        return False
    if before < 0 or start <= segments[0].base_offset:
        return True
    ahead = next(_from(segments, start - 1), None)
    return ahead is None or ahead.base_offset >= start or ahead.partition_leader_epoch != epoch


def _from(segments: Sequence[Segment], offset: int) -> Iterator[BatchHeader]:
    """Headers of the batches from the one that holds `offset`, each read alone."""
    slot = max(bisect_right(segments, offset, key=lambda segment: segment.base_offset) - 1, 0)
    for segment in segments[slot:]:
        position: int | None = 0
        if offset > segment.base_offset:
            with contextlib.suppress(DamagedSegment):  # then the headers from the first on tell
                position = segment.locate(offset)
        while position is not None and position + HEADER_SIZE <= segment.size:
            header = parse_header(segment.read_at(position, HEADER_SIZE))
            if header.size_bytes < HEADER_SIZE:
                break
            if header.last_offset >= offset:
                yield header
            position += header.size_bytes


def settle_epochs(epochs: LeaderEpochs, segments: Sequence[Segment], start: int, end: int) -> None:
    """Once the log was checked: made again where they are absent or do not reach to its start. Raises OSError."""
    epochs.truncate_from_end(end)
    first = next((segment for segment in segments if segment.size), None)
    if first is None:
        return
    if not epochs.entries or epochs.entries[0][1] > max(start, first.base_offset):
        epochs.entries = []
        for segment in segments:
            segment.epochs = None
        found = (parse_header(head) for segment in segments for _, head in segment.heads())
        headers: Iterator[BatchHeader | None] = chain(found, [None])
        for header, behind in pairwise(headers):
            assert header is not None
            epoch = header.partition_leader_epoch
            if epoch > epochs.latest and (behind is None or behind.partition_leader_epoch >= epoch):  # else that one batch is damaged
                epochs.assign(epoch, header.base_offset if epochs.entries else first.base_offset)
        epochs.dirty = True
        _log.warning("leader epochs rebuilt folder=%s entries=%d", first.folder, len(epochs.entries))
    with contextlib.suppress(IndexError):
        epochs.truncate_from_start(start)
