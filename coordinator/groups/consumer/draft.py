"""What decisions about a consumer group are made with: a draft that replays what it writes, group epochs and target assignments.

Kafka's `TargetAssignmentBuilder` and the record helpers of its `GroupMetadataManager`.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Collection
from dataclasses import dataclass

from oncelog.coordinator.groups.consumer.assignors import ASSIGNORS, Assignment, Subscriber
from oncelog.coordinator.groups.consumer.state import ConsumerGroup, ConsumerMember, to_topics
from oncelog.coordinator.result import CoordinatorRecord
from oncelog.protocol.internal.consumer_groups import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupKey,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
    ConsumerGroupValue,
)
from oncelog.protocol.topics import Topics

FIRST_EPOCH = 1  # of a group nobody has subscribed in yet: its first subscription makes it 2, as Kafka 4.3 does


@dataclass(frozen=True, slots=True)
class GroupLimits:
    """Settings of one consumer group, after its own have overridden the broker's."""

    session_timeout_ms: int
    heartbeat_interval_ms: int
    assignment_interval_ms: int
    max_size: int
    assignors: tuple[str, ...]


class Draft:
    """`group` is what the group will be once `records` are replayed."""

    def __init__(self, group: ConsumerGroup) -> None:
        self._original = group
        self.group = group
        self.records: list[CoordinatorRecord] = []

    def write(self, key: ConsumerGroupKey, value: ConsumerGroupValue | None) -> None:
        if self.group is self._original:
            self.group = self._original.copy()
        self.group.replay(key, value)
        self.records.append(CoordinatorRecord(key.encode(), None if value is None else value.encode(), (key, value)))

    def put_member(self, member: ConsumerMember) -> None:
        """Write what is new of it: what it wants, what it has."""
        group_id, old = self.group.group_id, self.group.members.get(member.member_id)
        if old is None or old.wants() != member.wants():
            self.write(ConsumerGroupMemberMetadataKey(group_id, member.member_id), member.wants())
        if old is None or old.has() != member.has():
            self.write(ConsumerGroupCurrentMemberAssignmentKey(group_id, member.member_id), member.has())

    def remove_member(self, member_id: str) -> None:
        group_id = self.group.group_id
        self.write(ConsumerGroupCurrentMemberAssignmentKey(group_id, member_id), None)
        if member_id in self.group.targets:
            self.write(ConsumerGroupTargetAssignmentMemberKey(group_id, member_id), None)
        self.write(ConsumerGroupMemberMetadataKey(group_id, member_id), None)

    def put_target(self, member_id: str, target: Assignment) -> None:
        value = ConsumerGroupTargetAssignmentMemberValue(to_topics(target))
        self.write(ConsumerGroupTargetAssignmentMemberKey(self.group.group_id, member_id), value)

    def put_epoch(self, epoch: int, metadata_hash: int) -> None:
        self.write(ConsumerGroupMetadataKey(self.group.group_id), ConsumerGroupMetadataValue(epoch, metadata_hash))

    def put_assignment_epoch(self, epoch: int, timestamp_ms: int) -> None:
        value = ConsumerGroupTargetAssignmentMetadataValue(epoch, timestamp_ms)
        self.write(ConsumerGroupTargetAssignmentMetadataKey(self.group.group_id), value)


def metadata_hash(group: ConsumerGroup, topics: Topics) -> int:
    """Changes when a subscribed topic comes, goes, or gets partitions; 0 without any."""
    names, last = group.all_subscribed_names(), group.hashed
    if last is None or last[0] is not names or last[1] is not topics or last[2] != topics.generation:
        last = group.hashed = names, topics, topics.generation, hash_of(names, topics)
    return last[3]


def hash_of(names: Collection[str], topics: Topics) -> int:
    """Of the topics with these names, as they are now."""
    found = [topic for name in sorted(names) if (topic := topics.get(name)) is not None]
    if not found:
        return 0
    text = "\n".join(f"{topic.name} {topic.topic_id} {topic.partitions}" for topic in found)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big", signed=True) or 1


def update_epoch(draft: Draft, topics: Topics, *, changed: bool) -> None:
    """The group epoch rises when `changed`, or when the subscribed topics are not what they were."""
    group = draft.group
    now_hash = metadata_hash(group, topics)
    if group.epoch == 0 and not changed:
        draft.put_epoch(FIRST_EPOCH, now_hash)
    elif changed or now_hash != group.metadata_hash:
        draft.put_epoch(max(group.epoch, FIRST_EPOCH) + 1, now_hash)


def update_target(draft: Draft, topics: Topics, limits: GroupLimits, now_ms: int) -> None:
    """A new target assignment, if one is due: at most one in group.consumer.assignment.interval.ms (KIP-1263)."""
    group = draft.group
    if group.assignment_epoch >= group.epoch:
        return
    since_ms = now_ms - group.assignment_timestamp_ms
    if group.assignment_epoch > 0 and 0 <= since_ms < limits.assignment_interval_ms:
        return
    assignor = group.preferred_assignor(limits.assignors[0])
    targets = ASSIGNORS[assignor](_subscribers(group, topics), _partitions(group, topics))
    for member_id in sorted(targets):
        if member_id not in group.targets or not same(targets[member_id], group.target_of(member_id)):
            draft.put_target(member_id, targets[member_id])
    draft.put_assignment_epoch(group.epoch, now_ms)


def _subscribers(group: ConsumerGroup, topics: Topics) -> list[Subscriber]:
    """Members that ask for the same share one set of topic ids: most groups have but one."""
    ids: dict[tuple[tuple[str, ...], str | None], frozenset[uuid.UUID]] = {}
    found = []
    for member in group.members.values():
        wanted = member.topic_names, member.topic_regex
        if wanted not in ids:
            ids[wanted] = frozenset(topic.topic_id for name in group.subscribed_names(member) if (topic := topics.get(name)) is not None)
        found.append(Subscriber(member.member_id, member.instance_id, ids[wanted], group.target_of(member.member_id)))
    return found


def _partitions(group: ConsumerGroup, topics: Topics) -> dict[uuid.UUID, int]:
    found = (topics.get(name) for name in sorted(group.all_subscribed_names()))
    return {topic.topic_id: topic.partitions for topic in found if topic is not None}


def same(one: Assignment, other: Assignment) -> bool:
    """Equal, whatever empty topics are listed."""
    return {t: p for t, p in one.items() if p} == {t: p for t, p in other.items() if p}


def group_tombstones(group: ConsumerGroup) -> list[CoordinatorRecord]:
    """The records that remove a group and everybody in it."""
    draft = Draft(group)
    for member_id in list(group.members):
        draft.remove_member(member_id)
    for member_id in list(draft.group.targets):
        draft.write(ConsumerGroupTargetAssignmentMemberKey(group.group_id, member_id), None)
    for regex in list(group.regexes):
        draft.write(ConsumerGroupRegularExpressionKey(group.group_id, regex), None)
    if group.assignment_epoch:
        draft.records.append(CoordinatorRecord(ConsumerGroupTargetAssignmentMetadataKey(group.group_id).encode(), None))
    draft.records.append(CoordinatorRecord(ConsumerGroupMetadataKey(group.group_id).encode(), None))
    return draft.records
