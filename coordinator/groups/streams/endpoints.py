"""Which instance of an application has which partitions, so that others can ask for its state (Kafka's `EndpointToPartitionsManager`)."""

from __future__ import annotations

from typing import NamedTuple

from oncelog.coordinator.groups.streams.state import StreamsGroup, StreamsMember
from oncelog.coordinator.groups.streams.tasks import Tasks
from oncelog.coordinator.groups.streams.topology import FittedTopology, PartitionCount
from oncelog.protocol.internal.streams_groups import Endpoint

Partitions = tuple[tuple[str, tuple[int, ...]], ...]  # by topic, in order


class PartitionsByEndpoint(NamedTuple):
    """Partitions of the topics that an instance reads, of tasks it runs and of tasks it follows."""

    endpoint: Endpoint
    active: Partitions
    standby: Partitions


def by_endpoint(group: StreamsGroup, fitted: FittedTopology, count_of: PartitionCount) -> tuple[PartitionsByEndpoint, ...]:
    """Of every member that can be asked."""
    return tuple(
        PartitionsByEndpoint(member.user_endpoint, *_of(member, fitted, count_of))
        for member in group.members.values()
        if member.user_endpoint is not None
    )


def _of(member: StreamsMember, fitted: FittedTopology, count_of: PartitionCount) -> tuple[Partitions, Partitions]:
    assigned = member.assigned.sets()
    return _topic_partitions(assigned.active, fitted, count_of), _topic_partitions(assigned.standby, fitted, count_of)


def _topic_partitions(tasks: Tasks, fitted: FittedTopology, count_of: PartitionCount) -> Partitions:
    """Not every topic has a partition for each task of its subtopology."""
    found: dict[str, tuple[int, ...]] = {}
    for subtopology_id, partitions in tasks.items():
        subtopology = fitted.subtopologies.get(subtopology_id)
        for name in subtopology.read() if subtopology is not None else ():
            there = count_of(name) or 0
            found[name] = tuple(sorted(partition for partition in partitions if partition < there))
    return tuple(sorted(found.items()))
