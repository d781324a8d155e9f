"""Checking one segment batch by batch: cut a torn tail, mend what lies outside the CRC, take damaged bytes out and keep them aside.

Base offset, length, leader epoch and magic of a batch are outside its CRC. When everything inside the CRC is whole they can be told from
the neighbours and are written again. Bytes that stay damaged become a gap when good batches stand behind them that were acknowledged
(below `durable`); what was never known to be durable is cut from the first damage on, as its writes may have been lost in any order.
"""

from __future__ import annotations

import logging
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from struct import Struct

from oncelog.protocol.names import TopicPartition
from oncelog.protocol.primitives import crc32c
from oncelog.protocol.records import CRC_START, CURRENT_MAGIC, HEADER_SIZE, LOG_OVERHEAD, BatchHeader, parse_header
from oncelog.storage.journal.replay import NOTHING, JournaledBatches
from oncelog.storage.log.index_draft import IndexDraft
from oncelog.storage.log.segment import MAX_RELATIVE_OFFSET, Segment
from oncelog.storage.recovery.lost_markers import Hole

_FRONT = Struct(">qiib")
_LOOKS_LIKE_A_BATCH = re.compile(rb"(?=\x00\x00.{6}[\x00-\x06].{3}\x00.{3}\x02)", re.DOTALL)
_CHUNK = 256 << 10  # between two reads a thread that mends keeps Python's lock
_FIRST_CHUNK = 64 << 10
_SEARCHED = 64 << 10  # searching such bytes, all zero, takes 4 ms
_TORN_ZEROS = 4 << 20
_QUICK = Struct(">qiibI2xi8xq")  # base offset, length, leader epoch, magic, CRC, last offset delta, largest timestamp

_log = logging.getLogger(__name__)


class LegacyLog(OSError):
    """The segment holds messages of a format before Kafka 0.11, which this broker does not serve."""


@dataclass(slots=True)
class _Walk:
    """Where the check stands. `holes` are to be taken out, in order."""

    segment: Segment
    next_offset: int
    epoch: int = 0
    last_crc: int = -1
    holes: list[Hole] = field(default_factory=list)
    mended: int = 0
    following: int = -1  # the offset that the next segment begins with

    def known_epoch(self, offset: int) -> int:
        """The leader epoch that the checkpoint gives to `offset`, -1 for none."""
        return self.segment.epochs.epoch_of(offset) if self.segment.epochs is not None else -1


def check_segment(
    segment: Segment,
    topic_partition: TopicPartition,
    durable: int,
    *,
    clean: bool,
    tail: tuple[int, int] | None,
    markers: Callable[[Segment, Sequence[Hole]], Sequence[Sequence[bytes]]],
    following: int = -1,
    journaled: JournaledBatches = NOTHING,
) -> int:
    """The offset behind the last good batch; the `.log` holds nothing but good batches afterwards.

    `markers` tells which transaction markers stood in bytes that have to be taken out (`lost_markers.py`), or at the end of the file if
    that is to reach to the offset `following`.

    Where a batch is not whole that `journaled` has, or none follows though that has one, it is written again (not synced).

    With `tail` = (position, last offset) of a batch known to be right only what follows is read, else everything, and the indexes are
    built again. Raises OSError.
    """
    size = segment.size
    walk = _Walk(segment, segment.base_offset, following=following)
    walk.epoch = max(walk.known_epoch(segment.base_offset), 0)
    position = 0
    if tail is not None:
        position = tail[0]
        if tail[1] >= 0:
            known = parse_header(segment.read_at(position, HEADER_SIZE))
            walk.next_offset, walk.epoch = known.base_offset, known.partition_leader_epoch
    begin = segment.trusted_from = position
    good = IndexDraft(segment.base_offset, segment.index_interval_bytes)
    put_back_at = -1
    while True:
        if position < size:
            position = _walk_on(walk, position, good)
        header = _good_batch(walk, position) if position < size else None
        if header is None:
            stop = _find_good(walk, position + 1) if position < size else None
            if position > put_back_at and _put_back(walk, position, stop, journaled):
                put_back_at, size = position, segment.size
                continue
            if position >= size:
                break
            header = _mend(walk, position, stop if stop is not None else size, durable, clean=clean)
        if header is None:
            if stop is not None and not clean and parse_header(segment.read_at(stop, HEADER_SIZE)).base_offset >= durable:
                stop = None
            resumed = parse_header(segment.read_at(stop, HEADER_SIZE)).base_offset if stop is not None else -1
            walk.holes.append(Hole(position, stop if stop is not None else size, walk.next_offset, resumed))
            if stop is None:
                break
            position = stop
            continue
        good.add(position, header.size_bytes, header.last_offset, header.max_timestamp)
        walk.next_offset, walk.epoch, walk.last_crc = header.next_offset, header.partition_leader_epoch, header.crc
        position += header.size_bytes
    if walk.next_offset < following and not (walk.holes and walk.holes[-1].end == size):
        walk.holes.append(Hole(size, size, walk.next_offset, -1))
    again = markers(segment, walk.holes) if walk.holes else []
    if walk.holes and walk.holes[-1].position == size and not again[-1]:
        walk.holes.pop()
    if walk.holes:
        _take_out(walk, size, topic_partition, again[: len(walk.holes)])
    if tail is None or walk.holes or walk.mended:
        if begin or walk.holes:
            segment.index_headers()
        else:
            segment.take_indexes(good)
        segment.txn_index_checked = False
    else:
        segment.resume(good)
    return walk.next_offset


def _walk_on(walk: _Walk, position: int, good: IndexDraft) -> int:
    """Over batches that are right and follow each other without any gap, quickly; where it stops the careful look has to begin."""
    segment = walk.segment
    expected, epoch, crc = walk.next_offset, walk.epoch, walk.last_crc
    highest = segment.base_offset + MAX_RELATIVE_OFFSET
    want = _FIRST_CHUNK
    while True:
        window = memoryview(segment.read_at(position, want))
        at, length = 0, len(window)
        while at + HEADER_SIZE <= length:
            base, size, leader_epoch, magic, crc_there, delta, max_timestamp = _QUICK.unpack_from(window, at)
            end = at + size + LOG_OVERHEAD
            last = base + delta
            if base != expected or leader_epoch != epoch or magic != CURRENT_MAGIC or not at + HEADER_SIZE <= end <= length:
                break
            if delta < 0 or last > highest or crc32c(window[at + CRC_START : end]) != crc_there:
                break
            good.add(position + at, end - at, last, max_timestamp)
            expected, crc, at = last + 1, crc_there, end
        walk.next_offset, walk.last_crc = expected, crc
        position += at
        if at == 0:
            return position
        want = min(2 * want, _CHUNK)


def _good_batch(walk: _Walk, position: int) -> BatchHeader | None:
    """The batch at `position` if it is whole, right, and in its place."""
    segment = walk.segment
    head = segment.read_at(position, HEADER_SIZE)
    if len(head) < HEADER_SIZE:
        return None
    header = parse_header(head)
    size = header.size_bytes
    if header.magic in (0, 1):
        _refuse_legacy(segment, position, header)
    if header.magic != CURRENT_MAGIC or size < HEADER_SIZE or position + size > segment.size or header.last_offset_delta < 0:
        return None
    if header.base_offset < walk.next_offset or not _epoch_fits(walk, position, header):
        return None
    if header.last_offset - segment.base_offset > MAX_RELATIVE_OFFSET or 0 <= walk.following <= header.last_offset:
        return None
    if not _crc_holds(segment, position, size, header.crc):
        return None
    if header.base_offset > walk.next_offset or header.partition_leader_epoch > walk.epoch:
        return header if _fits_what_follows(walk, position, header) else None
    return header


def _epoch_fits(walk: _Walk, position: int, header: BatchHeader) -> bool:
    """The epoch is what the checkpoint says; behind its last line it may rise, with more than one batch."""
    known, epochs = walk.known_epoch(header.base_offset), walk.segment.epochs
    if known < 0 or epochs is None:
        return header.partition_leader_epoch >= walk.epoch
    if header.partition_leader_epoch == known:
        return True
    following = walk.segment.read_at(position + header.size_bytes, HEADER_SIZE)
    new = known == epochs.latest < header.partition_leader_epoch
    return new and len(following) == HEADER_SIZE and parse_header(following).partition_leader_epoch == header.partition_leader_epoch


def _put_back(walk: _Walk, position: int, stop: int | None, journaled: JournaledBatches) -> bool:
    """Write what the journal has from the expected offset on, up to `stop`, where a good batch stands. Raises OSError."""
    segment = walk.segment
    highest = segment.base_offset + MAX_RELATIVE_OFFSET
    data = journaled.run(walk.next_offset, highest, stop - position if stop is not None else _CHUNK)
    if not data:
        return False
    segment.write_over(position, data)
    _log.info(
        "put back from the journal segment=%s position=%d offset=%d bytes=%d", segment.log_path, position, walk.next_offset, len(data)
    )
    return True


def _crc_holds(segment: Segment, position: int, size: int, crc: int) -> bool:
    value = 0
    at, end = position + CRC_START, position + size
    while at < end:
        piece = segment.read_at(at, min(_CHUNK, end - at))
        if not piece:
            return False
        value = crc32c(piece, value)
        at += len(piece)
    return value == crc


def _fits_what_follows(walk: _Walk, position: int, header: BatchHeader) -> bool:
    """A jump of offset or epoch is right unless the batch behind goes on as if it had not happened."""
    following = walk.segment.read_at(position + header.size_bytes, HEADER_SIZE)
    if len(following) < HEADER_SIZE:
        return True
    behind = parse_header(following)
    if behind.magic != CURRENT_MAGIC:
        return True
    if behind.base_offset <= header.last_offset and behind.base_offset >= walk.next_offset + header.last_offset_delta + 1:
        return False
    if header.base_offset > walk.next_offset and behind.base_offset == walk.next_offset + header.last_offset_delta + 1:
        return False
    return not walk.epoch <= behind.partition_leader_epoch < header.partition_leader_epoch


def _refuse_legacy(segment: Segment, position: int, header: BatchHeader) -> None:
    message = segment.read_at(position + LOG_OVERHEAD, min(header.batch_length, 64 << 20) if header.batch_length > 0 else 0)
    if len(message) > 5 and len(message) == header.batch_length and zlib.crc32(message[4:]) == int.from_bytes(message[:4], "big"):
        raise LegacyLog(f"{segment.log_path}: message format {header.magic} at position {position} is older than Kafka 0.11")


def _find_good(walk: _Walk, position: int) -> int | None:
    """The next place at which a whole and right batch stands."""
    segment = walk.segment
    while position + HEADER_SIZE <= segment.size:
        window = segment.read_at(position, _SEARCHED + 17)
        for match in _LOOKS_LIKE_A_BATCH.finditer(window):
            header = _plausible(walk, position + match.start())
            if header is not None:
                return position + match.start()
        position += _SEARCHED
    return None


def _plausible(walk: _Walk, position: int) -> BatchHeader | None:
    segment = walk.segment
    head = segment.read_at(position, HEADER_SIZE)
    if len(head) < HEADER_SIZE:
        return None
    header = parse_header(head)
    size = header.size_bytes
    if size < HEADER_SIZE or position + size > segment.size or header.base_offset < walk.next_offset or header.last_offset_delta < 0:
        return None
    if header.last_offset - segment.base_offset > MAX_RELATIVE_OFFSET or header.partition_leader_epoch < walk.epoch:
        return None
    if 0 <= walk.following <= header.last_offset:
        return None
    return header if _crc_holds(segment, position, size, header.crc) else None


def _mend(walk: _Walk, position: int, end: int, durable: int, *, clean: bool) -> BatchHeader | None:
    """Write the fields outside the CRC again when all else is right; None when it is not."""
    segment = walk.segment
    head = segment.read_at(position, HEADER_SIZE)
    if len(head) < HEADER_SIZE:
        return None
    header = parse_header(head)
    claimed = header.size_bytes
    for size in dict.fromkeys((claimed, end - position)):
        if not HEADER_SIZE <= size <= segment.size - position or not _crc_holds(segment, position, size, header.crc):
            continue
        if (header.crc == walk.last_crc and header.base_offset != walk.next_offset) or header.last_offset_delta < 0:
            return None  # the batch before once more
        behind_at = position + size
        behind = segment.read_at(behind_at, HEADER_SIZE)
        next_offset = walk.next_offset + header.last_offset_delta + 1
        if len(behind) == HEADER_SIZE:
            known = parse_header(behind).base_offset == next_offset
        else:
            known = (
                next_offset in (durable, walk.following)
                or not walk.next_offset <= header.base_offset <= segment.base_offset + MAX_RELATIVE_OFFSET
            )
        base_offset = walk.next_offset if known else header.base_offset
        neighbour = _plausible(walk, behind_at) if not known else None
        if neighbour is not None and base_offset + header.last_offset_delta >= neighbour.base_offset:
            base_offset = neighbour.base_offset - header.last_offset_delta - 1
        if base_offset < walk.next_offset or 0 <= walk.following <= base_offset + header.last_offset_delta:
            return None
        header.base_offset, header.batch_length, header.magic = base_offset, size - LOG_OVERHEAD, CURRENT_MAGIC
        known_epoch = walk.known_epoch(base_offset)
        header.partition_leader_epoch = known_epoch if known_epoch >= 0 else walk.epoch
        front = _FRONT.pack(base_offset, header.batch_length, header.partition_leader_epoch, CURRENT_MAGIC)
        segment.overwrite(position, front)
        walk.mended += 1
        _log.warning("batch header mended segment=%s position=%d offset=%d", segment.log_path, position, base_offset)
        return header
    return None


def _take_out(walk: _Walk, size: int, topic_partition: TopicPartition, markers: Sequence[Sequence[bytes]]) -> None:
    """Write the damaged bytes aside unless they are a torn last batch, then cut or close up the `.log`; lost markers take their place."""
    segment = walk.segment
    for hole, again in zip(walk.holes, markers, strict=True):
        segment.damaged_at = hole.first
        lost = hole.end - hole.position
        if hole.end == size and not again and _is_torn(segment, hole.position):
            _log.warning("torn tail cut partition=%s offset=%d bytes=%d", topic_partition, hole.first, lost)
            continue
        if lost == 0:
            _log.warning("markers written again partition=%s offset=%d count=%d", topic_partition, hole.first, len(again))
            continue
        kept = segment.copy_aside(f"quarantine-{segment.base_offset:020d}-{hole.position}-{hole.first}", hole.position, hole.end)
        _log.error(
            "damaged batches taken out partition=%s offsets=%d..%s bytes=%d markers_written_again=%d kept_in=%s",
            topic_partition,
            hole.first,
            hole.resumed - 1 if hole.resumed >= 0 else "end",
            lost,
            len(again),
            kept,
        )
    last = walk.holes[-1]
    if last.end == size and markers[-1]:
        walk.next_offset = parse_header(markers[-1][-1]).next_offset
    segment.was_cut = last.end == size
    segment.lost_tail = list(_between(last.first, walk.following, markers[-1])) if segment.was_cut else []
    if len(walk.holes) == 1 and segment.was_cut and not markers[-1]:
        segment.cut(last.position)
        return
    segment.rewrite(list(_pieces(walk.holes, markers, size)))


def _between(first: int, end: int, markers: Sequence[bytes]) -> Iterator[tuple[int, int]]:
    """What of the offsets [first, end) the markers leave, as ranges of that kind."""
    for header in map(parse_header, markers):
        if first < header.base_offset:
            yield first, header.base_offset
        first = header.next_offset
    if first < end:
        yield first, end


def _is_torn(segment: Segment, position: int) -> bool:
    """The rest is one batch that the file ends in, too short for a header, or zeros."""
    rest = segment.size - position
    if rest < HEADER_SIZE:
        return True
    header = parse_header(segment.read_at(position, HEADER_SIZE))
    if header.magic == CURRENT_MAGIC and rest < header.size_bytes < 1 << 30 and header.partition_leader_epoch >= 0:
        return True
    return rest <= _TORN_ZEROS and segment.read_at(position, rest).count(0) == rest


def _pieces(holes: Sequence[Hole], markers: Sequence[Sequence[bytes]], size: int) -> Iterator[tuple[int, int] | bytes]:
    """What the `.log` is to consist of: ranges of its bytes, and markers."""
    at = 0
    for hole, again in zip(holes, markers, strict=True):
        if hole.position > at:
            yield at, hole.position
        yield from again
        at = hole.end
    if at < size:
        yield at, size
