"""A transaction service on logs in memory, with a clock that moves when told to."""

from __future__ import annotations

from typing import Any, TypeVar, cast

from oncelog.coordinator.deferred import Deferred, Reply
from oncelog.coordinator.txn.config import TxnConfig
from oncelog.coordinator.txn.end_txn import EndTxnResult
from oncelog.coordinator.txn.init_producer_id import InitProducerIdResult
from oncelog.coordinator.txn.producer_ids import ProducerIds
from oncelog.coordinator.txn.service import TxnService
from oncelog.coordinator.txn.state import TransactionMetadata, TransactionState
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import TopicPartition
from oncelog.storage.env import Env

from support.inline import SeededRandom
from support.memory_logs import MemoryLogs

T = TypeVar("T")
T0 = 1_700_000_000_000
TIMEOUT_MS = 60_000


class HandClock:
    def __init__(self, now_ms: int = T0) -> None:
        self.now_ms = now_ms

    def time_ms(self) -> int:
        return self.now_ms

    def monotonic_ms(self) -> float:
        return float(self.now_ms)


class Bench:
    """One service and what surrounds it; `restart` gives the next one on what is left of the disk."""

    def __init__(
        self, logs: MemoryLogs | None = None, *, clock: HandClock | None = None, next_id: int | None = None, **config: Any
    ) -> None:
        self.clock = clock or HandClock()
        self.config = config
        if logs is None:
            logs = MemoryLogs()
            logs.create_topic("a", 4)
            logs.create_topic("__consumer_offsets", 50)
        self.logs = logs
        self.next_block = next_id
        self.offsets_markers: list[tuple[int, int, int, bool, int]] = []
        self.ids = ProducerIds(next_id, self._persist)
        env = Env(self.clock, SeededRandom(1), logs.fs)
        self.service = TxnService(env, cast(Any, logs), TxnConfig(**config), self.ids)
        self.service.on_offsets_marker(lambda *marker: self.offsets_markers.append(marker))
        self.service.start()

    def _persist(self, value: int) -> None:
        self.next_block = value

    def restart(self, logs: MemoryLogs | None = None) -> Bench:
        """A new process on `logs`, or on everything written so far."""
        left = logs or self.logs.after_kill(len(self.logs.journal))
        return Bench(left, clock=self.clock, next_id=self.next_block, **self.config)

    def advance(self, ms: int) -> None:
        self.clock.now_ms += ms
        self.service.tick(self.clock.now_ms)

    # -- requests, answered at once

    def init(
        self, id: str | None = "t", pair: tuple[int, int] = (-1, -1), timeout_ms: int = TIMEOUT_MS, **flags: bool
    ) -> InitProducerIdResult:
        return now(self.service.init_producer_id(id, timeout_ms, *pair, **flags))

    def add(self, pair: tuple[int, int], *partitions: int, id: str = "t", topic: str = "a", client_version: int = 0) -> ErrorCode:
        wanted = [TopicPartition(topic, partition) for partition in partitions]
        return now(self.service.add_partitions(id, *pair, wanted, client_version=client_version))

    def end(self, pair: tuple[int, int], commit: bool, version: int = 5, id: str = "t") -> EndTxnResult:
        return now(self.service.end_txn(id, *pair, commit, api_version=version))

    def admit(self, pair: tuple[int, int], *partitions: int, id: str = "t", implicit: bool = True) -> ErrorCode:
        wanted = [TopicPartition("a", partition) for partition in partitions]
        verdicts, _ = self.service.admit(id, *pair, wanted, implicit_add=implicit)
        return next(iter(verdicts.values()))

    def produce(self, pair: tuple[int, int], *partitions: int, id: str = "t") -> None:
        """Produce v12: add, then append, in one turn."""
        assert self.admit(pair, *partitions, id=id) is ErrorCode.NONE
        for partition in partitions:
            self.logs.at("a", partition).write(*pair, self.clock.now_ms)

    def txn(self, id: str = "t") -> TransactionMetadata:
        found = self.service.runtime.shard_of(id).get(id)
        assert found is not None
        return found

    def brief(self, id: str = "t") -> tuple[str, int, int, int]:
        """(state, producer id, epoch, last epoch), as section 15 writes it."""
        txn = self.txn(id)
        return txn.state.wire_name, txn.producer_id, txn.producer_epoch, txn.last_producer_epoch

    def force(
        self, state: TransactionState, epoch: int, id: str = "t", *, last: int = -1, partitions: tuple[int, ...] = ()
    ) -> tuple[int, int]:
        """Put an id into a state by its record, as if history had led there; its pair."""
        from oncelog.coordinator.result import Result
        from oncelog.coordinator.txn.shard import TransactionLogFormat

        pair = self.init(id)
        before = self.txn(id)
        after = before._replace(
            state=state,
            producer_epoch=epoch,
            last_producer_epoch=last,
            partitions=frozenset(TopicPartition("a", partition) for partition in partitions),
            start_timestamp_ms=self.clock.now_ms if state is TransactionState.ONGOING else -1,
        )
        record = TransactionLogFormat(2).record(after)
        self.service.runtime.write(id, lambda shard, now_ms: Result(None, (record,)))
        return pair.producer_id, epoch


def now(reply: Reply[T]) -> T:
    """The answer, which has to be there."""
    assert not isinstance(reply, Deferred), "the answer waits for the disk"
    return reply
