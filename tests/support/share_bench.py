"""A share coordinator on logs in memory, with a clock that moves when told to."""

from __future__ import annotations

from typing import Any, cast

from oncelog.coordinator.deferred import Deferred, Reply
from oncelog.coordinator.share.config import ShareCoordinatorConfig
from oncelog.coordinator.share.persister import PersistedState, SharePartitionKey, SharePersister, StateBatch, StateSummary
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.internal.records import InternalKey, InternalValue, decode_key, decode_value
from oncelog.protocol.names import SHARE_GROUP_STATE
from oncelog.storage.env import Env

from support.inline import SeededRandom
from support.memory_logs import MemoryLogs
from support.txn_bench import HandClock

AVAILABLE, ACKNOWLEDGED, ARCHIVED = 0, 2, 4


def batch(first: int, last: int, state: int = AVAILABLE, count: int = 1) -> StateBatch:
    return StateBatch(first, last, state, count)


class ShareBench:
    """`restart` gives the next one on what is left of the disk."""

    def __init__(self, logs: MemoryLogs | None = None, *, clock: HandClock | None = None, **config: Any) -> None:
        self.clock = clock or HandClock()
        self.config = {"state_topic_num_partitions": 3, **config}
        if logs is None:
            logs = MemoryLogs()
            logs.create_topic("orders", 4)
        self.logs = logs
        env = Env(self.clock, SeededRandom(1), cast(Any, None))
        self.persister = SharePersister(env, cast(Any, logs), ShareCoordinatorConfig(**self.config))
        self.persister.start()

    def restart(self, logs: MemoryLogs | None = None) -> ShareBench:
        return ShareBench(logs or self.logs, clock=self.clock, **self.config)

    def key(self, partition: int = 0, group: str = "g") -> SharePartitionKey:
        topic = self.logs.topics.get("orders")
        assert topic is not None
        return SharePartitionKey(group, topic.topic_id, partition)

    def advance(self, ms: int) -> None:
        """Let so much time pass, and have done what is due then."""
        self.clock.now_ms += ms
        while (deadline := self.persister.next_deadline_ms()) is not None and deadline <= self.clock.now_ms:
            self.persister.tick(self.clock.now_ms)

    def initialize(self, key: SharePartitionKey, state_epoch: int = 0, start_offset: int = 0) -> ErrorCode:
        return settled(self.persister.initialize(key, state_epoch, start_offset))

    def write(
        self, key: SharePartitionKey, *batches: StateBatch, state_epoch: int = 0, leader_epoch: int = 0, start: int = 0, complete: int = -1
    ) -> ErrorCode:
        return settled(self.persister.write(key, state_epoch, leader_epoch, start, complete, batches))

    def read(self, key: SharePartitionKey, leader_epoch: int = 0) -> PersistedState | ErrorCode:
        return settled(self.persister.read(key, leader_epoch))

    def summary(self, key: SharePartitionKey) -> StateSummary | ErrorCode:
        return settled(self.persister.summary([key]))[0]

    def delete(self, *keys: SharePartitionKey) -> list[ErrorCode]:
        return settled(self.persister.delete(keys))

    def records(self) -> list[tuple[InternalKey, InternalValue | None]]:
        """Those of all partitions, each in the order written."""
        found = []
        for partition in range(self.persister.runtime.partitions):
            for key, value in self.logs.at(SHARE_GROUP_STATE, partition).values():
                decoded = decode_key(SHARE_GROUP_STATE, key or b"")
                found.append((decoded, decode_value(decoded, value)))
        return found


def settled(reply: Reply[Any]) -> Any:
    """What a reply holds; it must be there."""
    return reply.result() if isinstance(reply, Deferred) else reply
