"""A log manager on the simulated or the real file system, and batches to feed it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from oncelog.protocol.compression import CompressionError
from oncelog.protocol.names import IsolationLevel, TopicPartition
from oncelog.protocol.records import CorruptBatch, build_batch, iter_headers, iter_records
from oncelog.storage.config import LogConfig
from oncelog.storage.directory.manager import LogManager
from oncelog.storage.env import Env, FileSystem, OsFileSystem
from oncelog.storage.log.flush import Flusher
from oncelog.storage.log.log import AppendInfo, Log

from support.inline import InlineFlusher, SeededRandom
from support.simfs import SimFileSystem

T0 = 1_700_000_000_000
TP = TopicPartition("t", 0)
SMALL = {"internal.segment.bytes": "2000", "index.interval.bytes": "100"}


class SetClock:
    def __init__(self, now_ms: int = T0) -> None:
        self.now_ms = now_ms

    def time_ms(self) -> int:
        return self.now_ms

    def monotonic_ms(self) -> float:
        return float(self.now_ms)


class Kit:
    """`restart` stops in an orderly way; `kill` does not (the page cache survives)."""

    def __init__(
        self,
        data_dir: Path,
        fs: FileSystem | None = None,
        flusher: Flusher | None = None,
        *,
        accept_data_loss: bool = False,
        boot_id: str = "",
        **settings: Any,
    ) -> None:
        self.accept_data_loss = accept_data_loss
        self.clock = SetClock()
        self.fs = fs or OsFileSystem()
        self.env = Env(self.clock, SeededRandom(1), self.fs, boot_id)
        self.data_dir = data_dir
        self.flusher = flusher or InlineFlusher()
        self.settings = settings
        self.manager = self.start()

    def start(self, config: LogConfig | None = None) -> LogManager:
        defaults = config or LogConfig(**self.settings)
        self.manager = LogManager(self.env, self.data_dir, defaults, self.flusher, accept_data_loss=self.accept_data_loss)
        self.manager.start()
        return self.manager

    def stop(self) -> None:
        self.manager.stop()
        if isinstance(self.fs, SimFileSystem):
            self.fs._locks.clear()  # its locks end with the process only

    def restart(self) -> Log:
        self.stop()
        self.start()
        return self.log

    def kill(self) -> None:
        self.manager.descriptors.close()
        self.manager.release_lock()

    def __del__(self) -> None:
        self.kill()

    def kill_and_start(self) -> Log:
        self.kill()
        self.start()
        return self.log

    def create(self, **configs: str) -> Log:
        named = {name.replace("_", "."): value for name, value in configs.items()}
        self.manager.create_topic("t", 1, {**SMALL, **named})
        return self.log

    @property
    def log(self) -> Log:
        log = self.manager.log(TP)
        assert log is not None
        return log

    @property
    def folder(self) -> Path:
        return self.data_dir / "t-0"

    def append(self, sequence: int = -1, *, pid: int = -1, epoch: int = 0, txn: bool = False, n: int = 1, **options: Any) -> AppendInfo:
        options.setdefault("verified", txn)
        records = [(self.clock.now_ms, b"k%d" % i, b"v" * 50) for i in range(n)]
        batch = build_batch(
            records,
            producer_id=pid,
            producer_epoch=epoch if pid >= 0 else -1,
            base_sequence=sequence if pid >= 0 else -1,
            is_transactional=txn,
        )
        return self.log.append(batch, self.clock.now_ms, **options)

    def mark(self, pid: int, commit: bool, epoch: int = 0) -> int:
        return self.log.append_marker(pid, epoch, 0, commit, self.clock.now_ms)


def offsets(log: Log, isolation: int = 0, max_bytes: int = 500) -> list[int]:
    """Data offsets that a consumer sees from the log start."""
    found: list[int] = []
    offset = log.log_start_offset
    dropped: set[int] = set()
    while offset < log.readable_end(isolation):
        data = log.read(offset, max_bytes, isolation=IsolationLevel(isolation), min_one_message=True)
        raw = bytes(data.records)
        assert raw, f"nothing at {offset}"
        aborted = sorted(data.aborted or [], key=lambda entry: entry.first_offset)
        for position, header in iter_headers(raw):
            for entry in [entry for entry in aborted if entry.first_offset <= header.last_offset <= entry.last_offset]:
                dropped.add(entry.producer_id)
            if header.is_control:
                dropped.discard(header.producer_id)
            elif not (header.is_transactional and header.producer_id in dropped):
                assert header.base_offset >= offset or header.last_offset >= offset
                batch = raw[position : position + header.size_bytes]
                found += [record.offset for record in iter_records(batch) if record.offset >= log.log_start_offset]
            offset = header.next_offset
    return found


def offset_for_timestamp(log: Log, timestamp: int, isolation: IsolationLevel | int = 0) -> tuple[int, int, int]:
    """`Reader.lookup`, with what it wants of another thread done here."""
    lookup = log.reader.lookup(timestamp, isolation)
    try:
        job = next(lookup)
        while True:
            try:
                made = job()
            except (CorruptBatch, CompressionError) as error:
                job = lookup.throw(error)
            else:
                job = lookup.send(made)
    except StopIteration as end:
        found: tuple[int, int, int] = end.value
        return found
