"""DescribeShareGroupOffsets (90), v0-1.

Where share groups begin: what was written last, so that records finished since then are above it; the lag of v1 leaves them out. -1: the
group has not read there, or there is no such partition; no error, for unknown groups neither. Null topics are all that the group knows.
"""

from __future__ import annotations

from collections.abc import Sequence

from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.topic_access import may_topic
from oncelog.broker.net.dispatch import api
from oncelog.broker.net.turns import Steps
from oncelog.coordinator.deferred import Deferred, Reply
from oncelog.coordinator.share.persister import StateSummary
from oncelog.coordinator.share.state import NOT_SET
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.names import TopicPartition

PARTITIONS_A_TURN = 500
_Wanted = messages.DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup
_Group = messages.DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponseGroup
_Topic = _Group.DescribeShareGroupOffsetsResponseTopic
_Partition = _Topic.DescribeShareGroupOffsetsResponsePartition


@api(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, 0, 1)
def handle(req: messages.DescribeShareGroupOffsetsRequest, ctx: RequestContext) -> Reply[messages.DescribeShareGroupOffsetsResponse]:
    """One entry a group."""
    return ctx.broker.turns.begin(_in_turns(req, ctx))


def _in_turns(req: messages.DescribeShareGroupOffsetsRequest, ctx: RequestContext) -> Steps[messages.DescribeShareGroupOffsetsResponse]:
    told = []
    for group in req.groups:
        told.append((yield from _group(group, ctx)))
    return messages.DescribeShareGroupOffsetsResponse(groups=told)


def _group(wanted: _Wanted, ctx: RequestContext) -> Steps[_Group]:
    group_id = wanted.group_id
    if not ctx.broker.config.share_group.enabled:
        return _Group(group_id=group_id, error_code=ErrorCode.UNSUPPORTED_VERSION)
    if not ctx.authorize(AclOperation.DESCRIBE, ResourceType.GROUP, group_id):
        return _Group(group_id=group_id, error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    try:
        topics = _asked(wanted, ctx)
    except KafkaError as refused:
        return _Group(group_id=group_id, error_code=refused.code, error_message=refused.message)
    told: list[_Topic] = []
    for name, partitions, allowed in topics:
        known = ctx.broker.logs.topics.get(name) if allowed else None
        topic = _Topic(topic_name=name, topic_id=known.topic_id if known is not None else None, partitions=[])
        for start in range(0, len(partitions), PARTITIONS_A_TURN):
            some = partitions[start : start + PARTITIONS_A_TURN]
            if not allowed:
                topic.partitions += [_refused(p, ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Topic authorization failed.") for p in some]
                continue
            places = [TopicPartition(name, p) for p in some]
            reply = ctx.broker.groups.share.offsets.describe(group_id, places)
            summaries = (yield reply) if isinstance(reply, Deferred) else reply
            topic.partitions += [_partition(place, summary, ctx) for place, summary in zip(places, summaries, strict=True)]
            if start:
                yield None
        told.append(topic)
    return _Group(group_id=group_id, topics=told)


def _asked(wanted: _Wanted, ctx: RequestContext) -> list[tuple[str, Sequence[int], bool]]:
    """(topic, partitions, may they be told). Raises KafkaError 14."""
    if wanted.topics is not None:
        return [(topic.topic_name, topic.partitions, may_topic(ctx, AclOperation.DESCRIBE, topic.topic_name)) for topic in wanted.topics]
    found: dict[str, list[int]] = {}
    for name, partition in ctx.broker.groups.share.offsets.known(wanted.group_id):
        found.setdefault(name, []).append(partition)
    return [(name, partitions, True) for name, partitions in found.items() if may_topic(ctx, AclOperation.DESCRIBE, name)]


def _partition(place: TopicPartition, summary: StateSummary | ErrorCode, ctx: RequestContext) -> _Partition:
    if isinstance(summary, ErrorCode):
        return _refused(place.partition, summary, summary.name)
    lag = -1
    log = ctx.broker.logs.log(place) if summary.start_offset != NOT_SET else None
    if log is not None:
        lag = log.high_watermark - summary.start_offset - max(summary.delivery_complete_count, 0)
    return _Partition(partition_index=place.partition, start_offset=summary.start_offset, leader_epoch=summary.leader_epoch, lag=lag)


def _refused(partition: int, error: ErrorCode, text: str) -> _Partition:
    return _Partition(partition_index=partition, start_offset=-1, leader_epoch=0, lag=-1, error_code=error, error_message=text)
