"""What decisions about consumer groups are handed: topics that a test sets, limits, members."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field
from typing import Any

from oncelog.coordinator.groups.consumer.assignors import Assignment
from oncelog.coordinator.groups.consumer.draft import Draft, GroupLimits
from oncelog.coordinator.groups.consumer.state import ConsumerGroup, ConsumerMember
from oncelog.protocol.topics import Topic

LIMITS = GroupLimits(45_000, 5_000, 1_000, 100, ("uniform", "range"))


@dataclass
class FakeTopics:
    generation: int = 0
    topics: dict[str, Topic] = field(default_factory=dict)

    def put(self, name: str, partitions: int) -> None:
        old = self.topics.get(name)
        topic_id = old.topic_id if old is not None else uuid.uuid5(uuid.NAMESPACE_DNS, name)
        self.topics[name] = Topic(name, topic_id, partitions)
        self.generation += 1

    def get(self, name: str) -> Topic | None:
        return self.topics.get(name)

    def by_id(self, topic_id: uuid.UUID) -> Topic | None:
        return next((topic for topic in self.topics.values() if topic.topic_id == topic_id), None)

    def all(self) -> list[Topic]:
        return list(self.topics.values())


A, B, C = (uuid.uuid5(uuid.NAMESPACE_DNS, name) for name in "abc")  # the ids that FakeTopics gives


def parts(*partitions: int, of: uuid.UUID = A) -> dict[uuid.UUID, frozenset[int]]:
    """Partitions of one topic."""
    return {of: frozenset(partitions)}


def group_of(*members: ConsumerMember, targets: dict[str, Assignment] | None = None, epoch: int = 5, assigned: int = 5) -> ConsumerGroup:
    """A group, by its records."""
    draft = Draft(ConsumerGroup("g"))
    for member in members:
        draft.put_member(member)
    for member_id, target in (targets or {}).items():
        draft.put_target(member_id, target)
    draft.put_epoch(epoch, 0)
    draft.put_assignment_epoch(assigned, 0)
    return draft.group


def member(member_id: str = "m", **fields: Any) -> ConsumerMember:
    """Subscribed to topic a, at epoch 5."""
    return ConsumerMember(**{"member_id": member_id, "topic_names": ("a",), "epoch": 5, "previous_epoch": 5, **fields})
