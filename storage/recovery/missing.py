"""Offsets whose records were acknowledged and are gone: told once, kept in `oncelog.missing` of the folder, never given to others."""

from __future__ import annotations

import contextlib
import json
import logging
from bisect import bisect_right
from pathlib import Path

from oncelog.protocol.names import TopicPartition
from oncelog.storage.env import FileSystem
from oncelog.storage.files.damaged_file import DamagedFile
from oncelog.storage.files.twin_file import frame, parse_frame

MISSING_FILE = "oncelog.missing"
Ranges = list[tuple[int, int]]  # [first, end)

_log = logging.getLogger(__name__)


def parse_missing(data: bytes) -> Ranges:
    """Raises DamagedFile."""
    payload = parse_frame(MISSING_FILE, data).payload
    try:
        return [(int(first), int(end)) for first, end in json.loads(payload)["missing"]]
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedFile(f"no ranges: {error!r}") from error


def read_missing(fs: FileSystem, folder: Path) -> Ranges:
    """What was told before; [] when absent or damaged, which is logged: then it goes."""
    path = folder / MISSING_FILE
    try:
        return parse_missing(fs.read(path))
    except FileNotFoundError:
        return []
    except (OSError, DamagedFile) as error:
        _log.warning("damaged, deleted: what is missing is told again file=%s error=%s", path, error)
        with contextlib.suppress(OSError):
            fs.unlink(path)
        return []


def tell_missing(fs: FileSystem, folder: Path, topic_partition: TopicPartition, known: Ranges, found: Ranges) -> None:
    """One line for what was not known to be missing before. Raises OSError."""
    new = [one for one in found if not within(one, known)]
    if new:
        told = ",".join(f"{first}..{end - 1}" for first, end in new)
        _log.error("acknowledged data is missing partition=%s offsets=%s", topic_partition, told)
        payload = json.dumps({"missing": sorted({*known, *new})}, separators=(",", ":")).encode()
        fs.write_atomic(folder / MISSING_FILE, frame(MISSING_FILE, 1, payload))


def within(one: tuple[int, int], known: Ranges) -> bool:
    """Is all of it known to be missing?"""
    return any(first <= one[0] and one[1] <= end for first, end in known)


def of_lost_logs(lost_logs: dict[int, bool], bases: list[int], missing: Ranges) -> Ranges:
    """What stood between two segments that are left, where indexes tell that there was something: a gap that no compaction made."""
    found: Ranges = []
    for base in sorted(base for base, told in lost_logs.items() if told):
        slot = bisect_right(bases, base)
        if 0 < slot < len(bases) and not any(first < bases[slot] and base < end for first, end in (*missing, *found)):
            found.append((base, bases[slot]))
    return found
