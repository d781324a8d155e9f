"""When open transactions time out and idle transactional ids are forgotten.

Every open transaction has its own deadline. Kafka looks for late ones every ten seconds instead, and so do we when
`transaction.abort.timed.out.transaction.cleanup.interval.ms` asks for it.
"""

from __future__ import annotations

from collections.abc import Callable

from oncelog.coordinator.runtime import CoordinatorRuntime
from oncelog.coordinator.txn.config import TxnConfig
from oncelog.coordinator.txn.shard import TxnShard

RETRY_MS = 100


class TxnTimeouts:
    """At most one timer an id: it is looked at again when it rings, by then the transaction may be another one."""

    def __init__(
        self,
        runtime: CoordinatorRuntime[TxnShard],
        config: TxnConfig,
        abort: Callable[[str], None],
        expire: Callable[[], None],
    ) -> None:
        self._runtime = runtime
        self._abort = abort
        self._expire = expire
        self._expire_every_ms = config.remove_expired_interval_ms
        self._sweep_every_ms = config.timeout_sweep_ms
        self._rings_at: dict[str, float] = {}

    def start(self) -> None:
        """Begin watching everything that was loaded."""
        now_ms = self._runtime.now_ms()
        self._runtime.schedule(now_ms + self._expire_every_ms, self._expire_and_go_on)
        if self._sweep_every_ms is not None:
            self._runtime.schedule(now_ms + self._sweep_every_ms, self._sweep)
            return
        for shard in self._runtime.shards():
            for id in shard.transactions:
                self.watch(id)

    def watch(self, transactional_id: str, not_before_ms: float = 0) -> None:
        """A transaction was perhaps opened; have it aborted at its deadline."""
        if self._sweep_every_ms is not None:
            return
        txn = self._runtime.shard_of(transactional_id).get(transactional_id)
        if txn is None or txn.deadline_ms is None:
            return
        deadline_ms = max(txn.deadline_ms, not_before_ms)
        if self._rings_at.get(transactional_id, deadline_ms + 1) <= deadline_ms:
            return
        self._rings_at[transactional_id] = deadline_ms
        self._runtime.schedule(deadline_ms, lambda now_ms: self._ring(transactional_id, deadline_ms, now_ms))

    def _ring(self, transactional_id: str, deadline_ms: float, now_ms: float) -> None:
        if self._rings_at.get(transactional_id) != deadline_ms:
            return  # replaced by an earlier one
        del self._rings_at[transactional_id]
        self._abort(transactional_id)
        self.watch(transactional_id, now_ms + RETRY_MS)  # its log refused, or the id is pending

    def _sweep(self, now_ms: float) -> None:
        for shard in self._runtime.shards():
            for txn in list(shard.transactions.values()):
                if txn.deadline_ms is not None and txn.deadline_ms <= now_ms:
                    self._abort(txn.transactional_id)
        assert self._sweep_every_ms is not None
        self._runtime.schedule(now_ms + self._sweep_every_ms, self._sweep)

    def _expire_and_go_on(self, now_ms: float) -> None:
        self._expire()
        self._runtime.schedule(now_ms + self._expire_every_ms, self._expire_and_go_on)
