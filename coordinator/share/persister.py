"""The persister: what serves share groups keeps its state here (Kafka's `Persister` and `ShareCoordinatorService`).

Same process, no wire between: an answer is there, or comes when what it says is on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from oncelog.coordinator.deferred import Reply, all_of
from oncelog.coordinator.result import Result
from oncelog.coordinator.runtime import CoordinatorRuntime
from oncelog.coordinator.share import decisions
from oncelog.coordinator.share.config import ShareCoordinatorConfig
from oncelog.coordinator.share.decisions import Change, Known
from oncelog.coordinator.share.shard import ShareShard
from oncelog.coordinator.share.state import PersistedState, SharePartitionKey, StateSummary
from oncelog.coordinator.share.upkeep import ShareUpkeep
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.internal.share_state import StateBatch
from oncelog.protocol.names import SHARE_GROUP_STATE
from oncelog.storage.directory.manager import LogManager
from oncelog.storage.env import Env

__all__ = ["PersistedState", "SharePartitionKey", "SharePersister", "StateBatch", "StateSummary"]


class SharePersister:
    """Until `start()` returned everybody is told that the coordinator is loading (14)."""

    def __init__(self, env: Env, logs: LogManager, config: ShareCoordinatorConfig) -> None:
        self.config = config
        self.runtime: CoordinatorRuntime[ShareShard] = CoordinatorRuntime(
            env, logs, SHARE_GROUP_STATE, config.state_topic_num_partitions, config.topic_configs(), ShareShard
        )
        self._topics = logs.topics
        self._upkeep = ShareUpkeep(self.runtime, config, self.exists)

    # -- life

    def start(self) -> None:
        """Load."""
        self.runtime.load()
        self._upkeep.start()

    def tick(self, now_ms: float) -> None:
        """Carry out what is due."""
        self.runtime.tick(now_ms)

    def next_deadline_ms(self) -> float | None:
        return self.runtime.next_deadline_ms()

    def on_earlier(self, listener: Callable[[float], None]) -> None:
        """Have `listener(deadline_ms)` called when something is to be done before everything else that is scheduled."""
        self.runtime.timers.on_earlier = listener

    def on_topic_deleted(self, name: str) -> None:
        """What is known of its partitions is forgotten; with our own topic, which an administrator may delete, everything."""
        if name == SHARE_GROUP_STATE:
            self.runtime.load()
        elif not self.runtime.loading:
            self._upkeep.sweep()

    def exists(self, key: SharePartitionKey) -> bool:
        """Is there such a partition?"""
        topic = self._topics.by_id(key.topic_id)
        return topic is not None and 0 <= key.partition < topic.partitions

    # -- what leaders and the group coordinator ask for

    def initialize(self, key: SharePartitionKey, state_epoch: int, start_offset: int) -> Reply[ErrorCode]:
        """Begin a life of a share partition: its records are available from `start_offset` on (-1: to be decided by the first fetch).

        124: there is a later life; 3: no such partition.
        """
        return self._submit(key, lambda known, now_ms: decisions.initialize(known, state_epoch, start_offset, now_ms))

    def read(self, key: SharePartitionKey, leader_epoch: int) -> Reply[PersistedState | ErrorCode]:
        """All of it, for the partition's leader. 42: never initialized; 74: there is a later leader; 3: no such partition."""
        return self._submit_read(key, lambda known, now_ms: decisions.read(known, leader_epoch, self._per_snapshot, now_ms))

    def write(
        self,
        key: SharePartitionKey,
        state_epoch: int,
        leader_epoch: int,
        start_offset: int,
        delivery_complete_count: int,
        batches: Sequence[StateBatch],
    ) -> Reply[ErrorCode]:
        """Add `batches`, and take over the start offset (-1: unchanged) and the count of finished records above it.

        42: never initialized; 74, 124: there is a later leader, a later life; 3: no such partition; -1: more than a record can hold.
        """
        change = Change(state_epoch, leader_epoch, start_offset, delivery_complete_count, batches)
        return self._submit(key, lambda known, now_ms: decisions.write(known, change, self._per_snapshot, now_ms))

    def summary(self, keys: Sequence[SharePartitionKey]) -> Reply[list[StateSummary | ErrorCode]]:
        """How far each is, in the order asked for."""
        return all_of([self._summary(key) for key in keys])

    def delete(self, keys: Sequence[SharePartitionKey]) -> Reply[list[ErrorCode]]:
        """Forget them, be there such partitions or not; what is not known is no error. Verdicts in the order asked for."""
        return all_of([self._submit(key, lambda known, _now_ms: decisions.delete(known.key, known.state)) for key in keys])

    # -- inside

    @property
    def _per_snapshot(self) -> int:
        return self.config.snapshot_update_records_per_snapshot

    def _summary(self, key: SharePartitionKey) -> Reply[StateSummary | ErrorCode]:
        def decide(shard: ShareShard, _now_ms: int) -> Result[StateSummary | ErrorCode]:
            return Result(decisions.summary(shard.states.get(key)))

        return self.runtime.submit(key.coordinator_key, decide, refused=lambda code: code)

    def _submit(self, key: SharePartitionKey, decide: Callable[[Known, int], Result[ErrorCode]]) -> Reply[ErrorCode]:
        self._upkeep.begin()
        return self.runtime.submit(
            key.coordinator_key, lambda shard, now_ms: decide(self._known(shard, key), now_ms), refused=lambda code: code
        )

    def _submit_read(
        self, key: SharePartitionKey, decide: Callable[[Known, int], Result[PersistedState | ErrorCode]]
    ) -> Reply[PersistedState | ErrorCode]:
        return self.runtime.submit(
            key.coordinator_key, lambda shard, now_ms: decide(self._known(shard, key), now_ms), refused=lambda code: code
        )

    def _known(self, shard: ShareShard, key: SharePartitionKey) -> Known:
        return Known(key, shard.states.get(key), self.exists(key))
