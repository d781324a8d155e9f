"""OffsetCommit (8), v2-10.

v2-4: retention time, ignored as Kafka does. v6: leader epoch. v7: instance id. v8: flexible. v9: member epoch of consumer groups. v10:
topic ids. Unknown topics and partitions are refused one by one; the others are stored.
"""

from __future__ import annotations

import uuid

from oncelog.broker.answers import then
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.topic_access import may_topic
from oncelog.broker.net.dispatch import api
from oncelog.coordinator.deferred import Reply
from oncelog.coordinator.groups.offsets.state import OffsetToCommit
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import TopicPartition

_Verdicts = dict[tuple[int, int], ErrorCode]  # (position of the topic in the request, partition)
_BY_ID = 10


@api(ApiKey.OFFSET_COMMIT, 2, 10)
def handle(req: messages.OffsetCommitRequest, ctx: RequestContext) -> Reply[messages.OffsetCommitResponse]:
    """Store what may be stored."""
    verdicts: _Verdicts = {}
    offsets: dict[TopicPartition, OffsetToCommit] = {}
    places: dict[TopicPartition, tuple[int, int]] = {}
    ids: dict[str, uuid.UUID] = {}
    allowed = ctx.authorize(AclOperation.READ, ResourceType.GROUP, req.group_id)
    for position, topic in enumerate(req.topics):
        name, topic_id, refusal = _topic(topic, ctx) if allowed else ("", None, ErrorCode.GROUP_AUTHORIZATION_FAILED)
        for partition in topic.partitions:
            place = TopicPartition(name, partition.partition_index)
            error = refusal
            if error is ErrorCode.NONE and not ctx.broker.logs.topics.has_partition(place):
                error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            if error is not ErrorCode.NONE:
                verdicts[(position, place.partition)] = error
                continue
            places[place] = (position, place.partition)
            offsets[place] = OffsetToCommit(
                partition.committed_offset, partition.committed_leader_epoch, partition.committed_metadata or ""
            )
            if topic_id is not None:
                ids[name] = topic_id
    if not offsets:
        return _answer(req, verdicts)
    reply = ctx.broker.groups.offsets.commit(
        req.group_id, req.member_id, req.generation_id_or_member_epoch, req.group_instance_id, offsets, ids, api_version=ctx.api_version
    )
    return then(reply, lambda codes: _answer(req, verdicts | {places[place]: code for place, code in codes.items()}))


def _topic(topic: messages.OffsetCommitRequest.OffsetCommitRequestTopic, ctx: RequestContext) -> tuple[str, uuid.UUID | None, ErrorCode]:
    topics = ctx.broker.logs.topics
    if ctx.api_version >= _BY_ID:
        found = topics.by_id(topic.topic_id) if topic.topic_id is not None else None
        if found is None:
            return "", None, ErrorCode.UNKNOWN_TOPIC_ID
    else:
        found = topics.get(topic.name)
    name = found.name if found is not None else topic.name
    if not may_topic(ctx, AclOperation.READ, name):
        return name, None, ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return name, found.topic_id if found is not None else None, ErrorCode.NONE


def _answer(req: messages.OffsetCommitRequest, verdicts: _Verdicts) -> messages.OffsetCommitResponse:
    kind = messages.OffsetCommitResponse.OffsetCommitResponseTopic
    return messages.OffsetCommitResponse(
        topics=[
            kind(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    kind.OffsetCommitResponsePartition(
                        partition_index=partition.partition_index, error_code=verdicts[(position, partition.partition_index)]
                    )
                    for partition in topic.partitions
                ],
            )
            for position, topic in enumerate(req.topics)
        ]
    )
