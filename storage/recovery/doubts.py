"""What damage of a coordinator's log leaves in doubt, kept in `oncelog.doubts` of the folder (and `.copy`) for the starts to come.

The start that finds the damage mends the log; afterwards nothing in it tells that records are gone. `seen` names the traces that were
dealt with (quarantined bytes, missing ranges): one that is not among them was found by a start that did not come so far.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import NamedTuple

from oncelog.storage.env import FileSystem
from oncelog.storage.files.damaged_file import DamagedFile
from oncelog.storage.files.twin_file import TwinFile
from oncelog.storage.recovery.missing import read_missing

DOUBTS_FILE = "oncelog.doubts"
_QUARANTINE = "quarantine-"

_log = logging.getLogger(__name__)


class Doubts(NamedTuple):
    """`producer_ids`: epochs of theirs may have been given out of which nothing is left."""

    seen: frozenset[str] = frozenset()
    producer_ids: frozenset[int] = frozenset()


def parse_doubts(payload: bytes) -> Doubts:
    """Raises DamagedFile."""
    try:
        content = json.loads(payload)
        return Doubts(frozenset(map(str, content["seen"])), frozenset(map(int, content["producer_ids"])))
    except (ValueError, KeyError, TypeError) as error:
        raise DamagedFile(f"no doubts: {error!r}") from error


def read_doubts(fs: FileSystem, folder: Path) -> Doubts | None:
    """None: both copies are damaged, so all is in doubt; which is logged. Raises OSError."""
    file = TwinFile(fs, folder / DOUBTS_FILE)
    try:
        payload = file.read()
        return Doubts() if payload is None else parse_doubts(payload)
    except DamagedFile as error:
        _log.error("damaged, every transactional id gets another producer id file=%s error=%s", folder / DOUBTS_FILE, error)
        return None


def write_doubts(fs: FileSystem, folder: Path, doubts: Doubts) -> None:
    """Raises OSError."""
    file = TwinFile(fs, folder / DOUBTS_FILE)
    try:
        file.read()
    except DamagedFile:
        file.set_aside()
    content = {"seen": sorted(doubts.seen), "producer_ids": sorted(doubts.producer_ids)}
    file.write(json.dumps(content, separators=(",", ":")).encode())


def traces(fs: FileSystem, folder: Path) -> frozenset[str]:
    """Of records that are lost. Raises OSError."""
    names = fs.list(folder) if fs.exists(folder) else []
    missing = (f"{first}..{end - 1}" for first, end in read_missing(fs, folder))
    return frozenset((*(name for name in names if name.startswith(_QUARANTINE)), *missing))
