"""What a journal holds that was not emptied: read at a start after a kill or a power cut, for the logs to take what they lack.

Nothing is taken out of a log because of the journal. A file that ends in a torn frame is as a power cut leaves it: nobody was told of that
frame. A frame that is missing although a later one is there was damaged: what it held the logs have, unless the power went too; one line
of the log says so, and the files are kept aside.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

from oncelog.protocol.records import parse_header
from oncelog.storage.env import FileSystem
from oncelog.storage.journal.frames import Frame, entries_of, largest_frame, whole_frames
from oncelog.storage.journal.journal import JOURNAL_FILES

_log = logging.getLogger(__name__)


class JournaledBatches:
    """Those of one log, by base offset, below `end`."""

    __slots__ = ("_batches", "_end")

    def __init__(self, batches: Mapping[int, memoryview], end: int = 1 << 63) -> None:
        self._batches = batches
        self._end = end

    def __len__(self) -> int:
        return len(self._batches)

    def reach(self, offset: int) -> int:
        """The offset behind those that follow each other from `offset` on."""
        while (batch := self._batches.get(offset)) is not None:
            offset = parse_header(batch).next_offset
        return offset

    def below(self, end: int) -> JournaledBatches:
        """Those that belong in front of offset `end`, where another segment begins."""
        return JournaledBatches(self._batches, min(end, self._end))

    def run(self, offset: int, highest: int, most_bytes: int) -> bytes:
        """The batches that follow each other from `offset` on: at most so many bytes, and no offset above `highest`."""
        found: list[memoryview] = []
        size = 0
        while offset < self._end and (batch := self._batches.get(offset)) is not None:
            size += len(batch)
            offset = parse_header(batch).next_offset
            if size > most_bytes or offset - 1 > highest:
                break
            found.append(batch)
        return b"".join(found)


NOTHING = JournaledBatches({})


class FoundJournal:
    """All that the files hold. `damaged`: frames that were on disk and are not any more. `keep`: the files are not to be thrown away."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.damaged: list[str] = []
        self.keep = False
        self._is_there = bool(files)
        self._batches: dict[tuple[bytes, int], dict[int, memoryview]] = {}
        found = [(len(data), frames) for data in files.values() if (frames := _rising(memoryview(data)))]
        found.sort(key=lambda one: one[1][-1].sequence)
        before: Frame | None = None
        for _, frames in found:
            last = found[-1][1][-1]
            torn = frames is not found[-1][1] and last.end + largest_frame(found[-1][0]) > found[-1][0]  # the other is full: begun again
            for frame in frames:
                if before is not None and frame.life == before.life and frame.sequence > before.sequence + 1 and not torn:
                    self.damaged.append(f"{before.sequence + 1}..{frame.sequence - 1}")
                before = frame
                self._add(frame)

    def _add(self, frame: Frame) -> None:
        for topic_id, partition, batch in entries_of(frame):
            self._batches.setdefault((topic_id, partition), {})[int.from_bytes(batch[:8])] = batch

    def of(self, topic_id: bytes, partition: int) -> JournaledBatches:
        """NOTHING, and no other, where there is no journal."""
        return JournaledBatches(self._batches.get((topic_id, partition), {})) if self._is_there else NOTHING

    def __len__(self) -> int:
        return sum(map(len, self._batches.values()))


def _rising(data: memoryview) -> list[Frame]:
    """The frames of one file without what is left of the time before it was last begun again: their sequences would fall."""
    frames: list[Frame] = []
    for frame in whole_frames(data):
        if not frames or (frame.life == frames[0].life and frame.sequence > frames[-1].sequence):
            frames.append(frame)
    return frames


def read_journal(fs: FileSystem, data_dir: Path) -> FoundJournal:
    """Without a journal nothing. A file that cannot be read counts as damage."""
    files = {}
    problems = []
    for name in JOURNAL_FILES:
        try:
            files[name] = fs.read(data_dir / name)
        except FileNotFoundError:
            continue
        except OSError as error:
            problems.append(f"{name} {error}")
    found = FoundJournal(files)
    found.damaged += problems
    return found


def find_journal(fs: FileSystem, data_dir: Path) -> FoundJournal:
    """What an earlier life left, for logs to take what they lack; damage is logged. Raises OSError."""
    for name in JOURNAL_FILES:
        if fs.exists(data_dir / name):
            _sync(fs, data_dir / name)
    found = read_journal(fs, data_dir)
    found.keep = bool(found.damaged)
    if found.damaged:
        _log.error("journal damaged, what the logs have of it is served folder=%s frames=%s", data_dir, ",".join(found.damaged))
    if len(found):
        _log.info("journal replayed folder=%s batches=%d", data_dir, len(found))
    return found


def pass_over_journal(fs: FileSystem, data_dir: Path) -> FoundJournal:
    """Another broker has written since: what the journal has is of another time."""
    found = FoundJournal({})
    found.keep = any(fs.exists(data_dir / name) for name in JOURNAL_FILES)
    if found.keep:
        _log.warning("journal not replayed, another broker has written since, kept aside folder=%s", data_dir)
    return found


def _sync(fs: FileSystem, path: Path) -> None:
    """A frame of a killed process is perhaps not on disk: no log may get there before it. Raises OSError."""
    file = fs.open(path)
    try:
        file.datasync()
    finally:
        file.close()


def clear_journal(fs: FileSystem, data_dir: Path, *, keep: bool) -> None:
    """The logs have on disk what they could take; `keep`: the files stay there under another name. Raises OSError."""
    present = [name for name in JOURNAL_FILES if fs.exists(data_dir / name)]
    for name in present:
        if keep:
            fs.rename(data_dir / name, data_dir / f"quarantine-{name}")
        else:
            fs.unlink(data_dir / name)
    if present:  # it must not come back behind what is written from now on
        fs.sync_dir(data_dir)
