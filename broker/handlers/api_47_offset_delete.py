"""OffsetDelete (47), v0.

Removes committed offsets of topics that no member of the group subscribes to (86 otherwise). Unknown group: 69; a live group of another
kind: 68.
"""

from __future__ import annotations

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

_Verdicts = dict[TopicPartition, ErrorCode]


@api(ApiKey.OFFSET_DELETE, 0, 0)
def handle(req: messages.OffsetDeleteRequest, ctx: RequestContext) -> Reply[messages.OffsetDeleteResponse]:
    """One verdict a partition."""
    if not ctx.authorize(AclOperation.DELETE, ResourceType.GROUP, req.group_id):
        return messages.OffsetDeleteResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    verdicts: _Verdicts = {}
    places = []
    for topic in req.topics:
        for partition in topic.partitions:
            place = TopicPartition(topic.name, partition.partition_index)
            if not may_topic(ctx, AclOperation.READ, topic.name):
                verdicts[place] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            elif not ctx.broker.logs.topics.has_partition(place):
                verdicts[place] = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            else:
                places.append(place)
    try:
        reply = ctx.broker.groups.offsets.delete(req.group_id, places)
    except KafkaError as error:
        return messages.OffsetDeleteResponse(error_code=error.code)
    return then(reply, lambda codes: _answer(req, verdicts | codes))


def _answer(req: messages.OffsetDeleteRequest, verdicts: _Verdicts) -> messages.OffsetDeleteResponse:
    kind = messages.OffsetDeleteResponse.OffsetDeleteResponseTopic
    return messages.OffsetDeleteResponse(
        topics=[
            kind(
                name=topic.name,
                partitions=[
                    kind.OffsetDeleteResponsePartition(
                        partition_index=partition.partition_index,
                        error_code=verdicts[TopicPartition(topic.name, partition.partition_index)],
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in req.topics
            if topic.partitions
        ]
    )
