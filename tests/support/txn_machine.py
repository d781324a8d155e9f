"""The transaction service on real logs in a simulated file system."""

from __future__ import annotations

from pathlib import Path

from oncelog.coordinator.txn.config import TxnConfig
from oncelog.coordinator.txn.end_txn import EndTxnResult
from oncelog.coordinator.txn.producer_ids import kept_in
from oncelog.coordinator.txn.service import TxnService
from oncelog.protocol import records
from oncelog.protocol.errors import ErrorCode as E
from oncelog.protocol.errors import KafkaError
from oncelog.protocol.names import IsolationLevel, TopicPartition
from oncelog.storage.config import LogConfig
from oncelog.storage.directory.manager import LogManager
from oncelog.storage.env import Env
from oncelog.storage.files.metadata_store import MetadataStore
from oncelog.storage.log.log import Log

from support.inline import InlineFlusher, SeededRandom
from support.simfs import SimFileSystem
from support.txn_bench import TIMEOUT_MS, HandClock, now

DATA = Path("/data")
COMMITTED = IsolationLevel.READ_COMMITTED


class Machine:
    """A data directory and the process that serves it."""

    def __init__(self, seed: int = 1, partitions: int = 4) -> None:
        self.clock = HandClock()
        self.fs = SimFileSystem(seed, self.clock.time_ms)
        self.partitions = partitions
        self.start()
        if self.logs.topics.get("a") is None:
            self.logs.create_topic("a", partitions)

    def start(self) -> None:
        env = Env(self.clock, SeededRandom(2), self.fs)
        self.logs = LogManager(env, DATA, LogConfig(), InlineFlusher())
        self.logs.start()
        self.service = TxnService(env, self.logs, TxnConfig(state_log_num_partitions=5), kept_in(MetadataStore(env, DATA)))
        self.service.start()

    def kill(self) -> None:
        self.fs.kill()
        self.clock.now_ms += 10
        self.start()

    def power_cut(self) -> None:
        self.fs.crash()
        self.clock.now_ms += 10
        self.start()

    def log(self, partition: int) -> Log:
        log = self.logs.log(TopicPartition("a", partition))
        assert log is not None
        return log

    def produce(self, pair: tuple[int, int], partition: int, sequence: int, value: bytes = b"v", id: str | None = "t") -> int:
        """Produce v12 of one record; its offset."""
        batch = records.build_batch(
            [(self.clock.now_ms, b"k", value)],
            producer_id=pair[0],
            producer_epoch=pair[1],
            base_sequence=sequence,
            is_transactional=id is not None,
        )
        if id is not None:
            verdicts, _ = self.service.admit(id, *pair, [TopicPartition("a", partition)], implicit_add=True)
            if verdicts[TopicPartition("a", partition)] is not E.NONE:
                raise KafkaError(verdicts[TopicPartition("a", partition)])
        log = self.log(partition)
        info = log.append(batch, self.clock.now_ms, verified=id is not None, tv2=id is not None)
        log.flush()
        return info.base_offset

    def init(self, id: str = "t", pair: tuple[int, int] = (-1, -1)) -> tuple[int, int]:
        result = now(self.service.init_producer_id(id, TIMEOUT_MS, *pair))
        if result.error is not E.NONE:
            raise KafkaError(result.error)
        return result.producer_id, result.producer_epoch

    def end(self, pair: tuple[int, int], commit: bool = True, version: int = 5, id: str = "t") -> EndTxnResult:
        return now(self.service.end_txn(id, *pair, commit, api_version=version))

    def committed(self, partition: int) -> list[bytes]:
        """What a consumer of committed data gets."""
        log = self.log(partition)
        offset, values = log.log_start_offset, list[bytes]()
        while offset < log.last_stable_offset:
            data = log.read(offset, 1 << 20, isolation=COMMITTED, min_one_message=True)
            aborted = [(each.producer_id, each.first_offset, each.last_offset) for each in data.aborted or ()] if data.aborted else []
            view = memoryview(bytes(data.records))
            moved = False
            for position, header in records.iter_headers(view):
                if header.base_offset >= log.last_stable_offset:
                    break
                moved, offset = True, header.next_offset
                hidden = header.is_transactional and any(
                    pid == header.producer_id and first <= header.base_offset <= last for pid, first, last in aborted
                )
                if not header.is_control and not hidden:
                    batch = view[position : position + header.size_bytes]
                    values += [bytes(record.value or b"") for record in records.iter_records(batch)]
            if not moved:
                break
        return values
