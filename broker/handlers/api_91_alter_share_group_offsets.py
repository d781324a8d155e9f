"""AlterShareGroupOffsets (91), v0.

Share partitions of a group without members begin at these offsets, whatever became of their records before; offsets are not checked, -1
leaves it to the group's reset strategy. A group that there is not is made. With members: 68; a group of another type: 69.
"""

from __future__ import annotations

from collections.abc import Collection

from oncelog.broker.answers import then
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.topic_access import may_topic
from oncelog.broker.net.dispatch import api
from oncelog.coordinator.deferred import Reply
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.names import TopicPartition

_E = ErrorCode
_Topic = messages.AlterShareGroupOffsetsResponse.AlterShareGroupOffsetsResponseTopic
_Partition = _Topic.AlterShareGroupOffsetsResponsePartition
_Verdicts = dict[TopicPartition, ErrorCode]
_TEXTS = {
    _E.UNKNOWN_TOPIC_OR_PARTITION: "This server does not host this topic-partition.",
    _E.TOPIC_AUTHORIZATION_FAILED: "Topic authorization failed.",
}


@api(ApiKey.ALTER_SHARE_GROUP_OFFSETS, 0, 0)
def handle(req: messages.AlterShareGroupOffsetsRequest, ctx: RequestContext) -> Reply[messages.AlterShareGroupOffsetsResponse]:
    """One verdict a partition."""
    if not ctx.broker.config.share_group.enabled:
        return messages.AlterShareGroupOffsetsResponse(error_code=_E.UNSUPPORTED_VERSION)
    if not ctx.authorize(AclOperation.READ, ResourceType.GROUP, req.group_id):
        error = _E.GROUP_AUTHORIZATION_FAILED
        return messages.AlterShareGroupOffsetsResponse(error_code=error, error_message="Group authorization failed.")
    allowed = {topic.topic_name for topic in req.topics if may_topic(ctx, AclOperation.READ, topic.topic_name)}
    wanted = {
        TopicPartition(topic.topic_name, partition.partition_index): partition.start_offset
        for topic in req.topics
        for partition in topic.partitions
        if topic.topic_name in allowed
    }
    try:
        reply = ctx.broker.groups.share.offsets.alter(req.group_id, wanted)
    except KafkaError as refused:
        return messages.AlterShareGroupOffsetsResponse(error_code=refused.code, error_message=refused.message)
    return then(reply, lambda verdicts: _answer(req, verdicts, allowed, ctx))


def _answer(
    req: messages.AlterShareGroupOffsetsRequest, verdicts: _Verdicts, allowed: Collection[str], ctx: RequestContext
) -> messages.AlterShareGroupOffsetsResponse:
    told = []
    for topic in req.topics:
        partitions = []
        for asked in topic.partitions:
            code = verdicts.get(TopicPartition(topic.topic_name, asked.partition_index), _E.TOPIC_AUTHORIZATION_FAILED)
            text = _TEXTS.get(code, code.name) if code is not _E.NONE else None
            partitions.append(_Partition(partition_index=asked.partition_index, error_code=code, error_message=text))
        known = ctx.broker.logs.topics.get(topic.topic_name)
        topic_id = known.topic_id if known is not None and topic.topic_name in allowed else None
        told.append(_Topic(topic_name=topic.topic_name, topic_id=topic_id, partitions=partitions))
    return messages.AlterShareGroupOffsetsResponse(responses=told)
