"""A real data directory with a transaction coordinator on it, and what a client sees of one partition, by value."""

from __future__ import annotations

from pathlib import Path

from oncelog.coordinator.txn.config import TxnConfig
from oncelog.coordinator.txn.producer_ids import kept_in
from oncelog.coordinator.txn.service import TxnService
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import TopicPartition
from oncelog.protocol.records import build_batch
from oncelog.storage.config import LogConfig
from oncelog.storage.directory.manager import LogManager
from oncelog.storage.env import Env, OsFileSystem
from oncelog.storage.files.metadata_store import MetadataStore
from oncelog.storage.log.log import Log

from support.inline import InlineFlusher, SeededRandom
from support.stock_reader import read_values
from support.txn_bench import TIMEOUT_MS, HandClock, now

PLACE = TopicPartition("r", 0)
OTHER = TopicPartition("u", 0)
SMALL = {"internal.segment.bytes": "2500", "index.interval.bytes": "200"}


class TxnDirectory:
    """The process that serves `data_dir`: logs and transactions, no socket. `close` is an orderly stop, `kill` is not."""

    def __init__(self, data_dir: Path, now_ms: int | None = None, *, journal_bytes: int = 0) -> None:
        self.data_dir = data_dir
        self.clock = HandClock()
        if now_ms is not None:
            self.clock.now_ms = now_ms
        env = Env(self.clock, SeededRandom(2), OsFileSystem())
        self.logs = LogManager(env, data_dir, LogConfig(journal_bytes=journal_bytes), InlineFlusher())
        self.logs.start()
        self.service = TxnService(env, self.logs, TxnConfig(state_log_num_partitions=2), kept_in(MetadataStore(env, data_dir)))
        self.service.start()

    def close(self) -> None:
        self.logs.stop()

    def kill(self) -> None:
        self.logs.descriptors.close()
        self.logs.release_lock()

    def log(self, place: TopicPartition = PLACE) -> Log:
        log = self.logs.log(place)
        assert log is not None
        return log

    def put(
        self,
        value: bytes,
        pair: tuple[int, int] = (-1, -1),
        sequence: int = -1,
        id: str | None = None,
        place: TopicPartition = PLACE,
    ) -> int:
        """Produce one record; its offset."""
        if id is not None:
            verdicts, _ = self.service.admit(id, *pair, [place], implicit_add=True)
            assert verdicts[place] is ErrorCode.NONE
        batch = build_batch(
            [(self.clock.now_ms, b"k", value)],
            producer_id=pair[0],
            producer_epoch=pair[1],
            base_sequence=sequence,
            is_transactional=id is not None,
        )
        return self.log(place).append(batch, self.clock.now_ms, verified=id is not None, tv2=id is not None).base_offset

    def init(self, id: str | None) -> tuple[int, int]:
        for _ in range(3):
            result = now(self.service.init_producer_id(id, TIMEOUT_MS, -1, -1))
            if result.error is ErrorCode.NONE:
                return result.producer_id, result.producer_epoch
        raise AssertionError(result)

    def end(self, id: str, pair: tuple[int, int], commit: bool, *, api_version: int = 5) -> tuple[int, int]:
        """With an older version the epoch stays."""
        result = now(self.service.end_txn(id, *pair, commit, api_version=api_version))
        assert result.error is ErrorCode.NONE, result
        return result.producer_id, result.producer_epoch

    def let_time_out(self) -> None:
        """Every open transaction is too old."""
        self.clock.now_ms += TIMEOUT_MS + 1
        self.service.tick(self.clock.now_ms)

    def values(self, committed: bool, place: TopicPartition = PLACE, max_bytes: int = 700) -> list[bytes]:
        """What a stock client reads from the log start on."""
        return read_values(self.log(place), committed=committed, max_bytes=max_bytes)


def fill(data_dir: Path) -> TxnDirectory:
    """Three segments or more of plain, idempotent, committed (`c…`), aborted (`a…`) records, and one transaction left open (`o`)."""
    made = TxnDirectory(data_dir)
    for place in (PLACE, OTHER):
        made.logs.create_topic(place.topic, 1, dict(SMALL))
    idempotent, pair = made.init(None), made.init("t")
    number = 0
    while len(made.log().segments) < 4 or not 1000 < made.log().active_segment.size < 1400:
        made.clock.now_ms += 7
        made.put(b"p%02d" % number + b"." * 30)
        made.put(b"i%02d" % number + b"." * 30, idempotent, number)
        commit = number % 3 != 1
        made.put((b"c%02d" if commit else b"a%02d") % number + b"." * 30, pair, 0, "t")
        pair = made.end("t", pair, commit)
        made.put(b"u%02d" % number, place=OTHER)
        number += 1
    made.put(b"o", made.init("open"), 0, "open")
    for sequence in range(number, number + 6):
        made.put(b"i%02d" % sequence + b"." * 30, idempotent, sequence)
    assert len(made.log().segments) == 4
    return made
