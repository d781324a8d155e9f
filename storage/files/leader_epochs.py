"""`leader-epoch-checkpoint`: where each leader epoch begins (Kafka's `LeaderEpochFileCache`).

Batches written here carry the newest epoch known, 0 in a directory of our own.
"""

from __future__ import annotations

from bisect import bisect_right
from pathlib import Path

from oncelog.storage.env import FileSystem
from oncelog.storage.files.checkpoints import LEADER_EPOCHS, read_epochs, write_epochs

UNDEFINED = (-1, -1)


class LeaderEpochs:
    """(epoch, start offset) pairs, both rising. `dirty` until `save` was called."""

    __slots__ = ("_fs", "_path", "dirty", "entries")

    def __init__(self, fs: FileSystem, folder: Path) -> None:
        self._fs = fs
        self._path = folder / LEADER_EPOCHS
        self.entries: list[tuple[int, int]] = []
        self.dirty = False

    def load(self) -> None:
        self.entries = read_epochs(self._fs, self._path)

    @property
    def latest(self) -> int:
        return self.entries[-1][0] if self.entries else -1

    def assign(self, epoch: int, start_offset: int) -> None:
        """A batch of `epoch` stands at `start_offset`; entries without a batch behind them give way."""
        if self.entries and epoch <= self.entries[-1][0]:
            return
        while self.entries and self.entries[-1][1] >= start_offset:
            self.entries.pop()
        self.entries.append((epoch, start_offset))
        self.dirty = True

    def truncate_from_end(self, end_offset: int) -> None:
        """Entries that start behind the log end are stale; one AT the end is the leader's that has not written yet."""
        kept = [entry for entry in self.entries if entry[1] <= end_offset]
        self.dirty |= len(kept) != len(self.entries)
        self.entries = kept

    def truncate_from_start(self, start_offset: int) -> None:
        """Entries below the log start go; the first kept one starts at it."""
        slot = bisect_right(self.entries, start_offset, key=lambda entry: entry[1]) - 1
        if slot >= 0 and (slot > 0 or self.entries[0][1] < start_offset):
            self.entries = [(self.entries[slot][0], start_offset), *self.entries[slot + 1 :]]
            self.dirty = True

    def epoch_of(self, offset: int) -> int:
        slot = bisect_right(self.entries, offset, key=lambda entry: entry[1]) - 1
        return self.entries[slot][0] if slot >= 0 else -1

    def end_offset_for(self, epoch: int, log_end_offset: int) -> tuple[int, int]:
        """(epoch, end offset) of the largest epoch <= the asked one; (-1, -1) when it is unknown (`endOffsetFor`)."""
        if epoch < 0 or not self.entries or epoch > self.latest:
            return UNDEFINED
        if epoch == self.latest:
            return epoch, log_end_offset
        slot = bisect_right(self.entries, epoch, key=lambda entry: entry[0])
        floor = self.entries[slot - 1][0] if slot else epoch
        return floor, self.entries[slot][1]

    def save(self) -> None:
        """Durable when it returns. Raises OSError."""
        self.dirty = False
        try:
            write_epochs(self._fs, self._path, self.entries)
        except OSError:
            self.dirty = True
            raise
