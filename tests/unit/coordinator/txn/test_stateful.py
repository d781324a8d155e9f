"""Random lives of transactional ids: retries, zombies, time jumps, restarts; and after every step the invariants."""

from __future__ import annotations

from typing import Any, cast

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from oncelog.coordinator.runtime import CoordinatorRuntime
from oncelog.coordinator.txn.shard import TxnShard
from oncelog.coordinator.txn.state import TransactionState as S
from oncelog.protocol.errors import ErrorCode as E
from oncelog.protocol.names import TopicPartition
from oncelog.storage.env import Env
from support.inline import SeededRandom
from support.txn_bench import TIMEOUT_MS, Bench

IDS = ("t", "u", "v")
ids = st.sampled_from(IDS)
partitions = st.integers(0, 3)
INIT_CODES = {E.NONE, E.CONCURRENT_TRANSACTIONS, E.PRODUCER_FENCED}
END_CODES = {E.NONE, E.INVALID_TXN_STATE, E.PRODUCER_FENCED, E.INVALID_PRODUCER_ID_MAPPING}


class TransactionalIds(RuleBasedStateMachine):
    """`pairs`: every pair that was ever given out, so that zombies speak as often as the living."""

    @initialize(level=st.sampled_from([0, 1, 2]), start=st.sampled_from([0, 32765]))
    def begin(self, level: int, start: int) -> None:
        self.bench = Bench(transaction_version=level)
        self.pairs: dict[str, list[tuple[int, int]]] = {id: [] for id in IDS}
        self.committed: set[tuple[str, int, int]] = set()
        self.given: set[tuple[int, int]] = set()
        self.highest: dict[int, int] = {}
        if start:
            for id in IDS:
                self.pairs[id].append(self.bench.force(S.EMPTY, start, id))

    def _pair(self, id: str, back: int) -> tuple[int, int]:
        known = self.pairs[id]
        return known[-1 - back % len(known)] if known else (1, 0)

    @rule(id=ids, back=st.integers(-1, 3))
    def init(self, id: str, back: int) -> None:
        result = self.bench.init(id, (-1, -1) if back < 0 else self._pair(id, back))
        assert result.error in INIT_CODES
        if result.error is E.NONE:
            assert result.producer_epoch <= 32766
            self.pairs[id].append((result.producer_id, result.producer_epoch))
            if back < 0:  # without a pair it is a new instance: nobody may have held this pair before
                assert (result.producer_id, result.producer_epoch) not in self.given
        self.given.add((result.producer_id, result.producer_epoch))

    @rule(id=ids, back=st.integers(0, 2), partition=partitions, implicit=st.booleans())
    def produce(self, id: str, back: int, partition: int, implicit: bool) -> None:
        pair = self._pair(id, back)
        if not implicit:
            self.bench.add(pair, partition, id=id)
        if self.bench.admit(pair, partition, id=id, implicit=implicit) is E.NONE:
            self.bench.logs.at("a", partition).write(*pair, self.bench.clock.now_ms)

    @rule(id=ids, back=st.integers(0, 2), commit=st.booleans(), version=st.sampled_from([3, 5]))
    def end(self, id: str, back: int, commit: bool, version: int) -> None:
        pair = self._pair(id, back)
        result = self.bench.end(pair, commit, version, id)
        allowed = END_CODES | ({E.UNSUPPORTED_VERSION} if self.bench.config["transaction_version"] == 0 else set())
        assert result.error in allowed
        if result.error is E.NONE:
            again = self.bench.end(pair, commit, version, id)
            if version == 3 or self.bench.txn(id).state is not S.EMPTY:
                assert again.error is E.NONE, "a repeated end is answered as the first"
            if version == 5:
                assert result.producer_epoch <= 32766
                self.pairs[id].append((again.producer_id, again.producer_epoch))

    @rule(ms=st.sampled_from([1, 1000, TIMEOUT_MS, TIMEOUT_MS + 1]))
    def wait(self, ms: int) -> None:
        self.bench.advance(ms)

    @rule(id=ids, partition=partitions, bump=st.integers(0, 2), commit=st.booleans())
    def admin_marker(self, id: str, partition: int, bump: int, commit: bool) -> None:
        producer_id, epoch = self._pair(id, 0)
        if epoch + bump <= 32767:
            self.bench.service.write_marker_from_admin(
                producer_id, epoch + bump, 0, commit, [TopicPartition("a", partition)], transaction_version=2
            )

    @rule(id=ids)
    def broken_append(self, id: str) -> None:
        """Whatever is asked while the log refuses: nothing changes."""
        runtime = self.bench.service.runtime
        before = dict(runtime.shard_of(id).transactions)
        log = runtime.log(runtime.partition_for(id))
        log.fail_with = E.KAFKA_STORAGE_ERROR
        self.bench.init(id)
        self.bench.end(self._pair(id, 0), True, 5, id)
        self.bench.add(self._pair(id, 0), 3, id=id)
        log.fail_with = None
        assert runtime.shard_of(id).transactions == before

    @rule()
    def restart(self) -> None:
        before = self._states()
        self.bench = self.bench.restart()
        after = self._states()
        assert after == before, "live state is the state rebuilt from the records"

    def _states(self) -> dict[str, object]:
        return {id: txn for shard in self.bench.service.runtime.shards() for id, txn in shard.transactions.items()}

    @invariant()
    def open_transactions_have_an_owner(self) -> None:
        if not hasattr(self, "bench"):
            return
        txns = {txn.producer_id: txn for shard in self.bench.service.runtime.shards() for txn in shard.transactions.values()}
        for log in self.bench.logs.logs():
            for producer_id, epoch, _ in log.open_transactions():
                txn = txns[producer_id]
                assert txn.state is S.ONGOING
                assert (txn.producer_epoch, log.topic_partition in txn.partitions) == (epoch, True)

    @invariant()
    def replaying_everything_from_zero_gives_the_live_state(self) -> None:
        if not hasattr(self, "bench"):
            return
        live = self.bench.service.runtime
        rebuilt = CoordinatorRuntime(
            Env(self.bench.clock, SeededRandom(1), cast(Any, None)), cast(Any, self.bench.logs), live.topic, live.partitions, {}, TxnShard
        )
        rebuilt.load()
        assert [shard.transactions for shard in rebuilt.shards()] == [shard.transactions for shard in live.shards()]

    @invariant()
    def epochs_only_rise(self) -> None:
        if not hasattr(self, "bench"):
            return
        for shard in self.bench.service.runtime.shards():
            for txn in shard.transactions.values():
                assert txn.producer_epoch >= self.highest.get(txn.producer_id, 0)
                self.highest[txn.producer_id] = txn.producer_epoch


TestTransactionalIds = TransactionalIds.TestCase
TestTransactionalIds.settings = settings(max_examples=50, stateful_step_count=25, deadline=None)
