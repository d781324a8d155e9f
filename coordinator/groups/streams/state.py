"""A streams group (KIP-1071), as its records in `__consumer_offsets` add up to it (Kafka's `StreamsGroup`).

    Empty ──a member joins──► NotReady ──topics fit──► Assigning ──target made──► Reconciling ──every member has its target──► Stable
      ▲                          ▲                       ▲   ▲                         │                                          │
      │                          └── topics do not fit ──┤   └── members, topics, configs change (group epoch + 1) ───────────────┘
      └── the last member goes ──────────────────────────┘

The state is not stored: it follows from the topology epoch that was found to fit its topics and from three more epochs, as in consumer
groups: that of the group, that of the target assignment, that of each member. What is handed out are tasks, not partitions.

`replay` is the only place where a group changes. Decisions work on a `Draft`, a copy that replays what they are about to write.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from enum import Enum, IntEnum
from typing import ClassVar, NamedTuple

from oncelog.coordinator.groups.group_type import GroupType
from oncelog.coordinator.groups.streams.tasks import (
    HAS_NO_TASKS,
    NO_TASKS,
    HeldTasks,
    Task,
    TaskSets,
    each,
    from_ids,
    from_ids_with_epochs,
    to_ids,
    to_ids_with_epochs,
)
from oncelog.protocol.internal.streams_groups import (
    Endpoint,
    StreamsGroupCurrentMemberAssignmentKey,
    StreamsGroupCurrentMemberAssignmentValue,
    StreamsGroupKey,
    StreamsGroupMemberMetadataKey,
    StreamsGroupMemberMetadataValue,
    StreamsGroupMetadataKey,
    StreamsGroupMetadataValue,
    StreamsGroupTargetAssignmentMemberKey,
    StreamsGroupTargetAssignmentMemberValue,
    StreamsGroupTargetAssignmentMetadataKey,
    StreamsGroupTargetAssignmentMetadataValue,
    StreamsGroupTopologyKey,
    StreamsGroupValue,
)
from oncelog.protocol.internal.streams_topology import KeyValue, StreamsGroupTopologyValue
from oncelog.protocol.names import TopicPartition

NO_TOPOLOGY = -1
_NOBODY: frozenset[str] = frozenset()


class StreamsGroupState(Enum):
    """The value is what StreamsGroupDescribe and ListGroups call it."""

    EMPTY = "Empty"
    NOT_READY = "NotReady"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"
    DEAD = "Dead"


class StreamsMemberState(IntEnum):
    """How far a member is on the way to its target; the value is what its record holds (Kafka's `MemberState`)."""

    STABLE = 1
    UNREVOKED_TASKS = 2  # it has been told to give tasks up and has not said yet that it did
    UNRELEASED_TASKS = 3  # it waits for tasks that others have not given up
    UNKNOWN = 127


@dataclass(frozen=True, slots=True)
class StreamsMember:
    """A stream thread. `assigned`: what it has been given; `revoking`: what it must give up and may still have."""

    member_id: str
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int = -1
    topology_epoch: int = NO_TOPOLOGY
    process_id: str = ""
    user_endpoint: Endpoint | None = None
    client_tags: tuple[KeyValue, ...] = ()
    epoch: int = 0
    previous_epoch: int = 0
    state: StreamsMemberState = StreamsMemberState.STABLE
    assigned: HeldTasks = HAS_NO_TASKS
    revoking: HeldTasks = HAS_NO_TASKS

    def is_who(self) -> StreamsGroupMemberMetadataValue:
        """The value of its record type 19."""
        return StreamsGroupMemberMetadataValue(
            self.instance_id,
            self.rack_id,
            self.client_id,
            self.client_host,
            self.rebalance_timeout_ms,
            self.topology_epoch,
            self.process_id,
            self.user_endpoint,
            list(self.client_tags),
        )

    def has(self) -> StreamsGroupCurrentMemberAssignmentValue:
        """The value of its record type 22."""
        return StreamsGroupCurrentMemberAssignmentValue(
            self.epoch,
            self.previous_epoch,
            int(self.state),
            to_ids_with_epochs(self.assigned.active),
            to_ids(self.assigned.standby),
            to_ids(self.assigned.warmup),
            to_ids_with_epochs(self.revoking.active),
            to_ids(self.revoking.standby),
            to_ids(self.revoking.warmup),
        )


@dataclass(slots=True)
class StreamsGroup:
    """`owners`: who runs a task, or still does while giving it up; `followers`: who has it as a standby, likewise."""

    type: ClassVar[GroupType] = GroupType.STREAMS
    expires: ClassVar[bool] = True

    group_id: str
    epoch: int = 0
    metadata_hash: int = 0
    validated_topology_epoch: int = NO_TOPOLOGY
    assignment_configs: tuple[KeyValue, ...] = ()
    assignment_epoch: int = 0
    assignment_timestamp_ms: int = 0
    topology: StreamsGroupTopologyValue | None = None
    members: dict[str, StreamsMember] = field(default_factory=dict)
    targets: dict[str, TaskSets] = field(default_factory=dict)
    owners: dict[Task, str] = field(default_factory=dict)
    followers: dict[Task, frozenset[str]] = field(default_factory=dict)

    # -- questions

    @property
    def state(self) -> StreamsGroupState:
        return next(rule.state for rule in RULES if rule.holds(self))

    def target_of(self, member_id: str) -> TaskSets:
        return self.targets.get(member_id, NO_TASKS)

    def all_subscribed_names(self) -> frozenset[str]:
        """Topics that the application reads, those of its own making too; none while nobody runs it."""
        if self.topology is None or not self.members:
            return frozenset()
        return frozenset(
            name
            for subtopology in self.topology.subtopologies
            for name in (*subtopology.source_topics, *(topic.name for topic in subtopology.repartition_source_topics))
        )

    def partitions_of(self, member: StreamsMember) -> tuple[TopicPartition, ...]:
        """What the active tasks of a member read; not every topic has a partition for each of them."""
        parts = self.topology.subtopologies if self.topology is not None else ()
        read = {part.subtopology_id: (*part.source_topics, *(topic.name for topic in part.repartition_source_topics)) for part in parts}
        tasks = each(member.assigned.active)
        return tuple(sorted(TopicPartition(name, task.partition) for task in tasks for name in read.get(task.subtopology_id, ())))

    def runs_beside(self, member: StreamsMember, task: Task) -> bool:
        """Does another member of the same process have the task active?"""
        owner = self.owners.get(task, member.member_id)
        return owner != member.member_id and self.members[owner].process_id == member.process_id

    def is_followed_beside(self, member: StreamsMember, task: Task) -> bool:
        """Does another member of the same process have the task as a standby?"""
        others = self.followers.get(task, _NOBODY) - {member.member_id}
        return any(self.members[other].process_id == member.process_id for other in others)

    # -- replay

    def replay(self, key: StreamsGroupKey, value: StreamsGroupValue | None) -> None:
        """One record of this group; the group's own tombstone is the shard's business."""
        match key:
            case StreamsGroupMetadataKey() if isinstance(value, StreamsGroupMetadataValue):
                self.epoch, self.metadata_hash = value.epoch, value.metadata_hash
                self.validated_topology_epoch = value.validated_topology_epoch
                self.assignment_configs = tuple(value.last_assignment_configs or ())
            case StreamsGroupTopologyKey():
                assert value is None or isinstance(value, StreamsGroupTopologyValue)
                self.topology = value
            case StreamsGroupMemberMetadataKey():
                assert value is None or isinstance(value, StreamsGroupMemberMetadataValue)
                self._replay_member(key.member_id, value)
            case StreamsGroupTargetAssignmentMetadataKey() if isinstance(value, StreamsGroupTargetAssignmentMetadataValue):
                self.assignment_epoch, self.assignment_timestamp_ms = value.assignment_epoch, value.assignment_timestamp
            case StreamsGroupTargetAssignmentMemberKey():
                assert value is None or isinstance(value, StreamsGroupTargetAssignmentMemberValue)
                if value is None:
                    self.targets.pop(key.member_id, None)
                else:
                    lists = (value.active_tasks, value.standby_tasks, value.warmup_tasks)
                    self.targets[key.member_id] = TaskSets(*map(from_ids, lists))
            case StreamsGroupCurrentMemberAssignmentKey():
                assert value is None or isinstance(value, StreamsGroupCurrentMemberAssignmentValue)
                self._replay_current(key.member_id, value)

    def _replay_member(self, member_id: str, value: StreamsGroupMemberMetadataValue | None) -> None:
        old = self.members.get(member_id)
        if value is None:
            if old is not None:
                self._release(old)
                del self.members[member_id]
            return
        self.members[member_id] = replace(
            old if old is not None else StreamsMember(member_id),
            instance_id=value.instance_id,
            rack_id=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
            rebalance_timeout_ms=value.rebalance_timeout_ms,
            topology_epoch=value.topology_epoch,
            process_id=value.process_id,
            user_endpoint=value.user_endpoint,
            client_tags=tuple(value.client_tags),
        )

    def _replay_current(self, member_id: str, value: StreamsGroupCurrentMemberAssignmentValue | None) -> None:
        old = self.members.get(member_id)
        if old is None:
            if value is None:
                return
            old = StreamsMember(member_id)  # compaction may leave this record in front of the member's other one
        self._release(old)
        if value is None:
            state = StreamsMemberState.STABLE
            self.members[member_id] = replace(old, epoch=0, previous_epoch=0, state=state, assigned=HAS_NO_TASKS, revoking=HAS_NO_TASKS)
            return
        self.members[member_id] = member = replace(
            old,
            epoch=value.member_epoch,
            previous_epoch=value.previous_member_epoch,
            state=StreamsMemberState(value.state) if value.state in _STATES else StreamsMemberState.UNKNOWN,
            assigned=HeldTasks(from_ids_with_epochs(value.active_tasks), from_ids(value.standby_tasks), from_ids(value.warmup_tasks)),
            revoking=HeldTasks(
                from_ids_with_epochs(value.active_tasks_pending_revocation),
                from_ids(value.standby_tasks_pending_revocation),
                from_ids(value.warmup_tasks_pending_revocation),
            ),
        )
        for task in _active(member):
            self.owners[task] = member_id
        for task in _followed(member):
            self.followers[task] = self.followers.get(task, _NOBODY) | {member_id}

    def _release(self, member: StreamsMember) -> None:
        for task in _active(member):
            if self.owners.get(task) == member.member_id:
                del self.owners[task]
        for task in _followed(member):
            left = self.followers.get(task, _NOBODY) - {member.member_id}
            if left:
                self.followers[task] = left
            else:
                self.followers.pop(task, None)

    def copy(self) -> StreamsGroup:
        """One that can be changed without this one noticing."""
        return replace(
            self,
            members=dict(self.members),
            targets=dict(self.targets),
            owners=dict(self.owners),
            followers=dict(self.followers),
        )


class Rule(NamedTuple):
    """The state of a group of which `holds`, and `why` in words."""

    state: StreamsGroupState
    why: str
    holds: Callable[[StreamsGroup], bool]


def _topics_fit(group: StreamsGroup) -> bool:
    return group.topology is not None and group.topology.epoch == group.validated_topology_epoch


def _all_there(group: StreamsGroup) -> bool:
    return all(m.state is StreamsMemberState.STABLE and m.epoch == group.assignment_epoch for m in group.members.values())


RULES = (  # the first that holds
    Rule(StreamsGroupState.EMPTY, "nobody is in it", lambda group: not group.members),
    Rule(StreamsGroupState.NOT_READY, "topics do not fit its topology", lambda group: not _topics_fit(group)),
    Rule(StreamsGroupState.ASSIGNING, "its target assignment is of an older epoch", lambda group: group.epoch > group.assignment_epoch),
    Rule(StreamsGroupState.RECONCILING, "a member has not reached its target", lambda group: not _all_there(group)),
    Rule(StreamsGroupState.STABLE, "every member has", lambda _group: True),
)

_STATES = frozenset(int(state) for state in StreamsMemberState)


def _active(member: StreamsMember) -> Iterable[Task]:
    for held in (member.assigned, member.revoking):
        yield from each(held.active)


def _followed(member: StreamsMember) -> Iterable[Task]:
    for held in (member.assigned, member.revoking):
        yield from each(held.standby)
        yield from each(held.warmup)
