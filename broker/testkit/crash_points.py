"""Named moments at which a broker can be made to die, known by what it is doing to its disk.

A point dies once, at its `nth` time since it was armed; others may wait beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, NoReturn

from oncelog.coordinator.txn.state import TransactionState
from oncelog.protocol.internal.records import TransactionLogKey, TransactionLogValue, decode_key, decode_value
from oncelog.protocol.names import CONSUMER_OFFSETS, TRANSACTION_STATE
from oncelog.protocol.records import HEADER_SIZE, BatchHeader, iter_records, parse_header

POINTS = {
    "after-prepare": "the decision to commit or abort stands in the transaction log, no marker does",
    "after-marker": "a marker was written; the nth of all",
    "before-complete": "all markers of a transaction are written, the record of its completion is not",
    "before-offsets": "a transaction has data, its offsets are about to be written",
    "mid-write": "half of a batch of records has reached the log",
    "after-sync": "a log was synced, nobody was answered yet",
    "in-roll": "a new segment was made, nothing stands in it",
    "in-snapshot": "a producer snapshot is drafted, not in place",
    "in-compaction-swap": "compacted segments are being put in place of the old ones",
}

_PREPARED = (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)
_COMPLETED = (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)


class Armed(NamedTuple):
    """A point that waits for its turn; `left`: how often it is still to be passed, this time included."""

    point: str
    left: int


@dataclass(slots=True)
class _Write:
    """A batch on its way to a log."""

    topic: str
    header: BatchHeader
    state: TransactionState | None  # what a record of the transaction log says


class CrashPoints:
    """A `Watcher`. `die` ends the process, or drops the broker; it does not return."""

    def __init__(self, die: Callable[[], NoReturn]) -> None:
        self._die = die
        self._left: dict[str, int] = {}
        self.on_change: Callable[[], None] = lambda: None  # told when a point is armed, or none any more

    def arm(self, point: str, nth: int = 1) -> None:
        """Raises ValueError for a point that there is not, and for a count below 1."""
        if point not in POINTS:
            import difflib

            near = difflib.get_close_matches(point, POINTS, n=1)
            raise ValueError(f"no crash point {point}{f'; did you mean {near[0]}?' if near else ''}; there are: {', '.join(POINTS)}")
        if nth < 1:
            raise ValueError(f"nth={nth}: the first time is 1")
        self._left[point] = nth
        self.on_change()

    def armed(self) -> list[Armed]:
        return [Armed(point, left) for point, left in self._left.items()]

    def disarm(self) -> None:
        self._left.clear()
        self.on_change()

    def _pass(self, point: str) -> bool:
        """Whether this is where it ends."""
        left = self._left.get(point)
        if left is None:
            return False
        if left > 1:
            self._left[point] = left - 1
            return False
        self.disarm()
        return True

    # -- Watcher

    @property
    def watches(self) -> bool:
        return bool(self._left)

    def writing(self, path: Path, data: bytes) -> int | None:
        write = _batch(path, data) if self._left else None
        if write is None:
            return None
        if write.state in _COMPLETED and self._pass("before-complete"):
            self._die()
        if _is_offsets(write) and self._pass("before-offsets"):
            self._die()
        if not write.topic.startswith("__") and not write.header.is_control and self._pass("mid-write"):
            return len(data) // 2
        return None

    def written(self, path: Path, data: bytes) -> None:
        write = _batch(path, data) if self._left else None
        if write is None:
            return
        if write.state in _PREPARED and self._pass("after-prepare"):
            self._die()
        if write.header.is_control and self._pass("after-marker"):
            self._die()

    def cut(self, path: Path) -> None:
        self._die()

    def syncing(self, path: Path) -> None:
        """Nothing dies here."""

    def synced(self, path: Path) -> None:
        if path.suffix == ".log" and self._pass("after-sync"):
            self._die()

    def created(self, path: Path) -> None:
        if path.suffix == ".log" and int(path.stem) > 0 and self._pass("in-roll"):
            self._die()

    def replacing(self, path: Path) -> None:
        if path.suffix == ".snapshot" and self._pass("in-snapshot"):
            self._die()

    def renamed(self, old: Path, new: Path) -> None:
        if ".swap" in (old.suffix, new.suffix) and self._pass("in-compaction-swap"):
            self._die()


def _batch(path: Path, data: bytes) -> _Write | None:
    """None for what is no batch of a log."""
    if path.suffix != ".log" or len(data) < HEADER_SIZE:
        return None
    topic = path.parent.name.rpartition("-")[0]
    header = parse_header(data)
    state = _state(data) if topic == TRANSACTION_STATE and not header.is_control else None
    return _Write(topic, header, state)


def _state(data: bytes) -> TransactionState | None:
    record = next(iter_records(data))
    key = decode_key(TRANSACTION_STATE, record.key or b"")
    if not isinstance(key, TransactionLogKey):
        return None
    value = decode_value(key, record.value)
    return TransactionState(value.transaction_status) if isinstance(value, TransactionLogValue) else None


def _is_offsets(write: _Write) -> bool:
    return write.topic == CONSUMER_OFFSETS and write.header.is_transactional and not write.header.is_control
