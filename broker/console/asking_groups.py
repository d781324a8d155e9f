"""What the protocol tells of groups, and what it does not: offsets of open transactions are read from `__consumer_offsets`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from oncelog.broker.commands.client.cluster import Cluster, check
from oncelog.broker.commands.client.streams_groups import streams_members
from oncelog.broker.console.model import Committed, Group, Member, Partition, PendingOffset
from oncelog.broker.console.shards import assigned
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.internal.fields import CorruptRecord
from oncelog.protocol.internal.records import OffsetCommitKey, OffsetCommitValue, decode_key, decode_value
from oncelog.protocol.names import CONSUMER_OFFSETS, TopicPartition
from oncelog.protocol.records import BatchHeader, CorruptBatch, iter_headers, iter_records

if TYPE_CHECKING:
    from oncelog.broker.commands.client.wire import WireClient
    from oncelog.protocol import messages

GROUPS_A_REQUEST = 50
_MOST_BYTES = 8 << 20  # of one partition: what open transactions have committed
_READ_BYTES = 1 << 20
_KINDS = {"": "classic", "classic": "classic", "consumer": "consumer", "streams": "streams"}
Pending = dict[str, dict[TopicPartition, list[PendingOffset]]]


def groups(cluster: Cluster) -> list[Group]:
    """Classic, consumer and streams groups of all coordinators, with members and committed offsets; pending ones are `pending`'s."""
    from oncelog.protocol import messages

    found: list[Group] = []
    for node in cluster.nodes():
        client = cluster.node(node.node_id)
        answer = client.send(ApiKey.LIST_GROUPS, messages.ListGroupsRequest(states_filter=[], types_filter=[]))
        check(answer.error_code, about=f"groups of broker {node.node_id}")
        here = [
            Group(each.group_id, kind, each.group_state or "", each.protocol_type or None)
            for each in answer.groups
            if (kind := _KINDS.get((each.group_type or "").lower())) is not None
        ]
        for first in range(0, len(here), GROUPS_A_REQUEST):
            _describe(client, here[first : first + GROUPS_A_REQUEST])
        for group in here:
            if group.kind == "streams":
                _streams(cluster, group)
        found += here
    return found


def _describe(client: WireClient, some: list[Group]) -> None:
    from oncelog.protocol import messages

    classic = {group.group_id: group for group in some if group.kind == "classic"}
    consumer = {group.group_id: group for group in some if group.kind == "consumer"}
    if classic:
        for told in client.send(ApiKey.DESCRIBE_GROUPS, messages.DescribeGroupsRequest(groups=list(classic))).groups:
            if not told.error_code:
                _classic(classic[told.group_id], told)
    if consumer and client.supports(ApiKey.CONSUMER_GROUP_DESCRIBE):
        request = messages.ConsumerGroupDescribeRequest(group_ids=list(consumer))
        for described in client.send(ApiKey.CONSUMER_GROUP_DESCRIBE, request).groups:
            if not described.error_code:
                _consumer(consumer[described.group_id], described)
    _committed(client, {group.group_id: group for group in some})


def _classic(group: Group, told: messages.DescribeGroupsResponse.DescribedGroup) -> None:
    group.state, group.assignor = told.group_state, told.protocol_data or None
    reads = told.protocol_type in ("consumer", "")
    group.members = [
        Member(
            each.member_id,
            each.group_instance_id,
            each.client_id,
            each.client_host.removeprefix("/"),
            assigned(bytes(each.member_assignment)) if reads else (),
        )
        for each in told.members
    ]


def _consumer(group: Group, told: messages.ConsumerGroupDescribeResponse.DescribedGroup) -> None:
    group.state, group.assignor, group.epoch = told.group_state, told.assignor_name or None, told.group_epoch
    group.members = [
        Member(
            each.member_id,
            each.instance_id,
            each.client_id,
            each.client_host.removeprefix("/"),
            tuple(
                TopicPartition(topic.topic_name, number)
                for topic in (each.assignment.topic_partitions if each.assignment is not None else ())
                for number in topic.partitions
            ),
        )
        for each in told.members
    ]


def _streams(cluster: Cluster, group: Group) -> None:
    told = streams_members(cluster, group.group_id)
    if told is not None:
        group.state = told[0]
        group.members = [
            Member(
                each["member"], None, each["client_id"], each["host"].removeprefix("/"), tuple(TopicPartition(*it) for it in each["owned"])
            )
            for each in told[1]
        ]


def _committed(client: WireClient, some: Mapping[str, Group]) -> None:
    from oncelog.protocol import messages

    if client.supports(ApiKey.OFFSET_FETCH, 8):
        kind = messages.OffsetFetchRequest.OffsetFetchRequestGroup
        request = messages.OffsetFetchRequest(groups=[kind(group_id=id, topics=None) for id in some], require_stable=False)
        told = [(each.group_id, each) for each in client.send(ApiKey.OFFSET_FETCH, request, max_version=9).groups]
    else:
        told = [
            (id, client.send(ApiKey.OFFSET_FETCH, messages.OffsetFetchRequest(group_id=id, topics=None, require_stable=False)))  # type: ignore[misc]
            for id in some
        ]
    for id, answer in told:
        if not answer.error_code:
            some[id].committed = {
                TopicPartition(topic.name, part.partition_index): Committed(part.committed_offset, None)
                for topic in answer.topics
                for part in topic.partitions
                if part.committed_offset >= 0 and not part.error_code
            }


def pending(behind: Iterable[Partition], read: Callable[[TopicPartition, int, int], bytes]) -> Pending:
    """Offsets of transactions that are open. They stand above the last stable offset, so little has to be read. Raises KafkaError."""
    found: Pending = {}
    for edge in behind:
        if edge.place.topic == CONSUMER_OFFSETS:
            for offsets in _pending_on(edge, read).values():
                for (group, place), one in offsets.items():
                    found.setdefault(group, {}).setdefault(place, []).append(one)
    return found


def _pending_on(
    edge: Partition, read: Callable[[TopicPartition, int, int], bytes]
) -> dict[int, dict[tuple[str, TopicPartition], PendingOffset]]:
    opened: dict[int, dict[tuple[str, TopicPartition], PendingOffset]] = defaultdict(dict)
    offset, left = edge.last_stable_offset, _MOST_BYTES
    while offset < edge.high_watermark and left > 0:
        data = memoryview(read(edge.place, offset, _READ_BYTES))
        left -= len(data)
        before = offset
        for position, header in iter_headers(data):
            offset = header.next_offset
            if header.is_control:
                opened.pop(header.producer_id, None)
            elif header.is_transactional:
                opened[header.producer_id].update(_offsets_in(data[position : position + header.size_bytes], header))
        if offset <= before:
            break
    return opened


def _offsets_in(batch: memoryview, header: BatchHeader) -> dict[tuple[str, TopicPartition], PendingOffset]:
    found = {}
    try:
        for record in iter_records(batch):
            key = decode_key(CONSUMER_OFFSETS, record.key or b"")
            value = decode_value(key, record.value)
            if isinstance(key, OffsetCommitKey) and isinstance(value, OffsetCommitValue):
                place = TopicPartition(key.topic, key.partition)
                found[key.group, place] = PendingOffset(header.producer_id, header.producer_epoch, value.offset, value.commit_timestamp)
    except (CorruptBatch, CorruptRecord, IndexError):
        pass  # what cannot be read is not shown
    return found


def not_allowed(error: KafkaError) -> bool:
    """Is a right missing, so that only this part of the view is?"""
    return error.code in (
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    )
