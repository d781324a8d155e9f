"""A data directory written by oncelog itself: plain, idempotent, compressed, transactional, compacted, groups; for audits and moves."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

from oncelog.protocol.internal.records import OffsetCommitKey, OffsetCommitValue, TransactionLogKey, TransactionLogValue
from oncelog.protocol.internal.share_groups import (
    NamedTopic,
    ShareGroupMetadataKey,
    ShareGroupMetadataValue,
    ShareGroupStatePartitionMetadataKey,
    ShareGroupStatePartitionMetadataValue,
)
from oncelog.protocol.internal.share_state import ShareSnapshotKey, ShareSnapshotValue, ShareUpdateKey, ShareUpdateValue, StateBatch
from oncelog.protocol.names import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE, TopicPartition
from oncelog.protocol.primitives import partition_for, uuid_to_kafka
from oncelog.protocol.records import build_batch
from oncelog.storage.config import LogConfig
from oncelog.storage.directory.manager import LogManager
from oncelog.storage.env import FileSystem, system_env
from oncelog.storage.log.log import AppendOrigin, Log

from support.inline import InlineFlusher

FIRST_PRODUCER_ID = 2**40
INTERNAL_PARTITIONS = 50
SMALL = {"internal.segment.bytes": "16384", "index.interval.bytes": "1024"}
COMPACT = {"cleanup.policy": "compact"}


class OurDirectory:
    """Writes through the real LogManager. `close` is an orderly stop; without it the directory is what a kill leaves."""

    def __init__(self, path: Path, fs: FileSystem | None = None) -> None:
        self.env = system_env() if fs is None else replace(system_env(), fs=fs)
        self.logs = LogManager(self.env, path, LogConfig(), InlineFlusher())
        self.logs.start()
        self._ids = itertools.count(FIRST_PRODUCER_ID)

    @property
    def now_ms(self) -> int:
        return self.env.clock.time_ms()

    def log(self, topic: str, partition: int = 0) -> Log:
        found = self.logs.log(TopicPartition(topic, partition))
        assert found is not None
        return found

    def fill(self) -> None:
        self.logs.create_topic("plain", 2, dict(SMALL))
        self.logs.create_topic("codecs", 1, dict(SMALL))
        self.logs.create_topic("idem", 1, dict(SMALL))
        self.logs.create_topic("comp", 1, {**SMALL, **COMPACT})
        self.logs.create_topic("tx", 2, dict(SMALL))
        for internal in (CONSUMER_OFFSETS, TRANSACTION_STATE):
            self.logs.create_topic(internal, INTERNAL_PARTITIONS, {**COMPACT, "segment.bytes": "104857600"})
        for number in range(200):
            self.put("plain", number % 2, [f"value {number} {'x' * 200}"])
        for number in range(50):
            self.put("codecs", 0, [f"value {number}.{part} {'y' * 100}" for part in range(10)], codec=number % 5)
        for number in range(300):
            self.put("comp", 0, [f"state {number}"], key=f"key {number % 20}")
        self.idempotent()
        for number in range(30):
            self.transaction(f"tx-{number % 3}", commit=number % 4 != 0)
        self.commit_offset("billing", "plain", 0, 42)
        self.commit_offset("billing", "plain", 1, 17)
        self.share_state("workers", "plain", 0, StateBatch(5, 8, 0, 2), StateBatch(6, 6, 2, 2), start=5, leader_epoch=3)
        self.share_state("workers", "plain", 1, start=2)
        self.share_group("workers", "plain", [0, 1])

    def put(self, topic: str, partition: int, values: list[str], *, key: str | None = None, codec: int = 0) -> int:
        records = [(self.now_ms, key.encode() if key else None, value.encode()) for value in values]
        return self.log(topic, partition).append(build_batch(records, codec=codec), self.now_ms).base_offset

    def idempotent(self) -> None:
        producer_id = next(self._ids)
        for number in range(0, 120, 3):
            records = [(self.now_ms, None, f"once {number + part} {'z' * 300}".encode()) for part in range(3)]
            batch = build_batch(records, producer_id=producer_id, producer_epoch=0, base_sequence=number)
            self.log("idem").append(batch, self.now_ms)

    def transaction(self, transactional_id: str, *, commit: bool, finish: bool = True) -> None:
        """One transaction on both partitions, as the coordinator of version 0 logs it: every one with its own producer id."""
        producer_id = next(self._ids)
        state = TransactionLogValue(producer_id, 0, 60_000, 1, [("tx", [0, 1])], self.now_ms, self.now_ms, previous_producer_id=producer_id)
        self._log_state(transactional_id, state)
        for partition in (0, 1):
            batch = build_batch(
                [(self.now_ms, None, f"{transactional_id} {'w' * 200}".encode())],
                producer_id=producer_id,
                producer_epoch=0,
                base_sequence=0,
                is_transactional=True,
            )
            self.log("tx", partition).append(batch, self.now_ms, verified=True)
        if not finish:
            return
        state.transaction_status = 2 if commit else 3
        self._log_state(transactional_id, state)
        for partition in (0, 1):
            self.log("tx", partition).append_marker(producer_id, 0, 0, commit, self.now_ms)
        state.transaction_status += 2
        state.transaction_partitions = []
        self._log_state(transactional_id, state)

    def _log_state(self, transactional_id: str, state: TransactionLogValue) -> None:
        record = (self.now_ms, TransactionLogKey(transactional_id).encode(), state.encode())
        log = self.log(TRANSACTION_STATE, partition_for(transactional_id, INTERNAL_PARTITIONS))
        log.append(build_batch([record]), self.now_ms, origin=AppendOrigin.COORDINATOR)

    def commit_offset(self, group: str, topic: str, partition: int, offset: int) -> None:
        record = (
            self.now_ms,
            OffsetCommitKey(group, topic, partition).encode(),
            OffsetCommitValue(offset, commit_timestamp=self.now_ms).encode(),
        )
        log = self.log(CONSUMER_OFFSETS, partition_for(group, INTERNAL_PARTITIONS))
        log.append(build_batch([record], base_sequence=0), self.now_ms, origin=AppendOrigin.COORDINATOR)

    def share_state(self, group: str, topic: str, partition: int, *batches: StateBatch, start: int = 0, leader_epoch: int = 0) -> int:
        """A snapshot and an update of a share partition; where the update stands."""
        if self.logs.topics.get(SHARE_GROUP_STATE) is None:
            self.logs.create_topic(SHARE_GROUP_STATE, INTERNAL_PARTITIONS, {"cleanup.policy": "delete", "retention.ms": "-1"})
        found = self.logs.topics.get(topic)
        assert found is not None
        about = (group, found.topic_id, partition)
        snapshot = ShareSnapshotValue(0, 1, leader_epoch, start, self.now_ms, self.now_ms, batches[:1], 0)
        update = ShareUpdateValue(0, leader_epoch, start, batches[1:], 0)
        for record in ((ShareSnapshotKey(*about), snapshot), (ShareUpdateKey(*about), update)):
            at = self.put_share_record(record[0], record[1].encode())
        return at

    def share_group(self, group: str, topic: str, partitions: list[int]) -> None:
        """A share group without members, whose share partitions of `topic` have a state."""
        found = self.logs.topics.get(topic)
        assert found is not None
        named = [NamedTopic(found.topic_id, topic, partitions)]
        log = self.log(CONSUMER_OFFSETS, partition_for(group, INTERNAL_PARTITIONS))
        for key, value in (
            (ShareGroupMetadataKey(group), ShareGroupMetadataValue(3, 0)),
            (ShareGroupStatePartitionMetadataKey(group), ShareGroupStatePartitionMetadataValue(initialized=named)),
        ):
            batch = build_batch([(self.now_ms, key.encode(), value.encode())], base_sequence=0)
            log.append(batch, self.now_ms, origin=AppendOrigin.COORDINATOR)

    def put_share_record(self, key: ShareSnapshotKey | ShareUpdateKey, value: bytes | None) -> int:
        name = f"{key.group_id}:{uuid_to_kafka(key.topic_id)}:{key.partition}"
        log = self.log(SHARE_GROUP_STATE, partition_for(name, INTERNAL_PARTITIONS))
        return log.append(build_batch([(self.now_ms, key.encode(), value)]), self.now_ms, origin=AppendOrigin.COORDINATOR).base_offset

    def close(self) -> None:
        self.logs.stop()

    def abandon(self) -> None:
        """As a kill: files are closed, nothing is written."""
        self.logs.descriptors.close()
        self.logs.release_lock()
