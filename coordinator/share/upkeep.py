"""Keeping `__share_group_state` short: what has not been written anew for long is, and everything below the oldest snapshot that is still
needed is cut off (Kafka's `ShareCoordinatorOffsetsManager`, and two timers of `ShareCoordinatorService`).

One partition a turn. What is cut off is said anew by records above, and it goes only once those are on disk.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from itertools import islice

from oncelog.coordinator.result import Result
from oncelog.coordinator.runtime import CoordinatorRuntime
from oncelog.coordinator.share.config import ShareCoordinatorConfig
from oncelog.coordinator.share.decisions import cold_snapshot, tombstone
from oncelog.coordinator.share.shard import ShareShard
from oncelog.coordinator.share.state import SharePartitionKey
from oncelog.protocol.errors import KafkaError

_PIECE = 100  # share partitions written anew in a turn

_log = logging.getLogger(__name__)


class ShareUpkeep:
    """`exists`: is there still such a partition?"""

    def __init__(
        self, runtime: CoordinatorRuntime[ShareShard], config: ShareCoordinatorConfig, exists: Callable[[SharePartitionKey], bool]
    ) -> None:
        self._runtime = runtime
        self._config = config
        self._exists = exists
        self._sweeping = False
        self._sweep_again = False
        self._begun = False

    def start(self) -> None:
        """Once everything is loaded."""
        if any(not self._is_new(partition) for partition in range(self._runtime.partitions)):
            self.begin()
        self.sweep()

    def begin(self) -> None:
        """From the first write on, once: who uses no share groups is not woken for them."""
        if not self._begun:
            self._begun = True
            now_ms = self._runtime.now_ms()
            self._every(self._config.cold_partition_snapshot_interval_ms, self._write_cold, now_ms)
            self._every(self._config.state_topic_prune_interval_ms, self._prune, now_ms)

    def _every(self, interval_ms: int, work: Callable[[int], bool], now_ms: float) -> None:
        def begin(now_ms: float) -> None:
            self._walk(work, 0, now_ms, lambda: self._every(interval_ms, work, self._runtime.now_ms()))

        self._runtime.schedule(now_ms + interval_ms, begin)

    def _walk(self, work: Callable[[int], bool], partition: int, now_ms: float, done: Callable[[], None]) -> None:
        """Do `work`, which says whether there is more of it, for this partition and, a turn later, for what follows."""
        while partition < self._runtime.partitions and self._is_new(partition):
            partition += 1
        if partition >= self._runtime.partitions:
            done()
            return
        following = partition if work(partition) else partition + 1
        self._runtime.schedule(now_ms, lambda later_ms: self._walk(work, following, later_ms, done))

    def _is_new(self, partition: int) -> bool:
        """Nothing was ever written there."""
        return not self._runtime.shard(partition).states and self._runtime.end(partition) is None

    # -- snapshots of what nobody writes to

    def _write_cold(self, partition: int) -> bool:
        shard, end = self._runtime.shard(partition), self._runtime.end(partition)
        if end is None or end.offset - shard.oldest_needed(end.offset) <= len(shard.states):
            return False  # one record each: nothing would be gained
        oldest_ms = self._runtime.now_ms() - self._config.cold_partition_snapshot_interval_ms
        due = (key for key, state in shard.states.items() if state.write_timestamp_ms <= oldest_ms)
        keys = list(islice(due, _PIECE))

        def decide(shard: ShareShard, now_ms: int) -> Result[None]:
            return Result(None, tuple(cold_snapshot(key, shard.states[key], now_ms) for key in keys))

        return self._write(partition, decide, keys)

    def _write(self, partition: int, decide: Callable[[ShareShard, int], Result[None]], keys: list[SharePartitionKey]) -> bool:
        if not keys:
            return False
        try:
            self._runtime.write_to(partition, decide)
        except KafkaError as refused:
            _log.warning("share state not written anew partition=%d share_partitions=%d error=%s", partition, len(keys), refused)
            return False
        return len(keys) == _PIECE

    # -- cutting

    def _prune(self, partition: int) -> bool:
        end = self._runtime.end(partition)
        if end is None:
            return False
        needed = self._runtime.shard(partition).oldest_needed(end.offset)

        def cut(error: KafkaError | None) -> None:
            if error is None:
                self._runtime.log(partition).advance_log_start(needed)

        try:
            self._runtime.when_durable(end, cut)
        except KafkaError as refused:
            _log.warning("share state not cut partition=%d error=%s", partition, refused)
        return False

    # -- what became of deleted topics

    def sweep(self) -> None:
        """Forget, soon, what is known of partitions that are not there any more."""
        if self._sweeping:
            self._sweep_again = True
            return
        self._sweeping = True
        now_ms = self._runtime.now_ms()
        self._runtime.schedule(now_ms, lambda now_ms: self._walk(self._forget, 0, now_ms, self._swept))

    def _swept(self) -> None:
        self._sweeping = False
        if self._sweep_again:
            self._sweep_again = False
            self.sweep()

    def _forget(self, partition: int) -> bool:
        shard = self._runtime.shard(partition)
        gone = list(islice((key for key in shard.states if not self._exists(key)), _PIECE))
        return self._write(partition, lambda _shard, _now_ms: Result(None, tuple(map(tombstone, gone))), gone)
