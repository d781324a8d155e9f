"""Periodic work of a data directory, cut into pieces short enough for the event loop."""

from __future__ import annotations

import importlib
import logging
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oncelog.protocol.errors import KafkaError
from oncelog.storage import checkpoints

if TYPE_CHECKING:
    from oncelog.storage.log import Log
    from oncelog.storage.log_manager import LogManager

HIGH_WATERMARK_INTERVAL_MS = 5_000
CHECKPOINT_INTERVAL_MS = 60_000
RETENTION_INTERVAL_MS = 300_000
_LOGS_PER_PIECE = 64

_log = logging.getLogger(__name__)


class Upkeep:
    """`run` does one piece; call it every second or so."""

    def __init__(self, manager: LogManager) -> None:
        self._manager = manager
        self._doomed: list[tuple[int, Path]] = []
        self._queue: deque[Log] = deque()
        self._next_watermarks = self._next_checkpoints = self._next_round = 0
        self._cleaner: Any = None

    def started(self) -> None:
        now_ms = self._manager.env.clock.time_ms()
        self._next_watermarks = now_ms + HIGH_WATERMARK_INTERVAL_MS
        self._next_checkpoints = now_ms + CHECKPOINT_INTERVAL_MS
        self._next_round = now_ms + 30_000

    def doom(self, folder: Path, due_ms: int) -> None:
        """Remove `folder` when its time has come."""
        self._doomed.append((due_ms, folder))

    def run(self, now_ms: int) -> None:
        try:
            self._purge(now_ms)
            if now_ms >= self._next_checkpoints:
                self._next_checkpoints = now_ms + CHECKPOINT_INTERVAL_MS
                self._next_watermarks = now_ms + HIGH_WATERMARK_INTERVAL_MS
                self.write_checkpoints(everything=True)
            elif now_ms >= self._next_watermarks:
                self._next_watermarks = now_ms + HIGH_WATERMARK_INTERVAL_MS
                self.write_checkpoints(everything=False)
            self._tend(now_ms)
        except OSError as error:
            _log.warning("upkeep put off error=%s", error)

    def _tend(self, now_ms: int) -> None:
        if not self._queue and now_ms >= self._next_round:
            self._next_round = now_ms + RETENTION_INTERVAL_MS
            self._queue.extend(self._manager.logs())
        for _ in range(min(_LOGS_PER_PIECE, len(self._queue))):
            log = self._queue.popleft()
            if log.offline is None:
                log.maintain(now_ms)
                _retention().apply(log, now_ms)
        cleaner = self._get_cleaner()
        if cleaner is not None:
            cleaner.step(now_ms)

    def _get_cleaner(self) -> Any:
        return self._cleaner

    def _purge(self, now_ms: int) -> None:
        due = [folder for due_ms, folder in self._doomed if due_ms <= now_ms]
        self._doomed = [item for item in self._doomed if item[0] > now_ms]
        for folder in due:
            self._manager.env.fs.remove_tree(folder)

    def write_checkpoints(self, *, everything: bool) -> None:
        """High watermarks, and with `everything` recovery points and log starts. Raises OSError."""
        fs, data_dir = self._manager.env.fs, self._manager.data_dir
        logs = self._manager.logs()
        checkpoints.write_offsets(
            fs, data_dir / checkpoints.HIGH_WATERMARKS, {log.topic_partition: log.high_watermark for log in logs}
        )
        if not everything:
            return
        starts = {log.topic_partition: log.log_start_offset for log in logs if log.log_start_offset > log.segments[0].base_offset}
        checkpoints.write_offsets(fs, data_dir / checkpoints.LOG_STARTS, starts)
        points = {log.topic_partition: log.recovery_point for log in logs}
        checkpoints.write_offsets(fs, data_dir / checkpoints.RECOVERY_POINTS, points)


def _retention() -> Any:
    return importlib.import_module("oncelog.storage.retention")


__all__ = ["KafkaError", "Upkeep"]
