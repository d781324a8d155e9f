"""The share partitions of one partition of `__share_group_state`, as its records add up to them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from oncelog.coordinator.share.batches import merged, sorted_apart
from oncelog.coordinator.share.state import NOT_SET, SharePartitionKey, ShareState
from oncelog.protocol.internal.records import decode_key, decode_value
from oncelog.protocol.internal.share_state import ShareSnapshotKey, ShareSnapshotValue, ShareUpdateKey, ShareUpdateValue
from oncelog.protocol.names import SHARE_GROUP_STATE


class ShareShard:
    """Changed by `replay` only."""

    newest_record_wins = False  # an update adds to what was before

    def __init__(self, partition: int) -> None:
        self.partition = partition
        self.states: dict[SharePartitionKey, ShareState] = {}

    def replay(
        self, key: bytes, value: bytes | None, *, offset: int, producer_id: int, producer_epoch: int, timestamp_ms: int, content: Any = None
    ) -> None:
        """`content`: of a record just made the key and value that it was encoded from. Keys of unknown types are passed over."""
        if content is None:
            decoded = decode_key(SHARE_GROUP_STATE, key)
            content = decode_value(decoded, value)
        else:
            decoded, content = content
        if isinstance(decoded, ShareSnapshotKey):
            assert content is None or isinstance(content, ShareSnapshotValue)
            self._replay_snapshot(SharePartitionKey(*decoded), content, offset)
        elif isinstance(decoded, ShareUpdateKey) and isinstance(content, ShareUpdateValue):
            self._replay_update(SharePartitionKey(*decoded), content)

    def replay_marker(self, producer_id: int, producer_epoch: int, commit: bool, offset: int) -> None:
        """Nobody writes markers into this log; one that is there means nothing."""

    def _replay_snapshot(self, key: SharePartitionKey, value: ShareSnapshotValue | None, offset: int) -> None:
        before = self.states.get(key)
        if value is None:
            self.states.pop(key, None)
            return
        self.states[key] = ShareState(
            snapshot_epoch=value.snapshot_epoch,
            state_epoch=value.state_epoch,
            leader_epoch=value.leader_epoch,
            highest_leader_epoch=value.leader_epoch if before is None else max(before.highest_leader_epoch, value.leader_epoch),
            start_offset=value.start_offset,
            delivery_complete_count=value.delivery_complete_count,
            batches=sorted_apart(value.state_batches),
            create_timestamp_ms=value.create_timestamp,
            write_timestamp_ms=value.write_timestamp,
            updates=0,
            snapshot_offset=offset,
        )

    def _replay_update(self, key: SharePartitionKey, value: ShareUpdateValue) -> None:
        before = self.states.get(key)
        if before is None:
            self.states[key] = _without_snapshot(value)
            return
        start_offset = before.start_offset if value.start_offset == NOT_SET else value.start_offset
        leader_epoch = before.leader_epoch if value.leader_epoch == NOT_SET else value.leader_epoch
        self.states[key] = replace(
            before,
            leader_epoch=leader_epoch,
            highest_leader_epoch=max(before.highest_leader_epoch, leader_epoch),
            start_offset=start_offset,
            delivery_complete_count=value.delivery_complete_count,
            batches=merged(before.batches, value.state_batches, start_offset),
            updates=before.updates + 1,
        )

    def oldest_needed(self, end: int) -> int:
        """Everything below this offset is said anew further up. `end`: of the log."""
        return min((state.snapshot_offset for state in self.states.values()), default=end)


def _without_snapshot(value: ShareUpdateValue) -> ShareState:
    """An update whose snapshot was cut off, and whose successor is further up; or which damage has taken: it says more than nothing."""
    return ShareState(
        snapshot_epoch=value.snapshot_epoch,
        state_epoch=0,
        leader_epoch=value.leader_epoch,
        highest_leader_epoch=value.leader_epoch,
        start_offset=value.start_offset,
        delivery_complete_count=value.delivery_complete_count,
        batches=value.state_batches,
        create_timestamp_ms=NOT_SET,
        write_timestamp_ms=NOT_SET,
        updates=1,
        snapshot_offset=NOT_SET,
    )
