"""OffsetFetch (9), v1-10.

v2: null topics are all of the group; in v1 its error stands on every partition. v5: leader epochs. v6: flexible. v7: require_stable, 88
while a transaction holds an offset. v8: several groups. v9: member id and epoch, checked for consumer groups. v10: topic ids. A partition
without an offset is -1 without an error.
"""

from __future__ import annotations

import uuid

from oncelog.broker.answers import all_of, then
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.topic_access import may_topic
from oncelog.broker.net.dispatch import api
from oncelog.broker.net.turns import Steps
from oncelog.coordinator.deferred import Deferred, Reply
from oncelog.coordinator.groups.offsets.service import FetchedOffset
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.names import TopicPartition

_GROUP_ERROR, _SEVERAL_GROUPS, _BY_ID = 2, 8, 10
OFFSETS_A_TURN = 1000
_Group = messages.OffsetFetchRequest.OffsetFetchRequestGroup
_Told = messages.OffsetFetchResponse.OffsetFetchResponseGroup
_ToldTopic = _Told.OffsetFetchResponseTopics
_Found = dict[TopicPartition, FetchedOffset]


@api(ApiKey.OFFSET_FETCH, 1, 10)
def handle(req: messages.OffsetFetchRequest, ctx: RequestContext) -> Reply[messages.OffsetFetchResponse]:
    """The committed offsets of each group asked for."""
    if any(group.topics is None for group in req.groups) or (ctx.api_version < _SEVERAL_GROUPS and req.topics is None):
        return ctx.broker.turns.begin(_in_turns(req, ctx))
    if ctx.api_version >= _SEVERAL_GROUPS:
        replies = [_group(group, req.require_stable, ctx) for group in req.groups]
        return then(all_of(replies), lambda groups: messages.OffsetFetchResponse(groups=groups))
    return then(_group(_as_group(req), req.require_stable, ctx), _flat)


def _in_turns(req: messages.OffsetFetchRequest, ctx: RequestContext) -> Steps[messages.OffsetFetchResponse]:
    """For groups asked for whole: nobody knows how much that is."""
    several = ctx.api_version >= _SEVERAL_GROUPS
    told: list[_Told] = []
    for group in req.groups if several else [_as_group(req)]:
        if group.topics is None:
            told.append((yield from _whole(group, req.require_stable, ctx)))
        else:
            reply = _group(group, req.require_stable, ctx)
            told.append((yield reply) if isinstance(reply, Deferred) else reply)
    return messages.OffsetFetchResponse(groups=told) if several else _flat(told[0])


def _whole(group: _Group, require_stable: bool, ctx: RequestContext) -> Steps[_Told]:
    if not ctx.authorize(AclOperation.DESCRIBE, ResourceType.GROUP, group.group_id):
        return _failed(group, ErrorCode.GROUP_AUTHORIZATION_FAILED, ctx)
    try:
        reply = ctx.broker.groups.offsets.fetch(
            group.group_id, None, require_stable=require_stable, member_id=group.member_id, member_epoch=group.member_epoch
        )
    except KafkaError as error:
        return _failed(group, error.code, ctx)
    found: _Found = (yield reply) if isinstance(reply, Deferred) else reply
    if len(found) > OFFSETS_A_TURN:
        yield None
    topics: list[_ToldTopic] = []
    for name, topic_id, error_code, numbers in _all(found, ctx):
        partitions: list[_ToldTopic.OffsetFetchResponsePartitions] = []
        for start in range(0, len(numbers), OFFSETS_A_TURN):
            some = numbers[start : start + OFFSETS_A_TURN]
            partitions += [_partition(p, found.get(TopicPartition(name, p)), error_code) for p in some]
            if len(found) > OFFSETS_A_TURN:
                yield None
        topics.append(_ToldTopic(name=name, topic_id=topic_id, partitions=partitions))
    return _Told(group_id=group.group_id, topics=topics)


def _as_group(req: messages.OffsetFetchRequest) -> _Group:
    """The one group of an old request in the form of the new ones."""
    topics = None
    if req.topics is not None:
        topics = [_Group.OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes) for topic in req.topics]
    return _Group(group_id=req.group_id, topics=topics)


def _flat(group: _Told) -> messages.OffsetFetchResponse:
    """The answer of v1-7."""
    kind = messages.OffsetFetchResponse.OffsetFetchResponseTopic
    topics = [
        kind(
            name=topic.name,
            partitions=[
                kind.OffsetFetchResponsePartition(
                    partition_index=p.partition_index,
                    committed_offset=p.committed_offset,
                    committed_leader_epoch=p.committed_leader_epoch,
                    metadata=p.metadata,
                    error_code=p.error_code,
                )
                for p in topic.partitions
            ],
        )
        for topic in group.topics
    ]
    return messages.OffsetFetchResponse(topics=topics, error_code=group.error_code)


def _group(group: _Group, require_stable: bool, ctx: RequestContext) -> Reply[_Told]:
    if not ctx.authorize(AclOperation.DESCRIBE, ResourceType.GROUP, group.group_id):
        return _failed(group, ErrorCode.GROUP_AUTHORIZATION_FAILED, ctx)
    asked = [_resolved(topic, ctx) for topic in group.topics or ()]
    asked.sort(key=lambda topic: topic[2] is not ErrorCode.NONE)
    places = [TopicPartition(name, p) for name, _id, error, numbers in asked if error is ErrorCode.NONE for p in numbers]
    try:
        reply = ctx.broker.groups.offsets.fetch(
            group.group_id, places, require_stable=require_stable, member_id=group.member_id, member_epoch=group.member_epoch
        )
    except KafkaError as error:
        return _failed(group, error.code, ctx)
    return then(reply, lambda found: _Told(group_id=group.group_id, topics=_topics(asked, found)))


def _failed(group: _Group, error: ErrorCode, ctx: RequestContext) -> _Told:
    if ctx.api_version >= _GROUP_ERROR:
        return _Told(group_id=group.group_id, error_code=error)
    asked: list[_Asked] = [(topic.name, None, error, topic.partition_indexes) for topic in group.topics or ()]
    return _Told(group_id=group.group_id, topics=_topics(asked, {}))


_Asked = tuple[str, uuid.UUID | None, ErrorCode, list[int]]


def _resolved(topic: _Group.OffsetFetchRequestTopics, ctx: RequestContext) -> _Asked:
    name, topic_id = topic.name, topic.topic_id
    if ctx.api_version >= _BY_ID:
        found = ctx.broker.logs.topics.by_id(topic_id) if topic_id is not None else None
        if found is None:
            return "", topic_id, ErrorCode.UNKNOWN_TOPIC_ID, topic.partition_indexes
        name = found.name
    allowed = may_topic(ctx, AclOperation.DESCRIBE, name)
    return name, topic_id, ErrorCode.NONE if allowed else ErrorCode.TOPIC_AUTHORIZATION_FAILED, topic.partition_indexes


def _topics(asked: list[_Asked], found: _Found) -> list[_ToldTopic]:
    return [
        _ToldTopic(
            name=name,
            topic_id=topic_id,
            partitions=[_partition(p, found.get(TopicPartition(name, p)), error) for p in numbers],
        )
        for name, topic_id, error, numbers in asked
    ]


def _all(found: _Found, ctx: RequestContext) -> list[_Asked]:
    """Every topic with an offset; by id only those that still exist under one."""
    topics: dict[str, list[int]] = {}
    for place in found:
        if may_topic(ctx, AclOperation.DESCRIBE, place.topic):
            topics.setdefault(place.topic, []).append(place.partition)
    listed = []
    for name, numbers in topics.items():
        known = ctx.broker.logs.topics.get(name)
        if known is not None or ctx.api_version < _BY_ID:
            listed.append((name, known.topic_id if known is not None else None, ErrorCode.NONE, numbers))
    return listed


def _partition(index: int, offset: FetchedOffset | None, error: ErrorCode) -> _ToldTopic.OffsetFetchResponsePartitions:
    told = offset if offset is not None else FetchedOffset(error=error)
    return _ToldTopic.OffsetFetchResponsePartitions(
        partition_index=index,
        committed_offset=told.offset,
        committed_leader_epoch=told.leader_epoch,
        metadata=told.metadata,
        error_code=told.error,
    )
