"""A share group (KIP-932), as its records in `__consumer_offsets` add up to it (Kafka's `ShareGroup`).

    Empty ──a member joins──► Stable ──the last one goes──► Empty

Nobody waits for anybody: a member takes its new target at once, so that for a moment, or for good, several hold one partition. The group
epoch rises with every change that asks for a new target assignment, the assignment epoch is the group epoch the target was made for,
and a member's epoch is the assignment epoch of what it holds.

Only share partitions whose state has been initialized are assigned:

    subscribed ──first heartbeat that sees it──► initializing ──the share coordinator has the state──► initialized
    initialized ──the topic's offsets are deleted──► deleting ──the state is gone──► (nothing)

`replay` is the only place where a group changes. Decisions work on a `Draft`, a copy that replays what they are about to write.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import ClassVar, NamedTuple

from oncelog.coordinator.groups.consumer.assignors import Assignment
from oncelog.coordinator.groups.consumer.state import from_topics, to_topics
from oncelog.coordinator.groups.group_type import GroupType
from oncelog.protocol.internal.share_groups import (
    NamedTopic,
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupCurrentMemberAssignmentValue,
    ShareGroupKey,
    ShareGroupMemberMetadataKey,
    ShareGroupMemberMetadataValue,
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


class ShareGroupState(Enum):
    """The value is what ShareGroupDescribe and ListGroups call it."""

    EMPTY = "Empty"
    STABLE = "Stable"


@dataclass(frozen=True, slots=True)
class ShareMember:
    """A member and what it has been given."""

    member_id: str
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topic_names: tuple[str, ...] = ()
    epoch: int = 0
    previous_epoch: int = 0
    assigned: Assignment = field(default_factory=dict)

    def wants(self) -> ShareGroupMemberMetadataValue:
        """The value of its record type 10: what it asked for."""
        return ShareGroupMemberMetadataValue(self.rack_id, self.client_id, self.client_host, list(self.topic_names))

    def has(self) -> ShareGroupCurrentMemberAssignmentValue:
        """The value of its record type 14: what it has."""
        return ShareGroupCurrentMemberAssignmentValue(self.epoch, self.previous_epoch, 0, to_topics(self.assigned))


class ShareTopic(NamedTuple):
    """Share partitions of one topic."""

    name: str
    partitions: frozenset[int]


Places = Mapping[uuid.UUID, ShareTopic]


@dataclass(slots=True)
class ShareGroup:
    """`initializing`, `initialized`: share partitions by topic; `deleting`: names of topics whose states are being deleted, by id.

    Epochs begin with 1: so has a group that has nothing but start offsets.
    """

    type: ClassVar[GroupType] = GroupType.SHARE
    expires: ClassVar[bool] = False

    group_id: str
    epoch: int = 1
    metadata_hash: int = 0
    assignment_epoch: int = 1
    assignment_timestamp_ms: int = 0
    members: dict[str, ShareMember] = field(default_factory=dict)
    targets: dict[str, Assignment] = field(default_factory=dict)
    initializing: Places = field(default_factory=dict)
    initialized: Places = field(default_factory=dict)
    deleting: Mapping[uuid.UUID, str] = field(default_factory=dict)
    settled: int | None = field(default=None, compare=False, repr=False)  # with topics of this generation nothing is to be done

    # -- questions

    @property
    def state(self) -> ShareGroupState:
        return ShareGroupState.STABLE if self.members else ShareGroupState.EMPTY

    def target_of(self, member_id: str) -> Assignment:
        return self.targets.get(member_id, {})

    def all_subscribed_names(self) -> frozenset[str]:
        return frozenset().union(*(member.topic_names for member in self.members.values()))

    def names(self) -> dict[uuid.UUID, str]:
        """Every topic that share partitions are known of, the deleted ones too."""
        known = {topic_id: topic.name for places in (self.initializing, self.initialized) for topic_id, topic in places.items()}
        return {**self.deleting, **known}

    def given(self) -> set[uuid.UUID]:
        """Topics that members have something of."""
        return {topic_id for member in self.members.values() for topic_id in member.assigned}

    def assigned_partitions(self) -> dict[uuid.UUID, frozenset[int]]:
        """What the target assignment gives to anybody."""
        found: dict[uuid.UUID, frozenset[int]] = {}
        for target in self.targets.values():
            for topic_id, partitions in target.items():
                found[topic_id] = found.get(topic_id, frozenset()) | partitions
        return found

    # -- replay

    def replay(self, key: ShareGroupKey, value: ShareGroupValue | None) -> None:
        """One record of this group; the group's own tombstone is the shard's business."""
        self.settled = None
        match key:
            case ShareGroupMetadataKey() if isinstance(value, ShareGroupMetadataValue):
                self.epoch, self.metadata_hash = value.epoch, value.metadata_hash
            case ShareGroupMemberMetadataKey():
                assert value is None or isinstance(value, ShareGroupMemberMetadataValue)
                self._replay_member(key.member_id, value)
            case ShareGroupTargetAssignmentMetadataKey() if isinstance(value, ShareGroupTargetAssignmentMetadataValue):
                self.assignment_epoch, self.assignment_timestamp_ms = value.assignment_epoch, value.assignment_timestamp
            case ShareGroupTargetAssignmentMemberKey():
                assert value is None or isinstance(value, ShareGroupTargetAssignmentMemberValue)
                if value is None:
                    self.targets.pop(key.member_id, None)
                else:
                    self.targets[key.member_id] = from_topics(value.topic_partitions)
            case ShareGroupCurrentMemberAssignmentKey():
                assert value is None or isinstance(value, ShareGroupCurrentMemberAssignmentValue)
                self._replay_current(key.member_id, value)
            case ShareGroupStatePartitionMetadataKey():
                assert value is None or isinstance(value, ShareGroupStatePartitionMetadataValue)
                value = value if value is not None else ShareGroupStatePartitionMetadataValue()
                self.initializing, self.initialized = _places(value.initializing), _places(value.initialized)
                self.deleting = {topic.topic_id: topic.name for topic in value.deleting}

    def _replay_member(self, member_id: str, value: ShareGroupMemberMetadataValue | None) -> None:
        if value is None:
            self.members.pop(member_id, None)
            return
        self.members[member_id] = replace(
            self.members.get(member_id) or ShareMember(member_id),
            rack_id=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
            topic_names=tuple(value.subscribed_topic_names),
        )

    def _replay_current(self, member_id: str, value: ShareGroupCurrentMemberAssignmentValue | None) -> None:
        old = self.members.get(member_id)
        if value is None:
            if old is not None:
                self.members[member_id] = replace(old, epoch=0, previous_epoch=0, assigned={})
            return
        self.members[member_id] = replace(
            old or ShareMember(member_id),  # compaction may leave this record in front of the member's other one
            epoch=value.member_epoch,
            previous_epoch=value.previous_member_epoch,
            assigned=from_topics(value.assigned_partitions),
        )

    def copy(self) -> ShareGroup:
        """One that can be changed without this one noticing."""
        return replace(self, members=dict(self.members), targets=dict(self.targets))


def to_named(places: Places) -> list[NamedTopic]:
    """As record type 15 holds them, in order."""
    return [NamedTopic(topic_id, topic.name, sorted(topic.partitions)) for topic_id, topic in sorted(places.items()) if topic.partitions]


def _places(topics: Iterable[NamedTopic]) -> dict[uuid.UUID, ShareTopic]:
    return {topic.topic_id: ShareTopic(topic.name, frozenset(topic.partitions)) for topic in topics}
