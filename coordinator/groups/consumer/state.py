"""A consumer group of the new protocol (KIP-848), as its records in `__consumer_offsets` add up to it (Kafka's `ConsumerGroup`).

    Empty ──a member joins──► Assigning ──target made──► Reconciling ──every member has its target──► Stable
      ▲                          ▲   ▲                        │                                          │
      │                          │   └── subscriptions, topics or members change (group epoch + 1) ──────┘
      └── the last member goes ──┴────────────────────────────┘

The state is not stored: it follows from three epochs. The group epoch rises with every change that asks for a new target assignment,
the assignment epoch is the group epoch the target was made for, and a member's epoch is the assignment epoch it has reached. A member
reaches it in steps (`MemberState`): it gives up what it shall not keep, says so, and only then those partitions are given to others.

`replay` is the only place where a group changes. Decisions work on a `Draft`, a copy that replays what they are about to write.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import Enum, IntEnum
from typing import ClassVar, NamedTuple

from oncelog.coordinator.groups.consumer.assignors import Assignment, Place
from oncelog.coordinator.groups.group_type import GroupType
from oncelog.protocol.internal.consumer_groups import (
    ClassicMemberMetadata,
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupKey,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
    ConsumerGroupValue,
)
from oncelog.protocol.internal.group_fields import AssignedTopic
from oncelog.protocol.topics import Topics

LEAVE_EPOCH = -1
STATIC_LEAVE_EPOCH = -2  # a static member that is away for a while keeps its partitions until its session ends


class ConsumerGroupState(Enum):
    """The value is what ConsumerGroupDescribe and ListGroups call it."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"
    DEAD = "Dead"


class MemberState(IntEnum):
    """How far a member is on the way to its target; the value is what its record holds (Kafka's `MemberState`)."""

    STABLE = 1
    UNREVOKED_PARTITIONS = 2  # it has been told to give partitions up and has not said yet that it did
    UNRELEASED_PARTITIONS = 3  # it waits for partitions that others have not given up
    UNKNOWN = 127


@dataclass(frozen=True, slots=True)
class ConsumerMember:
    """A member. `assigned`: what it has been given; `revoking`: what it must give up and may still have."""

    member_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topic_names: tuple[str, ...] = ()
    topic_regex: str | None = None
    rebalance_timeout_ms: int = -1
    server_assignor: str | None = None
    classic: ClassicMemberMetadata | None = None
    epoch: int = 0
    previous_epoch: int = 0
    state: MemberState = MemberState.STABLE
    assigned: Assignment = field(default_factory=dict)
    revoking: Assignment = field(default_factory=dict)

    def wants(self) -> ConsumerGroupMemberMetadataValue:
        """The value of its record type 5: what it asked for."""
        return ConsumerGroupMemberMetadataValue(
            self.instance_id,
            self.rack_id,
            self.client_id,
            self.client_host,
            list(self.topic_names),
            self.topic_regex,
            self.rebalance_timeout_ms,
            self.server_assignor,
            self.classic,
        )

    def has(self) -> ConsumerGroupCurrentMemberAssignmentValue:
        """The value of its record type 8: what it has."""
        return ConsumerGroupCurrentMemberAssignmentValue(
            self.epoch, self.previous_epoch, int(self.state), to_topics(self.assigned), to_topics(self.revoking)
        )


class ResolvedRegex(NamedTuple):
    """The topics a regular expression matched."""

    topics: frozenset[str]
    version: int
    timestamp_ms: int


@dataclass(slots=True)
class ConsumerGroup:
    """`owners`: who holds a partition, also one that it is giving up. `named`, `regex_uses`: how many members ask for a topic by name, use
    a regular expression: with a thousand members nobody may look at all of them for each heartbeat."""

    type: ClassVar[GroupType] = GroupType.CONSUMER
    expires: ClassVar[bool] = True

    group_id: str
    epoch: int = 0
    metadata_hash: int = 0
    assignment_epoch: int = 0
    assignment_timestamp_ms: int = 0
    members: dict[str, ConsumerMember] = field(default_factory=dict)
    static_members: dict[str, str] = field(default_factory=dict)
    targets: dict[str, Assignment] = field(default_factory=dict)
    regexes: dict[str, ResolvedRegex] = field(default_factory=dict)
    owners: dict[Place, str] = field(default_factory=dict)
    named: dict[str, int] = field(default_factory=dict)
    regex_uses: dict[str, int] = field(default_factory=dict)
    _all_names: frozenset[str] | None = field(default=None, compare=False, repr=False)  # until one comes or goes
    hashed: tuple[frozenset[str], Topics, int, int] | None = field(
        default=None, compare=False, repr=False
    )  # names, topics as of: their hash

    # -- questions

    @property
    def state(self) -> ConsumerGroupState:
        if not self.members:
            return ConsumerGroupState.EMPTY
        if self.epoch > self.assignment_epoch:
            return ConsumerGroupState.ASSIGNING
        if all(m.state is MemberState.STABLE and m.epoch == self.assignment_epoch for m in self.members.values()):
            return ConsumerGroupState.STABLE
        return ConsumerGroupState.RECONCILING

    def target_of(self, member_id: str) -> Assignment:
        return self.targets.get(member_id, {})

    def static_member(self, instance_id: str) -> ConsumerMember | None:
        """Who holds the instance id."""
        member_id = self.static_members.get(instance_id)
        return self.members[member_id] if member_id is not None else None

    def subscribed_names(self, member: ConsumerMember) -> frozenset[str]:
        """Topics by name and, once it is resolved, by regular expression."""
        names = frozenset(member.topic_names)
        resolved = self.regexes.get(member.topic_regex) if member.topic_regex else None
        return names | resolved.topics if resolved is not None else names

    def all_subscribed_names(self) -> frozenset[str]:
        """The same object as long as nothing comes or goes."""
        if self._all_names is None:
            matched = (self.regexes[regex].topics for regex in self.regex_uses if regex in self.regexes)
            self._all_names = frozenset(self.named).union(*matched)
        return self._all_names

    def used_regexes(self) -> set[str]:
        return set(self.regex_uses)

    def preferred_assignor(self, default: str) -> str:
        """The one that most members ask for."""
        votes: dict[str, int] = {}
        for member in self.members.values():
            if member.server_assignor is not None:
                votes[member.server_assignor] = votes.get(member.server_assignor, 0) + 1
        return max(sorted(votes), key=votes.__getitem__) if votes else default

    def classic_members(self) -> list[ConsumerMember]:
        return [member for member in self.members.values() if member.classic is not None]

    # -- replay

    def replay(self, key: ConsumerGroupKey, value: ConsumerGroupValue | None) -> None:
        """One record of this group; the group's own tombstone is the shard's business."""
        match key:
            case ConsumerGroupMetadataKey() if isinstance(value, ConsumerGroupMetadataValue):
                self.epoch, self.metadata_hash = value.epoch, value.metadata_hash
            case ConsumerGroupMemberMetadataKey():
                assert value is None or isinstance(value, ConsumerGroupMemberMetadataValue)
                self._replay_member(key.member_id, value)
            case ConsumerGroupTargetAssignmentMetadataKey() if isinstance(value, ConsumerGroupTargetAssignmentMetadataValue):
                self.assignment_epoch, self.assignment_timestamp_ms = value.assignment_epoch, value.assignment_timestamp
            case ConsumerGroupTargetAssignmentMemberKey():
                assert value is None or isinstance(value, ConsumerGroupTargetAssignmentMemberValue)
                if value is None:
                    self.targets.pop(key.member_id, None)
                else:
                    self.targets[key.member_id] = from_topics(value.topic_partitions)
            case ConsumerGroupCurrentMemberAssignmentKey():
                assert value is None or isinstance(value, ConsumerGroupCurrentMemberAssignmentValue)
                self._replay_current(key.member_id, value)
            case ConsumerGroupRegularExpressionKey():
                assert value is None or isinstance(value, ConsumerGroupRegularExpressionValue)
                self._all_names = None
                if value is None:
                    self.regexes.pop(key.regular_expression, None)
                else:
                    topics = frozenset(value.topics)
                    self.regexes[key.regular_expression] = ResolvedRegex(topics, value.version, value.timestamp)

    def _replay_member(self, member_id: str, value: ConsumerGroupMemberMetadataValue | None) -> None:
        old = self.members.get(member_id)
        if old is not None and old.instance_id is not None and self.static_members.get(old.instance_id) == member_id:
            del self.static_members[old.instance_id]
        if value is None:
            if old is not None:
                self._release(old)
                self._count(old, -1)
                del self.members[member_id]
            return
        if value.instance_id is not None:
            self.static_members[value.instance_id] = member_id
        member = self.members[member_id] = replace(
            old if old is not None else ConsumerMember(member_id),
            instance_id=value.instance_id,
            rack_id=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
            topic_names=tuple(value.subscribed_topic_names),
            topic_regex=value.subscribed_topic_regex,
            rebalance_timeout_ms=value.rebalance_timeout_ms,
            server_assignor=value.server_assignor,
            classic=value.classic_member_metadata,
        )
        self._count(member, 1)
        if old is not None:
            self._count(old, -1)

    def _count(self, member: ConsumerMember, by: int) -> None:
        """One member more, or less, that asks for what `member` asks for."""
        for uses, wanted in ((self.named, member.topic_names), (self.regex_uses, (member.topic_regex,) if member.topic_regex else ())):
            for each in wanted:
                count = uses.get(each, 0)
                if count + by:
                    uses[each] = count + by
                else:
                    del uses[each]
                if not count or not count + by:
                    self._all_names = None

    def _replay_current(self, member_id: str, value: ConsumerGroupCurrentMemberAssignmentValue | None) -> None:
        old = self.members.get(member_id)
        if old is None:
            if value is None:
                return
            old = ConsumerMember(member_id)  # compaction may leave this record in front of the member's other one
        self._release(old)
        if value is None:
            self.members[member_id] = replace(old, epoch=0, previous_epoch=0, state=MemberState.STABLE, assigned={}, revoking={})
            return
        member = replace(
            old,
            epoch=value.member_epoch,
            previous_epoch=value.previous_member_epoch,
            state=MemberState(value.state) if value.state in _STATES else MemberState.UNKNOWN,
            assigned=from_topics(value.assigned_partitions),
            revoking=from_topics(value.partitions_pending_revocation),
        )
        self.members[member_id] = member
        for place in _places(member):
            self.owners[place] = member_id

    def _release(self, member: ConsumerMember) -> None:
        for place in _places(member):
            if self.owners.get(place) == member.member_id:
                del self.owners[place]

    def copy(self) -> ConsumerGroup:
        """One that can be changed without this one noticing."""
        return replace(
            self,
            members=dict(self.members),
            static_members=dict(self.static_members),
            targets=dict(self.targets),
            regexes=dict(self.regexes),
            owners=dict(self.owners),
            named=dict(self.named),
            regex_uses=dict(self.regex_uses),
        )


_STATES = frozenset(int(state) for state in MemberState)


def _places(member: ConsumerMember) -> Iterable[Place]:
    for assignment in (member.assigned, member.revoking):
        for topic_id, partitions in assignment.items():
            for partition in partitions:
                yield Place(topic_id, partition)


def to_topics(assignment: Assignment) -> list[AssignedTopic]:
    """As records hold it, in order."""
    return [AssignedTopic(topic_id, sorted(partitions)) for topic_id, partitions in sorted(assignment.items()) if partitions]


def from_topics(topics: Iterable[AssignedTopic]) -> dict[uuid.UUID, frozenset[int]]:
    return {topic.topic_id: frozenset(topic.partitions) for topic in topics if topic.partitions}


def union(one: Assignment, other: Assignment) -> Assignment:
    """Partitions of either."""
    return {topic_id: one.get(topic_id, frozenset()) | other.get(topic_id, frozenset()) for topic_id in {**one, **other}}
