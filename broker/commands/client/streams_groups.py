"""Streams groups (KIP-1071) as `oncelog group` shows them: threads, their tasks, and the partitions these read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from oncelog.broker.commands.client.cluster import GROUP, Cluster, check
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from oncelog.protocol import messages

MEMBER_COLUMNS = ["member", "client_id", "host", "process", "tasks", "standbys"]


def streams_members(cluster: Cluster, group: str) -> tuple[str, list[dict[str, Any]]] | None:
    """State and members of a streams group; None if it is not one."""
    from oncelog.protocol import messages

    coordinator = cluster.coordinator(GROUP, group)
    if not coordinator.supports(ApiKey.STREAMS_GROUP_DESCRIBE):
        return None
    (found,) = coordinator.send(ApiKey.STREAMS_GROUP_DESCRIBE, messages.StreamsGroupDescribeRequest(group_ids=[group])).groups
    if found.error_code in (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION):
        return None
    check(found.error_code, found.error_message, about=f"group {group}")
    read = _read(found)
    there = _partitions(cluster, sorted({name for names in read.values() for name in names}))

    members = []
    for member in found.members:
        active = member.assignment.active_tasks if member.assignment is not None else []
        standby = member.assignment.standby_tasks if member.assignment is not None else []
        places = {(name, number) for tasks in active for name in read.get(tasks.subtopology_id, ()) for number in tasks.partitions}
        members.append(
            {
                "member": member.member_id,
                "client_id": member.client_id,
                "host": member.client_host,
                "process": member.process_id,
                "tasks": _names(active),
                "standbys": _names(standby),
                "owned": sorted(places & there),  # not every topic has a partition for each task
            }
        )
    return found.group_state, members


def _read(group: messages.StreamsGroupDescribeResponse.DescribedGroup) -> dict[str, list[str]]:
    """The topics that each subtopology reads."""
    parts = group.topology.subtopologies if group.topology is not None else None
    return {each.subtopology_id: [*each.source_topics, *(topic.name for topic in each.repartition_source_topics)] for each in parts or ()}


def _partitions(cluster: Cluster, names: list[str]) -> set[tuple[str, int]]:
    """Those of the topics that are there."""
    topics = cluster.metadata(names).topics if names else []
    return {(topic.name or "", partition.partition_index) for topic in topics for partition in topic.partitions}


def _names(tasks: list[messages.StreamsGroupDescribeResponse.DescribedGroup.Member.Assignment.TaskIds]) -> list[str]:
    """As Kafka Streams prints them: `0_1`."""
    return [f"{each.subtopology_id}_{number}" for each in tasks for number in each.partitions]
