"""What a crash left of a replacement or a deletion of segments: finished or undone before anything is loaded (Kafka's `LogLoader`).

A `.swap` takes the place of the segments it covers, so it is looked into before any of them goes: unless all of it is whole batches
with right checksums, and has what its own indexes know, and while the segments it would replace are still there, it is set aside and
they stay.
"""

from __future__ import annotations

import logging
import re
from functools import partial
from pathlib import Path
from typing import NamedTuple

from oncelog.protocol.primitives import crc32c
from oncelog.protocol.records import CRC_START, CURRENT_MAGIC, HEADER_SIZE, parse_header
from oncelog.storage.env import FileSystem
from oncelog.storage.files.offset_index import OffsetIndex
from oncelog.storage.files.time_index import TimeIndex
from oncelog.storage.log.swap import CLEANED, DELETED, SWAP

NUMBERED = re.compile(r"(\d{20})(\.(?:log|index|timeindex|txnindex|snapshot))((?:\.deleted|\.cleaned|\.swap)?)")

_log = logging.getLogger(__name__)
_ENDLESS = 1 << 62  # bytes


class _Name(NamedTuple):
    text: str
    base: int
    suffix: str
    state: str


def settle_leftovers(fs: FileSystem, folder: Path, names: list[str]) -> list[str]:
    """The names that are left. Raises OSError."""
    matches = [_Name(name, int(match[1]), match[2], match[3]) for name in names if (match := NUMBERED.fullmatch(name))]
    drafts = [name for name in names if name.endswith(".tmp")]
    if not drafts and not any(one.state for one in matches):
        return names
    swaps = [one for one in matches if one.state == SWAP]
    spans = {one.text: _span(fs, folder / one.text, one.base) for one in swaps if one.suffix == ".log"}
    undone, damaged = _refused(matches, swaps, spans)
    for one in damaged:
        kept = "quarantine-swap-" + one.text.removesuffix(SWAP).replace(".", "-")
        fs.rename(folder / one.text, folder / kept)
        _log.error("replacement of segments refused, it is damaged folder=%s name=%s kept_in=%s", folder, one.text, kept)
    if undone or damaged:
        _bring_back(fs, folder, matches, min(one.base for one in (*undone, *damaged)))
    swaps = [one for one in swaps if one not in undone and one not in damaged]
    gone = [one.text for one in (*matches, *undone) if one.state in (CLEANED, DELETED) or one in undone]
    leftovers = [name for name in dict.fromkeys((*drafts, *gone)) if fs.exists(folder / name)]
    for name in leftovers:
        fs.unlink(folder / name)
    if leftovers:
        _log.info("leftovers removed folder=%s files=%d first=%s", folder, len(leftovers), leftovers[0])
    _finish(fs, folder, matches, swaps, spans)
    fs.sync_dir(folder)
    return fs.list(folder)


def _refused(matches: list[_Name], swaps: list[_Name], spans: dict[str, int | None]) -> tuple[list[_Name], list[_Name]]:
    """The files of a replacement that is not to be made, as what it replaces is still there: not all were offered, as a `.cleaned` beside
    them tells; or one is damaged."""
    first = min((one.base for one in swaps if one.suffix == ".log"), default=-1)
    if not any(one.base == first and one.suffix == ".log" and one.state in ("", DELETED) for one in matches):
        return [], []
    draft = min((one.base for one in matches if one.state == CLEANED), default=None)
    undone = [one for one in swaps if draft is not None and one.base >= draft]
    damaged = any(end is None for end in spans.values())
    return undone, [one for one in swaps if damaged and one not in undone]


def _bring_back(fs: FileSystem, folder: Path, matches: list[_Name], first: int) -> None:
    """Segments that had been renamed already for a replacement from `first` on."""
    plain = sorted(one.base for one in matches if one.suffix == ".log" and not one.state)
    end = next((base for base in plain if base > first), None)
    for one in matches:
        if one.state == DELETED and one.base >= first and (end is None or one.base < end):
            name = one.text.removesuffix(DELETED)
            if not fs.exists(folder / name):
                fs.rename(folder / one.text, folder / name)
                _log.warning("segment brought back folder=%s name=%s", folder, name)


def _finish(fs: FileSystem, folder: Path, matches: list[_Name], swaps: list[_Name], spans: dict[str, int | None]) -> None:
    ranges = [(one.base, spans[one.text] or one.base + 1) for one in swaps if one.suffix == ".log"]
    if ranges:
        low, high = min(base for base, _ in ranges), max(end for _, end in ranges)
        for one in matches:
            if not one.state and low <= one.base < high:
                fs.unlink(folder / one.text)
    # the logs first: without their `.log.swap` a start that is cut off here does not delete the indexes that have their names already
    for one in sorted(swaps, key=lambda one: one.suffix != ".log"):
        fs.rename(folder / one.text, folder / one.text.removesuffix(SWAP))
    if swaps:
        _log.warning("replacement of segments finished folder=%s files=%d", folder, len(swaps))


def _span(fs: FileSystem, path: Path, base: int) -> int | None:
    """The offset behind the last batch of a `.log.swap`; None when anything in it is not as a cleaner writes it, or its own indexes know of
    more than it has."""
    data = memoryview(fs.read(path))
    position, end = 0, base
    while position < len(data):
        if position + HEADER_SIZE > len(data):
            return None
        header = parse_header(data, position)
        size = header.size_bytes
        if header.magic != CURRENT_MAGIC or not HEADER_SIZE <= size <= len(data) - position or header.base_offset < end:
            return None
        if header.last_offset_delta < 0 or crc32c(data[position + CRC_START : position + size]) != header.crc:
            return None
        end = header.next_offset
        position += size
    return end if base < end and _told_end(fs, path, base) <= end else None


def _told_end(fs: FileSystem, path: Path, base: int) -> int:
    """The offset behind the last batch that the indexes beside a `.log.swap` know; `base` where they tell nothing."""
    told = base
    for suffix, parse in ((".index", partial(OffsetIndex.parse, log_size=_ENDLESS)), (".timeindex", TimeIndex.parse)):
        name = path.with_name(f"{base:020}{suffix}{SWAP}")
        index = parse(fs.read(name), base_offset=base) if fs.exists(name) else None
        if index is not None and index.offsets:
            told = max(told, base + index.offsets[-1] + 1)
    return told
