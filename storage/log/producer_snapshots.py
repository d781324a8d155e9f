"""Producer snapshots on disk: written, found again, verified (`ProducerStateManager.takeSnapshot`, `loadFromSnapshot`).

Beside Kafka's snapshots stand two plain files that Kafka ignores: `oncelog.window` (five batches per producer) and `oncelog.txnindexes`,
which vouches for the .txnindex files by size and CRC, so that a lost one is noticed without reading the log.
"""

from __future__ import annotations

import contextlib
import json
import logging
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from oncelog.protocol.primitives import crc32c
from oncelog.storage.env import FileSystem
from oncelog.storage.files.snapshot import WINDOW_NAME, decode_snapshot, decode_window, encode_snapshot, encode_window
from oncelog.storage.files.twin_file import frame, parse_frame
from oncelog.storage.log.segment import Segment
from oncelog.storage.log.segment_file import file_name

TOPIC_FILE = "oncelog.topic"
VOUCHER_NAME = "oncelog.txnindexes"
_LOOKED_INTO_BYTES = 1 << 20

_log = logging.getLogger(__name__)


class Loaded(NamedTuple):
    """State of everything below `offset`. `thin`: a lost window held batches that a snapshot does not, which has one of each producer."""

    offset: int
    entries: dict[int, bytes]
    thin: bool = False


def write(fs: FileSystem, folder: Path, offset: int, entries: dict[int, bytes]) -> None:
    """State of everything below `offset`: the window first, so that a snapshot never stands without one. Raises OSError."""
    if entries or fs.exists(folder / WINDOW_NAME):
        fs.write_atomic(folder / WINDOW_NAME, encode_window(entries, offset))
    fs.write_atomic(folder / file_name(offset, ".snapshot"), encode_snapshot(entries))


def snapshots(fs: FileSystem, folder: Path) -> list[int]:
    """Offsets of the snapshots, rising."""
    stems = (name[:-9] for name in fs.list(folder) if name.endswith(".snapshot"))
    return sorted(int(stem) for stem in stems if len(stem) == 20 and stem.isdecimal())


def discard(fs: FileSystem, folder: Path, offset: int) -> None:
    with contextlib.suppress(FileNotFoundError):
        fs.unlink(folder / file_name(offset, ".snapshot"))


def load_newest(fs: FileSystem, folder: Path, at_most: int, above: int) -> Loaded | None:
    """The best packed state with above < offset <= at_most: the window when it is in range, else a snapshot.

    Damaged ones count as absent; a start has told of them (`drop_damaged`). None: replay from the log start.
    """
    window = _load_window(fs, folder)
    if window is not None and above < window.offset <= at_most:
        return window
    for offset in reversed(snapshots(fs, folder)):
        if not above < offset <= at_most:
            continue
        entries = _load_snapshot(fs, folder, offset)
        if entries is not None:
            # a folder of Apache Kafka's never had one
            return Loaded(offset, entries, bool(entries) and window is None and fs.exists(folder / TOPIC_FILE))
    return None


def _load_snapshot(fs: FileSystem, folder: Path, offset: int) -> dict[int, bytes] | None:
    path = folder / file_name(offset, ".snapshot")
    try:
        return decode_snapshot(fs.read(path), fs.mtime_ms(path))
    except OSError:
        return None


def _load_window(fs: FileSystem, folder: Path) -> Loaded | None:
    try:
        window = decode_window(fs.read(folder / WINDOW_NAME))
    except OSError:
        return None
    return None if window is None else Loaded(*window)


def drop_damaged(fs: FileSystem, folder: Path, names: Iterable[str]) -> int:
    """For a start: delete what is damaged of the files of this module among `names`, with one line. The offset that the window covers, -1
    without one.

    Of snapshots that are large only those are looked into that may be needed: the newest good one, and what is above it.
    """
    present = frozenset(names)
    damaged, window = list[str](), _load_window(fs, folder) if WINDOW_NAME in present else None
    if VOUCHER_NAME in present and _read_voucher(fs, folder) is None:
        damaged.append(VOUCHER_NAME)
    newest: dict[int, bytes] | None = None
    read = 0
    for name in sorted((name for name in present if name.endswith(".snapshot")), reverse=True):
        stem = name.removesuffix(".snapshot")
        if len(stem) != 20 or not stem.isdecimal():
            continue
        if read > _LOOKED_INTO_BYTES:
            break
        entries = _load_snapshot(fs, folder, int(stem))
        if entries is None:
            damaged.append(name)
        else:
            newest, read = entries if newest is None else newest, read + sum(map(len, entries.values()))
    if WINDOW_NAME in present and window is None:
        damaged.append(WINDOW_NAME)
    elif newest and window is None and TOPIC_FILE in present:
        _log.warning("window missing file=%s", folder / WINDOW_NAME)
    if damaged:
        _log.warning("damaged, deleted and made again folder=%s names=%s", folder, ",".join(damaged))
    for name in damaged:
        with contextlib.suppress(OSError):  # it stays, and is told again
            fs.unlink(folder / name)
    return -1 if window is None else window.offset


def vouch(fs: FileSystem, folder: Path, segments: Iterable[Segment]) -> None:
    """Note size and CRC of each .txnindex that is known to be right. Raises OSError."""
    known: dict[str, list[int]] = {}
    before = vouched(fs, folder)
    for segment in segments:
        if not segment.txn_index_checked:
            if segment.base_offset in before:
                known[str(segment.base_offset)] = list(before[segment.base_offset])
        elif segment.aborted:
            with contextlib.suppress(FileNotFoundError):  # deleted since
                data = fs.read(segment.path(".txnindex"))
                known[str(segment.base_offset)] = [len(data), crc32c(data)]
    if known or fs.exists(folder / VOUCHER_NAME):
        _write_voucher(fs, folder, known)


def disown(fs: FileSystem, folder: Path, safe: Iterable[Segment]) -> None:
    """Vouch for `safe` segments only: another may have grown behind the voucher and lost just that in a power cut. Raises OSError."""
    bases = {segment.base_offset for segment in safe}
    known = vouched(fs, folder)
    if not known.keys() <= bases:
        kept = {str(base): list(entry) for base, entry in known.items() if base in bases}
        _write_voucher(fs, folder, kept)


def _write_voucher(fs: FileSystem, folder: Path, known: dict[str, list[int]]) -> None:
    fs.write_atomic(folder / VOUCHER_NAME, frame(VOUCHER_NAME, 1, json.dumps(known, separators=(",", ":")).encode()))


def vouched(fs: FileSystem, folder: Path) -> dict[int, tuple[int, int]]:
    """base offset -> (size, CRC); {} when absent or damaged: then the log is asked."""
    return _read_voucher(fs, folder) or {}


def _read_voucher(fs: FileSystem, folder: Path) -> dict[int, tuple[int, int]] | None:
    try:
        content = json.loads(parse_frame(VOUCHER_NAME, fs.read(folder / VOUCHER_NAME)).payload)
        return {int(base): (int(size), int(crc)) for base, (size, crc) in content.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return None
