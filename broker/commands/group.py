"""`oncelog group`: consumer, share and streams groups, their members, offsets and lag."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter
from oncelog.broker.commands.client.cluster import GROUP, Cluster, check
from oncelog.broker.commands.client.numbers import MAX_INT32, Int64, SignedInt64, whole_number
from oncelog.broker.commands.client.options import DEFAULT, Connection
from oncelog.broker.commands.client.output import USAGE, done, fail, note, show, show_json
from oncelog.broker.commands.client.share_groups import OFFSET_COLUMNS, alter_starts, share_group
from oncelog.broker.commands.client.streams_groups import MEMBER_COLUMNS, streams_members
from oncelog.broker.commands.topic import EARLIEST, LATEST, offsets
from oncelog.broker.ending import shortened
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from oncelog.protocol import messages

app = App(name="group", help="Consumer, share and streams groups: list, describe, delete, reset-offsets.")
Partition = tuple[str, int]
NO_MEMBER_EPOCH = -1


@app.command(name="list")
def list_groups(*, state: str | None = None, connection: Connection = DEFAULT) -> None:
    """List groups of every kind.

    Parameters
    ----------
    state
        Only groups in this state: Stable, Empty, Dead ...
    """
    from oncelog.protocol import messages

    request = messages.ListGroupsRequest(states_filter=[state] if state else [], types_filter=[])
    rows: list[dict[str, Any]] = []
    with connection.open() as cluster:
        for node in cluster.nodes():
            answer = cluster.node(node.node_id).send(ApiKey.LIST_GROUPS, request)
            check(answer.error_code)
            rows += [_group_row(group) for group in answer.groups]
    show(sorted(rows, key=lambda row: str(row["group"])), ["group", "type", "state", "protocol"], connection.format, nothing="no groups")


@app.command
def describe(*groups: str, connection: Connection = DEFAULT) -> None:
    """Show members, and of each partition the committed offset and how far it is behind; of share groups where they begin."""
    if not groups:
        fail("name at least one group", USAGE)
    with connection.open() as cluster:
        found = [_description(cluster, group) for group in groups]
    if connection.format.value == "json":
        show_json(found)
        return
    for group in found:
        done(f"{group['group']}  {group['state']}", connection.format)
        share = any("start" in row for row in group["offsets"])
        columns = OFFSET_COLUMNS if share else ["topic", "partition", "committed", "end", "lag", "member"]
        show(group["offsets"], columns, connection.format, nothing="no committed offsets")
        if group["members"]:
            columns = MEMBER_COLUMNS if "tasks" in group["members"][0] else ["member", "client_id", "host", "partitions"]
            show(group["members"], columns, connection.format)


@app.command
def delete(*groups: str, connection: Connection = DEFAULT) -> None:
    """Delete groups without members, with their offsets."""
    from oncelog.protocol import messages

    if not groups:
        fail("name at least one group", USAGE)
    with connection.open() as cluster:
        for group in groups:
            request = messages.DeleteGroupsRequest(groups_names=[group])
            for result in cluster.coordinator(GROUP, group).send(ApiKey.DELETE_GROUPS, request).results:
                check(result.error_code, about=f"group {result.group_id}")
    done(f"deleted {', '.join(groups)}", connection.format, deleted=list(groups))


@app.command
def reset_offsets(
    group: str,
    *,
    topic: Annotated[tuple[str, ...], Parameter(negative=(), consume_multiple=False)] = (),
    to_earliest: Annotated[bool, Parameter(negative=())] = False,
    to_latest: Annotated[bool, Parameter(negative=())] = False,
    to_offset: Int64 | None = None,
    to_datetime: datetime | None = None,
    shift_by: SignedInt64 | None = None,
    execute: Annotated[bool, Parameter(negative=())] = False,
    connection: Connection = DEFAULT,
) -> None:
    """Move a group's committed offsets, or where a share group begins; the group must have no members.

    Parameters
    ----------
    topic
        TOPIC or TOPIC:PARTITION,PARTITION; may be given several times. All committed partitions if not given.
    to_datetime
        The first record not older than that.
    shift_by
        That many records on, or back if negative.
    execute
        Do it; without this only show what would be done.
    """
    targets = (to_earliest, to_latest, to_offset is not None, to_datetime is not None, shift_by is not None)
    if sum(targets) != 1:
        fail("give one of --to-earliest, --to-latest, --to-offset, --to-datetime, --shift-by", USAGE)
    with connection.open() as cluster:
        share = share_group(cluster, group)
        committed = _committed(cluster, group) if share is None else share.known()
        chosen = _chosen(cluster, topic) if topic else sorted(committed)
        if not chosen:
            fail(f"group {group} has committed nothing: name its topics with --topic")
        first, last = offsets(cluster, chosen, EARLIEST), offsets(cluster, chosen, LATEST)
        if to_datetime is not None:
            wanted = _or_end(offsets(cluster, chosen, _milliseconds(to_datetime)), last)
        elif shift_by is not None:
            wanted = {partition: committed.get(partition, first[partition]) + shift_by for partition in chosen}
        else:
            wanted = first if to_earliest else last if to_latest else dict.fromkeys(chosen, to_offset or 0)
        new = {partition: min(max(wanted[partition], first[partition]), last[partition]) for partition in chosen}
        if execute:
            (_commit if share is None else alter_starts)(cluster, group, new)
    rows = [{"topic": t, "partition": p, "committed": committed.get((t, p)), "new": new[t, p]} for t, p in chosen]
    show(rows, ["topic", "partition", "committed", "new"], connection.format)
    if not execute:
        note("nothing was changed: add --execute")


def _milliseconds(moment: datetime) -> int:
    """Since 1970. Ends the command over a time that this machine cannot tell."""
    try:
        return max(int(moment.timestamp() * 1000), 0)
    except (ValueError, OverflowError):
        fail(f"--to-datetime {moment} is out of range", USAGE)


def _or_end(found: dict[Partition, int], last: dict[Partition, int]) -> dict[Partition, int]:
    """No record is that young: the end."""
    return {partition: offset if offset >= 0 else last[partition] for partition, offset in found.items()}


def _group_row(group: messages.ListGroupsResponse.ListedGroup) -> dict[str, Any]:
    return {
        "group": group.group_id,
        "type": group.group_type or "classic",
        "state": group.group_state or None,
        "protocol": group.protocol_type or None,
    }


def _description(cluster: Cluster, group: str) -> dict[str, Any]:
    share = share_group(cluster, group)
    if share is not None:
        last = offsets(cluster, share.partitions(), LATEST) if share.partitions() else {}
        return {"group": group, "state": share.state, "offsets": share.rows(last), "members": _shown(share.members)}
    state, members = _consumer_members(cluster, group) or streams_members(cluster, group) or _classic_members(cluster, group)
    committed = _committed(cluster, group)
    owners = {tuple(partition): member["member"] for member in members for partition in member["owned"]}
    partitions = sorted({*committed, *owners})
    last = offsets(cluster, partitions, LATEST) if partitions else {}
    rows = [
        {
            "topic": topic,
            "partition": number,
            "committed": committed.get((topic, number)),
            "end": last[topic, number],
            "lag": last[topic, number] - committed[topic, number] if (topic, number) in committed else None,
            "member": owners.get((topic, number)),
        }
        for topic, number in partitions
    ]
    return {"group": group, "state": state, "offsets": rows, "members": _shown(members)}


def _shown(members: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**{k: v for k, v in m.items() if k != "owned"}, "partitions": [f"{t}-{p}" for t, p in m["owned"]]} for m in members]


def _consumer_members(cluster: Cluster, group: str) -> tuple[str, list[dict[str, Any]]] | None:
    """State and members of a group of the KIP-848 protocol; None if it is not one."""
    from oncelog.protocol import messages

    coordinator = cluster.coordinator(GROUP, group)
    if not coordinator.supports(ApiKey.CONSUMER_GROUP_DESCRIBE):
        return None
    (found,) = coordinator.send(ApiKey.CONSUMER_GROUP_DESCRIBE, messages.ConsumerGroupDescribeRequest(group_ids=[group])).groups
    if found.error_code in (ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNSUPPORTED_VERSION):
        return None
    check(found.error_code, found.error_message, about=f"group {group}")
    return found.group_state, [
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


def _classic_members(cluster: Cluster, group: str) -> tuple[str, list[dict[str, Any]]]:
    from oncelog.protocol import messages

    request = messages.DescribeGroupsRequest(groups=[group])
    (found,) = cluster.coordinator(GROUP, group).send(ApiKey.DESCRIBE_GROUPS, request).groups
    check(found.error_code, found.error_message or None, about=f"group {group}")
    return found.group_state, [
        {
            "member": member.member_id,
            "client_id": member.client_id,
            "host": member.client_host,
            "owned": _owned(found.protocol_type, member.member_assignment),
        }
        for member in found.members
    ]


def _owned(protocol_type: str, assignment: bytes) -> list[Partition]:
    """Partitions of a classic member; other kinds of group (Connect) carry something else."""
    from oncelog.protocol import messages

    if protocol_type != "consumer" or not assignment:
        return []
    decoded = messages.decode_data("ConsumerProtocolAssignment", assignment)
    return [(topic.topic, number) for topic in decoded.assigned_partitions for number in topic.partitions]


def _committed(cluster: Cluster, group: str) -> dict[Partition, int]:
    from oncelog.protocol import messages

    request = messages.OffsetFetchRequest
    # v1-7 take one group, v8+ a list; from v10 on topics go by id, which is one translation more than needed
    asked = request(
        group_id=group, topics=None, groups=[request.OffsetFetchRequestGroup(group_id=group, topics=None)], require_stable=False
    )
    answer = cluster.coordinator(GROUP, group).send(ApiKey.OFFSET_FETCH, asked, max_version=9)
    found = answer.groups[0] if answer.groups else answer
    check(found.error_code, about=f"group {group}")
    return {
        (topic.name, p.partition_index): p.committed_offset for topic in found.topics for p in topic.partitions if p.committed_offset >= 0
    }


def _chosen(cluster: Cluster, texts: Iterable[str]) -> list[Partition]:
    chosen: set[Partition] = set()
    for text in texts:
        name, colon, numbers = text.rpartition(":")
        every = sorted(cluster.leaders([name if colon else text]))
        if not colon:
            chosen.update(every)
            continue
        for number in numbers.split(","):
            partition = name, whole_number(number, MAX_INT32)
            if partition not in every:
                fail(f"topic {name} has no partition {shortened(number)!r}")
            chosen.add(partition)
    return sorted(chosen)


def _commit(cluster: Cluster, group: str, new: dict[Partition, int]) -> None:
    from oncelog.protocol import messages

    topic_class = messages.OffsetCommitRequest.OffsetCommitRequestTopic
    topics = [
        topic_class(
            name=name,
            partitions=[
                topic_class.OffsetCommitRequestPartition(partition_index=number, committed_offset=offset, committed_metadata="")
                for (topic, number), offset in new.items()
                if topic == name
            ],
        )
        for name in sorted({topic for topic, _ in new})
    ]
    request = messages.OffsetCommitRequest(group_id=group, generation_id_or_member_epoch=NO_MEMBER_EPOCH, member_id="", topics=topics)
    answer = cluster.coordinator(GROUP, group).send(ApiKey.OFFSET_COMMIT, request, max_version=9)
    for topic in answer.topics:
        for partition in topic.partitions:
            if partition.error_code == ErrorCode.UNKNOWN_MEMBER_ID:
                fail(f"group {group} has members: stop them first")
            check(partition.error_code, about=f"{topic.name}-{partition.partition_index}")
