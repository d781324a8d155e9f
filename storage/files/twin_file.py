"""A small file of ours in two copies, `NAME` and `NAME.copy`, each with a generation and a CRC; Kafka ignores both.

Both copies hold a change before anybody is told of it, so whatever befalls one of them takes nothing that was told. Of two good copies the
newer generation counts: a crash came between them. Each copy is one line of head and the payload:

    oncelog.topics 2 17 9f3a1b2c
    {"topics":[…]}

Name, version of the frame, generation, CRC-32C (hex) of the line up to the generation and of the payload. Files from before there were
frames hold the bare payload, a JSON object, and count as generation 0.
"""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path
from typing import NamedTuple

from oncelog.protocol.primitives import crc32c
from oncelog.storage.env import FileSystem
from oncelog.storage.files.damaged_file import DamagedFile

VERSION = 2
COPY = ".copy"
DAMAGED = ".damaged"
_HEAD = re.compile(rb"([a-z.]+ (\d{1,9}) (\d{1,18})) ([0-9a-f]{8})\n")

_log = logging.getLogger(__name__)


class Framed(NamedTuple):
    """What a frame holds; generation 0: it had none."""

    generation: int
    payload: bytes


class Examined(NamedTuple):
    """Both copies of a file as they are. `problems`: (path, why) of copies that are damaged or ought to be there."""

    newest: Framed | None
    problems: tuple[tuple[Path, str], ...]
    alike: bool


def frame(name: str, generation: int, payload: bytes) -> bytes:
    """The bytes of a file; `parse_frame` takes them apart."""
    head = f"{name} {VERSION} {generation}".encode()
    return b"%s %08x\n%s" % (head, crc32c(payload, crc32c(head)), payload)


def parse_frame(name: str, data: bytes) -> Framed:
    """Raises DamagedFile."""
    if data.startswith(b"{"):
        return Framed(0, _bare(data))
    match = _HEAD.match(data)
    if match is None or not match[1].startswith(name.encode() + b" "):
        raise DamagedFile(f"does not begin with a line `{name} {VERSION} GENERATION CRC`")
    payload = data[match.end() :]
    if crc32c(payload, crc32c(match[1])) != int(match[4], 16):
        raise DamagedFile("wrong CRC")
    if int(match[2]) != VERSION:
        raise DamagedFile(f"version {int(match[2])} of a later oncelog")
    return Framed(int(match[3]), payload)


def _bare(data: bytes) -> bytes:
    try:
        json.loads(data)
    except ValueError as error:
        raise DamagedFile(f"no JSON: {error}") from error
    return data


def copy_of(path: Path) -> Path:
    return path.with_name(path.name + COPY)


def stood(fs: FileSystem, path: Path) -> bool:
    """Is there a trace of this file in two copies, be it damaged?"""
    if fs.exists(copy_of(path)):
        return True
    try:
        return fs.read(path).startswith(path.name.encode() + b" ")
    except OSError:
        return False


def examine(fs: FileSystem, path: Path) -> Examined:
    """Read both copies and change nothing."""
    found: dict[Path, Framed] = {}
    problems: list[tuple[Path, str]] = []
    missing: list[Path] = []
    for place in (path, copy_of(path)):
        try:
            found[place] = parse_frame(path.name, fs.read(place))
        except FileNotFoundError:
            missing.append(place)
        except (OSError, DamagedFile) as error:
            problems.append((place, str(error)))
    newest = max(found.values(), key=lambda one: one.generation, default=None)
    if (newest is not None and newest.generation > 1) or (newest is None and problems):  # else its first write was perhaps cut off
        problems += [(place, "missing") for place in missing]
    alike = len(found) == 2 and len(set(found.values())) == 1 and newest is not None and newest.generation > 0
    return Examined(newest, tuple(problems), alike)


class TwinFile:
    """Reads and writes both copies; `generation` is that of the newest write."""

    def __init__(self, fs: FileSystem, path: Path) -> None:
        self._fs = fs
        self.path = path
        self.generation = 0

    def read(self) -> bytes | None:
        """The payload, None when there is no copy at all. A copy that is not as it should be is written again, with one line of the log.

        Raises DamagedFile when no copy is good, OSError.
        """
        newest, problems, alike = examine(self._fs, self.path)
        if newest is None:
            if problems:
                raise DamagedFile("; ".join(f"{place}: {why}" for place, why in problems))
            return None
        self.generation = newest.generation
        if problems:
            told = ", ".join(f"{place.name} ({why})" for place, why in problems)
            _log.warning("restored from its other copy file=%s generation=%d damaged=%s", self.path, newest.generation, told)
        if not alike:
            self.write(newest.payload)
        return newest.payload

    def write(self, payload: bytes) -> None:
        """Replace both copies; on disk when it returns. Raises OSError: where room or the disk failed before the first copy was replaced
        nothing has changed."""
        self.generation += 1
        self._fs.write_atomic(self.path, frame(self.path.name, self.generation, payload), copy_of(self.path))

    def set_aside(self) -> list[str]:
        """Have damaged copies out of the way, and kept; the names they bear now. Raises OSError."""
        kept = []
        for place in (self.path, copy_of(self.path)):
            if self._fs.exists(place):
                self._fs.rename(place, place.with_name(place.name + DAMAGED))
                kept.append(place.name + DAMAGED)
        return kept
