"""What decisions about a streams group are made with: a draft that replays what it writes, group epochs and target assignments.

Kafka's `TargetAssignmentBuilder` and the record helpers of its streams groups.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from oncelog.coordinator.groups.streams.assignor import Work, Worker, assign
from oncelog.coordinator.groups.streams.state import StreamsGroup, StreamsMember
from oncelog.coordinator.groups.streams.tasks import TaskSets, to_ids
from oncelog.coordinator.groups.streams.topology import FittedTopology
from oncelog.coordinator.result import CoordinatorRecord
from oncelog.protocol.internal.streams_groups import (
    StreamsGroupCurrentMemberAssignmentKey,
    StreamsGroupKey,
    StreamsGroupMemberMetadataKey,
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
from oncelog.protocol.topics import Topics

FIRST_EPOCH = 2  # of a group with its first member, as Kafka 4.3 counts
_STANDBYS = "num.standby.replicas"


@dataclass(frozen=True, slots=True)
class StreamsLimits:
    """Settings of one streams group, after its own have overridden the broker's."""

    session_timeout_ms: int
    heartbeat_interval_ms: int
    assignment_interval_ms: int
    initial_rebalance_delay_ms: int
    standby_replicas: int
    max_size: int

    def assignment_configs(self) -> tuple[KeyValue, ...]:
        """What a target depends on; a change asks for a new one."""
        return (KeyValue(_STANDBYS, str(self.standby_replicas)),)


class StreamsDraft:
    """`group` is what the group will be once `records` are replayed."""

    def __init__(self, group: StreamsGroup) -> None:
        self._original = group
        self.group = group
        self.records: list[CoordinatorRecord] = []

    def write(self, key: StreamsGroupKey, value: StreamsGroupValue | None) -> None:
        if self.group is self._original:
            self.group = self._original.copy()
        self.group.replay(key, value)
        self.records.append(CoordinatorRecord(key.encode(), None if value is None else value.encode(), (key, value)))

    def put_member(self, member: StreamsMember) -> bool:
        """Write who it is, if that is new; was it?"""
        old = self.group.members.get(member.member_id)
        if old is not None and old.is_who() == member.is_who():
            return False
        self.write(StreamsGroupMemberMetadataKey(self.group.group_id, member.member_id), member.is_who())
        return True

    def put_tasks(self, member: StreamsMember) -> None:
        """Write what it has, if that is new."""
        old = self.group.members.get(member.member_id)
        # of a member that was only just written nothing is known yet
        if old is None or old.has() != member.has() or old.epoch == 0:
            self.write(StreamsGroupCurrentMemberAssignmentKey(self.group.group_id, member.member_id), member.has())

    def remove_member(self, member_id: str) -> None:
        group_id = self.group.group_id
        self.write(StreamsGroupCurrentMemberAssignmentKey(group_id, member_id), None)
        if member_id in self.group.targets:
            self.write(StreamsGroupTargetAssignmentMemberKey(group_id, member_id), None)
        self.write(StreamsGroupMemberMetadataKey(group_id, member_id), None)

    def put_topology(self, topology: StreamsGroupTopologyValue) -> None:
        self.write(StreamsGroupTopologyKey(self.group.group_id), topology)

    def put_target(self, member_id: str, target: TaskSets) -> None:
        value = StreamsGroupTargetAssignmentMemberValue(*map(to_ids, target))
        self.write(StreamsGroupTargetAssignmentMemberKey(self.group.group_id, member_id), value)

    def put_epoch(self, epoch: int, metadata_hash: int, validated: int, configs: tuple[KeyValue, ...]) -> None:
        value = StreamsGroupMetadataValue(epoch, metadata_hash, validated, list(configs))
        self.write(StreamsGroupMetadataKey(self.group.group_id), value)

    def put_assignment_epoch(self, epoch: int, timestamp_ms: int) -> None:
        value = StreamsGroupTargetAssignmentMetadataValue(epoch, timestamp_ms)
        self.write(StreamsGroupTargetAssignmentMetadataKey(self.group.group_id), value)


def required_topics(topology: StreamsGroupTopologyValue) -> frozenset[str]:
    """Every topic of an application."""
    return frozenset(
        name
        for each in topology.subtopologies
        for name in (
            *each.source_topics,
            *each.repartition_sink_topics,
            *(topic.name for topic in each.repartition_source_topics),
            *(topic.name for topic in each.state_changelog_topics),
        )
    )


def metadata_hash(topology: StreamsGroupTopologyValue, topics: Topics) -> int:
    """Changes when a topic of the application comes, goes, or gets partitions; 0 without any."""
    found = [topic for name in sorted(required_topics(topology)) if (topic := topics.get(name)) is not None]
    if not found:
        return 0
    text = "\n".join(f"{topic.name} {topic.topic_id} {topic.partitions}" for topic in found)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big", signed=True) or 1


def update_target(draft: StreamsDraft, fitted: FittedTopology, now_ms: int) -> None:
    """A new target assignment, with nothing in it while topics do not fit."""
    group = draft.group
    work = {}
    if fitted.ready:
        work = {subtopology_id: Work(each.tasks, each.stateful) for subtopology_id, each in fitted.subtopologies.items()}
    workers = [Worker(member.member_id, member.process_id, group.target_of(member.member_id)) for member in group.members.values()]
    standbys = int(dict(group.assignment_configs).get(_STANDBYS, "0"))
    targets = assign(workers, work, standbys)
    for member_id in sorted(targets):
        if member_id not in group.targets or targets[member_id] != group.targets[member_id]:
            draft.put_target(member_id, targets[member_id])
    draft.put_assignment_epoch(group.epoch, now_ms)


def group_tombstones(group: StreamsGroup) -> list[CoordinatorRecord]:
    """The records that remove a group and everybody in it."""
    draft = StreamsDraft(group)
    for member_id in list(group.members):
        draft.remove_member(member_id)
    for member_id in list(draft.group.targets):
        draft.write(StreamsGroupTargetAssignmentMemberKey(group.group_id, member_id), None)
    keys: list[StreamsGroupKey] = [StreamsGroupMetadataKey(group.group_id), StreamsGroupTopologyKey(group.group_id)]
    if group.assignment_epoch:
        keys.insert(0, StreamsGroupTargetAssignmentMetadataKey(group.group_id))
    return [*draft.records, *(CoordinatorRecord(key.encode(), None) for key in keys)]
