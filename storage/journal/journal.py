"""The journal of a running broker: what logs append in small pieces, in order, one sync for all of it."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Protocol

from oncelog.storage.env import Buffer, Env, File
from oncelog.storage.journal.frames import BLOCK_BYTES, ENTRY_BYTES, HEAD_BYTES, in_blocks, largest_frame, pack_frame
from oncelog.storage.log.flush import TURN_SECONDS, Flusher, FlushJob, flush_now

JOURNAL_FILES = ("oncelog.journal.0", "oncelog.journal.1")
LEAST_BYTES = 16 * BLOCK_BYTES  # of both files together
LARGEST_BATCH = 64 << 10  # that comes here
_DRAINED_AT_ONCE = 2  # logs that are synced so that a file becomes free

_log = logging.getLogger(__name__)


class JournaledLog(Protocol):
    """What the journal needs of a log."""

    @property
    def request(self) -> Callable[[], None]:
        """Have what was appended synced in its own file, soon."""

    def journal_reached(self, sequence: int) -> None:
        """The frames up to `sequence` are on disk."""

    def journal_failed(self, why: str) -> None:
        """The frame that it waits for will never be."""


class _JournalFile:
    """`prepared`: bytes that are there on disk, to be written over. `owing`: logs that lack on disk, up to an offset, what stands here."""

    __slots__ = ("file", "owing", "path", "prepared")

    def __init__(self, path: Path) -> None:
        self.path = path
        self.file: File | None = None
        self.prepared = 0
        self.owing: dict[JournaledLog, int] = {}


class _FrameWrite:
    """A frame on its way to the disk; on any thread."""

    __slots__ = ("_entries", "_file", "_life", "_position", "_sequence")

    def __init__(self, file: File, position: int, life: bytes, sequence: int, entries: list[Buffer]) -> None:
        self._file = file
        self._position = position
        self._life = life
        self._sequence = sequence
        self._entries = entries

    def datasync(self) -> None:
        self._file.pwrite((pack_frame(self._life, self._sequence, self._entries),), self._position)
        self._file.datasync()


class Journal:
    """Everything on the loop's thread, but for the writes and syncs. `room`: bytes that the frame which is being collected can still take,
    negative while nothing is taken: before the first `tend`, behind the end, and when both files are full. `is_used`: its size is not 0.

    A `FlushTarget`: one frame is on its way at a time, and what comes meanwhile is the next one. So a frame that is found on disk proves
    that all before it were.
    """

    def __init__(self, env: Env, data_dir: Path, flusher: Flusher, size_bytes: int) -> None:
        """`size_bytes`: of both files, at least LEAST_BYTES; 0 for no journal."""
        self._env = env
        self._data_dir = data_dir
        self._flusher = flusher
        self._file_bytes = max(size_bytes, LEAST_BYTES) // (2 * BLOCK_BYTES) * BLOCK_BYTES if size_bytes else 0
        self._frame_bytes = largest_frame(self._file_bytes)
        self._files = tuple(_JournalFile(data_dir / name) for name in JOURNAL_FILES)
        self._active = 0  # of them; the frame that is being collected will stand there, at `_position`
        self._position = 0
        self._life = b""
        self._entries: list[Buffer] = []
        self._sequence = 1  # of the frame that is being collected
        self._waiting: dict[JournaledLog, None] = {}  # for that frame
        self._flying: dict[JournaledLog, None] | None = None  # waiting for the one before, which is on its way
        self._arrived: deque[JournaledLog] = deque()  # to be told
        self._reached = 0  # the newest frame on disk
        self._preparing = False
        self._problem = ""  # why a file could not be prepared, as it was told
        self.is_used = bool(self._file_bytes)
        self._ended = not self.is_used
        self._wanted = False
        self.room = -1

    # -- life

    def want(self) -> None:
        """Somebody appends what should come here: be ready soon."""
        self._wanted = True

    def tend(self) -> None:
        """From time to time, first when every log is on disk and the files of an earlier life are gone."""
        if self._ended or not self._wanted:
            return
        if not self._life:
            self._life = self._env.random.uuid().bytes[:8]
        self._drain()
        self._go_on()
        if self.room < 0:
            self.request()

    def settle(self) -> None:
        """Here and now: what was added is on disk and told, nothing more is taken. The flusher must be closed."""
        self.flush()
        self._end()

    def flush(self) -> None:
        """Here and now: what was added is on disk and told, unless a frame is on its way."""
        while self._flying is None and (self._entries or self._arrived):
            flush_now(self)

    def _end(self) -> None:
        self._ended, self.room = True, -1

    def request(self) -> None:
        """Bring what was added to disk, soon."""
        self._flusher.request(self)

    # -- what is added

    def add(self, log: JournaledLog, head: bytes, batch: bytes, end_offset: int) -> int:
        """A batch that ends below `end_offset`; `head` names its partition. The sequence of its frame. There must be `room` for both."""
        self._entries += (head, batch)
        self.room -= ENTRY_BYTES + len(batch)
        self._waiting[log] = None
        self._files[self._active].owing[log] = end_offset
        return self._sequence

    def last_of_all(self, log: JournaledLog) -> int:
        """The sequence of the frame with which everything added so far is on disk: `log` will be told. 0: all of it is."""
        if self._waiting:
            self._waiting[log] = None
            return self._sequence
        if self._flying is not None:
            self._flying[log] = None
            return self._sequence - 1
        return 0

    # -- frames, as a FlushTarget

    def begin_flush(self) -> FlushJob | None:
        if not self._tell():
            self.request()
            return None
        files: list[_FrameWrite] = []
        if self._entries:
            assert self._flying is None
            file = self._files[self._active].file
            assert file is not None
            files.append(_FrameWrite(file, self._position, self._life, self._sequence, self._entries))
            self._position += in_blocks(HEAD_BYTES + sum(map(len, self._entries)))
            self._flying, self._waiting, self._entries = self._waiting, {}, []
            self._sequence += 1
            self._begin_frame()
        job = FlushJob(self._env.fs, 0, files, ())
        unprepared = self._to_prepare()
        if unprepared is not None:
            self._preparing = True
            size = min(2 * self._frame_bytes, self._file_bytes - unprepared.prepared)
            job.behind = (partial(self._prepare, unprepared, size),)
            job.tidied = partial(self._prepared, unprepared, size)
        return job if files or unprepared is not None else None

    def end_flush(self, job: FlushJob, error: OSError | None) -> None:
        flying, self._flying = self._flying, None
        if error is not None:
            self._fail(error, flying or {})
        elif flying is not None:
            self._reached = self._sequence - 1
            self._arrived.extend(flying)
            if not self._tell():
                self.request()

    def _tell(self) -> bool:
        """Tell logs that their batches are on disk, for as long as a turn of the loop may take; False: there are more to be told."""
        clock = self._env.clock
        stop = clock.monotonic_ms() + TURN_SECONDS * 1000
        while self._arrived:
            self._arrived.popleft().journal_reached(self._reached)
            if self._arrived and clock.monotonic_ms() > stop:
                return False
        return True

    def _fail(self, error: OSError, flying: dict[JournaledLog, None]) -> None:
        """A failed fdatasync is final here too. What earlier frames hold is on disk; the logs get it on their own."""
        _log.error("journal given up, logs are synced one by one error=%s", error)
        waiting, self._waiting, self._entries = self._waiting, {}, []
        self._end()
        for log in flying | waiting:
            log.journal_failed(f"flush failed: {error}")
        for file in self._files:
            for log in tuple(file.owing):
                log.request()

    # -- the files

    def _begin_frame(self) -> None:
        """How much the next frame may hold; it stands in the other file if this one is full and that one free."""
        if self._position + self._frame_bytes > self._file_bytes:
            other = self._files[1 - self._active]
            if other.owing or not other.prepared:
                self.room = -1
                return
            self._active, self._position = 1 - self._active, 0
            self._drain()
        self.room = min(self._frame_bytes, self._files[self._active].prepared - self._position) - HEAD_BYTES

    def _drain(self, logs: int = _DRAINED_AT_ONCE) -> None:
        """Have some of the logs synced that keep the other file from being used again."""
        owing = self._files[1 - self._active].owing
        for log in tuple(islice(owing, logs)):
            owing[log] = owing.pop(log)  # the next time others
            log.request()

    def synced(self, log: JournaledLog, end_offset: int) -> None:
        """`log` is on disk up to `end_offset`, in its own file."""
        for file in self._files:
            if 0 <= file.owing.get(log, -1) <= end_offset:
                del file.owing[log]
                if file is not self._files[self._active]:
                    self._drain(1)
        self._go_on()

    def forget(self, log: JournaledLog) -> None:
        """Nobody wants to have what it appended: its topic was deleted."""
        for file in self._files:
            file.owing.pop(log, None)
        self._go_on()

    def _go_on(self) -> None:
        if self.room < 0 and not self._ended and not self._entries:
            self._begin_frame()

    def _to_prepare(self) -> _JournalFile | None:
        """A file that will soon be written beyond what is prepared of it."""
        if self._preparing or self._ended or not self._life:
            return None
        file, other = self._files[self._active], self._files[1 - self._active]
        if file.prepared < min(self._file_bytes, self._position + 3 * self._frame_bytes // 2):
            return file
        return other if not other.prepared and 2 * self._position >= self._file_bytes else None

    def _prepare(self, file: _JournalFile, size: int) -> None:
        """On any thread: `size` more bytes of it, on disk, so that a frame's sync has nothing to tell the file system. Raises OSError."""
        new = file.file is None
        if file.file is None:
            file.file = self._env.fs.open(file.path, create=True)
        file.file.pwrite((bytes(size),), file.prepared)
        file.file.datasync()
        if new:
            self._env.fs.sync_dir(self._data_dir)

    def _prepared(self, file: _JournalFile, size: int, job: FlushJob) -> None:
        self._preparing = False
        if job.unfinished:
            if self._problem != str(job.problem):
                self._problem = str(job.problem)
                _log.warning("journal not prepared, logs are synced one by one file=%s error=%s", file.path, job.problem)
            return
        self._problem = ""
        file.prepared += size
        if not self._entries:
            self._begin_frame()
