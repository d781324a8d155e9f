"""What decisions about streams groups are handed: topics that a test sets, limits, members, topologies."""

from __future__ import annotations

from typing import Any

from oncelog.coordinator.groups.streams.checks import StreamsHeartbeat
from oncelog.coordinator.groups.streams.draft import StreamsDraft, StreamsLimits, metadata_hash
from oncelog.coordinator.groups.streams.heartbeat import Fitting
from oncelog.coordinator.groups.streams.state import StreamsGroup, StreamsMember
from oncelog.coordinator.groups.streams.tasks import HeldTasks, TaskSets
from oncelog.coordinator.groups.streams.topology import fit
from oncelog.protocol.internal.streams_topology import StreamsGroupTopologyValue, Subtopology, TopicInfo

from support.consumer_group import FakeTopics

LIMITS = StreamsLimits(45_000, 5_000, 0, 0, 0, 100)


def topology(*subtopologies: Subtopology, epoch: int = 0) -> StreamsGroupTopologyValue:
    """By default one subtopology that reads topic a."""
    return StreamsGroupTopologyValue(epoch, subtopologies or (Subtopology("0", ("a",)),))


def stateful(subtopology_id: str = "0", source: str = "a") -> Subtopology:
    """With a changelog, named after it."""
    return Subtopology(subtopology_id, (source,), state_changelog_topics=(TopicInfo(f"changelog-{subtopology_id}"),))


def tasks(*partitions: int, of: str = "0") -> dict[str, frozenset[int]]:
    """Of one subtopology."""
    return {of: frozenset(partitions)} if partitions else {}


def active(*partitions: int, of: str = "0", epoch: int = 5) -> HeldTasks:
    """Tasks that a member has been given at `epoch`."""
    return HeldTasks({of: dict.fromkeys(partitions, epoch)} if partitions else {})


def standby(*partitions: int, of: str = "0") -> HeldTasks:
    return HeldTasks(standby=tasks(*partitions, of=of))


def member(member_id: str = "m", **fields: Any) -> StreamsMember:
    """Of process p, at epoch 5."""
    return StreamsMember(**{"member_id": member_id, "process_id": "p", "topology_epoch": 0, "epoch": 5, "previous_epoch": 5, **fields})


def group_of(*members: StreamsMember, targets: dict[str, TaskSets] | None = None, epoch: int = 5, assigned: int = 5) -> StreamsGroup:
    """A group, by its records."""
    draft = StreamsDraft(StreamsGroup("g"))
    for each in members:
        draft.put_member(each)
        draft.put_tasks(each)
    draft.put_topology(topology())
    for member_id, target in (targets or {}).items():
        draft.put_target(member_id, target)
    draft.put_epoch(epoch, 0, 0, LIMITS.assignment_configs())
    draft.put_assignment_epoch(assigned, 0)
    return draft.group


def fitting(topics: FakeTopics, wanted: StreamsGroupTopologyValue) -> Fitting:
    """A topology fitted to these topics."""

    def count_of(name: str) -> int | None:
        topic = topics.get(name)
        return None if topic is None else topic.partitions

    return Fitting(fit(wanted, count_of), metadata_hash(wanted, topics))


def joining(member_id: str = "m", **fields: Any) -> StreamsHeartbeat:
    """A first heartbeat."""
    first: dict[str, Any] = {
        "group_id": "g",
        "member_id": member_id,
        "member_epoch": 0,
        "rebalance_timeout_ms": 5_000,
        "topology": topology(),
        "active": {},
        "standby": {},
        "warmup": {},
        "process_id": "p",
    }
    return StreamsHeartbeat(**{**first, **fields})


def staying(member_id: str, epoch: int, owned: TaskSets | None = None, **fields: Any) -> StreamsHeartbeat:
    """A later one; with `owned` it says what it has."""
    has = {} if owned is None else {"active": dict(owned.active), "standby": dict(owned.standby), "warmup": {}}
    return StreamsHeartbeat("g", member_id, epoch, **{**has, **fields})
