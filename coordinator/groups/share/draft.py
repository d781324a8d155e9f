"""What decisions about a share group are made with: a draft that replays what it writes.

The record helpers of Kafka's `GroupMetadataManager` and `GroupCoordinatorRecordHelpers`.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping

from oncelog.coordinator.groups.consumer.assignors import Assignment
from oncelog.coordinator.groups.consumer.state import to_topics
from oncelog.coordinator.groups.share.state import Places, ShareGroup, ShareMember, to_named
from oncelog.coordinator.result import CoordinatorRecord
from oncelog.protocol.internal.share_groups import (
    NamedTopic,
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupKey,
    ShareGroupMemberMetadataKey,
    ShareGroupMetadataKey,
    ShareGroupMetadataValue,
    ShareGroupStatePartitionMetadataKey,
    ShareGroupStatePartitionMetadataValue,
    ShareGroupTargetAssignmentMemberKey,
    ShareGroupTargetAssignmentMemberValue,
    ShareGroupTargetAssignmentMetadataKey,
    ShareGroupTargetAssignmentMetadataValue,
    ShareGroupValue,
)


class Draft:
    """`group` is what the group will be once `records` are replayed."""

    def __init__(self, group: ShareGroup) -> None:
        self._original = group
        self.group = group
        self.records: list[CoordinatorRecord] = []

    def write(self, key: ShareGroupKey, value: ShareGroupValue | None) -> None:
        if self.group is self._original:
            self.group = self._original.copy()
        self.group.replay(key, value)
        self.records.append(CoordinatorRecord(key.encode(), None if value is None else value.encode(), (key, value)))

    def put_wants(self, member: ShareMember) -> None:
        """Write what it asks for, if that is new."""
        old = self.group.members.get(member.member_id)
        if old is None or old.wants() != member.wants():
            self.write(ShareGroupMemberMetadataKey(self.group.group_id, member.member_id), member.wants())

    def put_has(self, member: ShareMember) -> None:
        """Write what it has, if that is new."""
        old = self.group.members.get(member.member_id)
        if old is None or old.has() != member.has():
            self.write(ShareGroupCurrentMemberAssignmentKey(self.group.group_id, member.member_id), member.has())

    def remove_member(self, member_id: str) -> None:
        group_id = self.group.group_id
        self.write(ShareGroupCurrentMemberAssignmentKey(group_id, member_id), None)
        self.write(ShareGroupTargetAssignmentMemberKey(group_id, member_id), None)
        self.write(ShareGroupMemberMetadataKey(group_id, member_id), None)

    def put_target(self, member_id: str, target: Assignment) -> None:
        value = ShareGroupTargetAssignmentMemberValue(to_topics(target))
        self.write(ShareGroupTargetAssignmentMemberKey(self.group.group_id, member_id), value)

    def put_epoch(self, epoch: int, metadata_hash: int) -> None:
        self.write(ShareGroupMetadataKey(self.group.group_id), ShareGroupMetadataValue(epoch, metadata_hash))

    def put_assignment_epoch(self, epoch: int, timestamp_ms: int) -> None:
        value = ShareGroupTargetAssignmentMetadataValue(epoch, timestamp_ms)
        self.write(ShareGroupTargetAssignmentMetadataKey(self.group.group_id), value)

    def put_places(self, initializing: Places, initialized: Places, deleting: Mapping[uuid.UUID, str]) -> None:
        """Which share partitions have a state, are about to have one, or are losing it."""
        gone = [NamedTopic(topic_id, name, []) for topic_id, name in sorted(deleting.items())]
        value = ShareGroupStatePartitionMetadataValue(to_named(initializing), to_named(initialized), gone)
        self.write(ShareGroupStatePartitionMetadataKey(self.group.group_id), value)


def group_tombstones(group: ShareGroup) -> tuple[CoordinatorRecord, ...]:
    """The records that remove a group and everybody in it."""
    draft = Draft(group)
    for member_id in sorted(group.members.keys() | group.targets.keys()):
        draft.remove_member(member_id)
    keys: tuple[ShareGroupKey, ...] = (
        ShareGroupTargetAssignmentMetadataKey(group.group_id),
        ShareGroupStatePartitionMetadataKey(group.group_id),
        ShareGroupMetadataKey(group.group_id),
    )
    return (*draft.records, *(CoordinatorRecord(key.encode(), None) for key in keys))
