"""ShareGroupHeartbeat (76), v1.

A member of a share group joins (epoch 0), stays, or leaves (-1). It makes its own id, of 36 characters at most. The assignment is told when
it joins, when it names its topics, and when it changed. v0 was an early form that nobody speaks any more.
"""

from __future__ import annotations

from oncelog.broker.answers import then
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.topic_access import may_topic
from oncelog.broker.net.dispatch import api
from oncelog.coordinator.deferred import Reply
from oncelog.coordinator.groups.share.heartbeat import ShareAnswer, ShareHeartbeat
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError


@api(ApiKey.SHARE_GROUP_HEARTBEAT, 1, 1)
def handle(req: messages.ShareGroupHeartbeatRequest, ctx: RequestContext) -> Reply[messages.ShareGroupHeartbeatResponse]:
    """Join, stay or leave."""
    if not ctx.broker.config.share_group.enabled:
        return messages.ShareGroupHeartbeatResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    if not ctx.authorize(AclOperation.READ, ResourceType.GROUP, req.group_id):
        return messages.ShareGroupHeartbeatResponse(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    names = req.subscribed_topic_names
    if not all(may_topic(ctx, AclOperation.DESCRIBE, name) for name in names or ()):
        return messages.ShareGroupHeartbeatResponse(error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    request = ShareHeartbeat(
        group_id=req.group_id,
        member_id=req.member_id,
        member_epoch=req.member_epoch,
        rack_id=req.rack_id,
        topic_names=None if names is None else tuple(names),
        client_id=ctx.client_id or "",
        client_host=f"/{ctx.connection.client_host}",
    )
    try:
        reply = ctx.broker.groups.share_group_heartbeat(request)
    except KafkaError as error:
        return messages.ShareGroupHeartbeatResponse(error_code=error.code, error_message=error.message)
    return then(reply, _answer)


def _answer(answer: ShareAnswer) -> messages.ShareGroupHeartbeatResponse:
    kind, assigned = messages.ShareGroupHeartbeatResponse.Assignment, answer.assignment
    assignment = None
    if assigned is not None:
        topics = sorted(assigned)
        assignment = kind(topic_partitions=[kind.TopicPartitions(topic_id=each, partitions=sorted(assigned[each])) for each in topics])
    return messages.ShareGroupHeartbeatResponse(
        member_id=answer.member_id,
        member_epoch=answer.member_epoch,
        heartbeat_interval_ms=answer.heartbeat_interval_ms,
        assignment=assignment,
    )
