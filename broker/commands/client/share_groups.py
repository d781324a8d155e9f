"""Share groups (KIP-932) as `oncelog group` shows them: who has which partitions, where each begins and what is still to be delivered."""

from __future__ import annotations

from typing import Any, NamedTuple

from oncelog.broker.commands.client.cluster import GROUP, Cluster, check
from oncelog.broker.commands.client.output import fail
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode

Partition = tuple[str, int]
OFFSET_COLUMNS = ["topic", "partition", "start", "end", "lag", "member"]
NOT_READ = -1


class ShareGroup(NamedTuple):
    """`starts`: (offset, lag) of each share partition; None: nobody has read there yet."""

    state: str
    members: list[dict[str, Any]]
    starts: dict[Partition, tuple[int | None, int | None]]

    def rows(self, last: dict[Partition, int]) -> list[dict[str, Any]]:
        """One a partition. Several members may have the same."""
        owners: dict[Partition, list[str]] = {}
        for member in self.members:
            for partition in member["owned"]:
                owners.setdefault(partition, []).append(member["member"])
        found = []
        for topic, number in sorted({*self.starts, *owners}):
            start, lag = self.starts.get((topic, number), (None, None))
            names = ", ".join(sorted(owners.get((topic, number), ()))) or None
            end = last[topic, number]
            found.append({"topic": topic, "partition": number, "start": start, "end": end, "lag": lag, "member": names})
        return found

    def known(self) -> dict[Partition, int]:
        """Where it begins, as far as that is said."""
        return {partition: start for partition, (start, _lag) in self.starts.items() if start is not None}

    def partitions(self) -> list[Partition]:
        return sorted({*self.starts, *(partition for member in self.members for partition in member["owned"])})


def share_group(cluster: Cluster, group: str) -> ShareGroup | None:
    """None if it is no share group."""
    from oncelog.protocol import messages

    coordinator = cluster.coordinator(GROUP, group)
    if not coordinator.supports(ApiKey.SHARE_GROUP_DESCRIBE):
        return None
    (found,) = coordinator.send(ApiKey.SHARE_GROUP_DESCRIBE, messages.ShareGroupDescribeRequest(group_ids=[group])).groups
    if found.error_code in (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION):
        return None
    check(found.error_code, found.error_message, about=f"group {group}")
    members = [
        {
            "member": member.member_id,
            "client_id": member.client_id,
            "host": member.client_host,
            "owned": [
                (topic.topic_name, number)
                for topic in (member.assignment.topic_partitions if member.assignment is not None else ())
                for number in topic.partitions
            ],
        }
        for member in found.members
    ]
    return ShareGroup(found.group_state, members, _starts(cluster, group))


def _starts(cluster: Cluster, group: str) -> dict[Partition, tuple[int | None, int | None]]:
    from oncelog.protocol import messages

    asked = messages.DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup(group_id=group, topics=None)
    request = messages.DescribeShareGroupOffsetsRequest(groups=[asked])
    (found,) = cluster.coordinator(GROUP, group).send(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, request).groups
    check(found.error_code, found.error_message, about=f"group {group}")
    starts: dict[Partition, tuple[int | None, int | None]] = {}
    for topic in found.topics:
        for one in topic.partitions:
            check(one.error_code, one.error_message, about=f"{topic.topic_name}-{one.partition_index}")
            read = one.start_offset != NOT_READ
            starts[topic.topic_name, one.partition_index] = (one.start_offset, one.lag) if read else (None, None)
    return starts


def alter_starts(cluster: Cluster, group: str, new: dict[Partition, int]) -> None:
    """Have the group begin there. Ends the command when somebody is in it."""
    from oncelog.protocol import messages

    kind = messages.AlterShareGroupOffsetsRequest.AlterShareGroupOffsetsRequestTopic
    topics = [
        kind(
            topic_name=name,
            partitions=[
                kind.AlterShareGroupOffsetsRequestPartition(partition_index=number, start_offset=offset)
                for (topic, number), offset in new.items()
                if topic == name
            ],
        )
        for name in sorted({topic for topic, _ in new})
    ]
    request = messages.AlterShareGroupOffsetsRequest(group_id=group, topics=topics)
    answer = cluster.coordinator(GROUP, group).send(ApiKey.ALTER_SHARE_GROUP_OFFSETS, request)
    if answer.error_code == ErrorCode.NON_EMPTY_GROUP:
        fail(f"group {group} has members: stop them first")
    check(answer.error_code, answer.error_message, about=f"group {group}")
    for told in answer.responses:
        for one in told.partitions:
            check(one.error_code, one.error_message, about=f"{told.topic_name}-{one.partition_index}")
