"""ConsumerGroupHeartbeat (68), v0-1.

The one request of the consumer group protocol (KIP-848): joins with epoch 0, stays with its epoch, leaves with -1, is away for a while with
-2 (static members). v1: the client makes its member id; subscription by regular expression.
"""

from __future__ import annotations

import uuid

from oncelog.broker.answers import then
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.topic_access import may_topic
from oncelog.broker.net.dispatch import api
from oncelog.coordinator.deferred import Reply
from oncelog.coordinator.groups.consumer.heartbeat import ConsumerHeartbeat, HeartbeatAnswer
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError

_REGEX = 1
_ZERO = uuid.UUID(int=0)  # the id of no topic


@api(ApiKey.CONSUMER_GROUP_HEARTBEAT, 0, 1)
def handle(req: messages.ConsumerGroupHeartbeatRequest, ctx: RequestContext) -> Reply[messages.ConsumerGroupHeartbeatResponse]:
    """Join, stay or leave."""
    if not ctx.broker.config.group.group_consumer_enabled:
        return _refusal(ErrorCode.UNSUPPORTED_VERSION, None)
    if not ctx.authorize(AclOperation.READ, ResourceType.GROUP, req.group_id):
        return _refusal(ErrorCode.GROUP_AUTHORIZATION_FAILED, None)
    if not all(may_topic(ctx, AclOperation.DESCRIBE, name) for name in req.subscribed_topic_names or ()):
        return _refusal(ErrorCode.TOPIC_AUTHORIZATION_FAILED, None)
    try:
        reply = ctx.broker.groups.consumer_group_heartbeat(
            _request(req, ctx), lambda name: ctx.sees(AclOperation.DESCRIBE, ResourceType.TOPIC, name)
        )
    except KafkaError as error:
        return _refusal(error.code, error.message)
    return then(reply, _answer)


def _request(req: messages.ConsumerGroupHeartbeatRequest, ctx: RequestContext) -> ConsumerHeartbeat:
    names, owned = req.subscribed_topic_names, req.topic_partitions
    return ConsumerHeartbeat(
        group_id=req.group_id,
        member_id=req.member_id,
        member_epoch=req.member_epoch,
        instance_id=req.instance_id,
        rack_id=req.rack_id,
        rebalance_timeout_ms=req.rebalance_timeout_ms,
        topic_names=None if names is None else tuple(names),
        topic_regex=req.subscribed_topic_regex if ctx.api_version >= _REGEX else None,
        server_assignor=req.server_assignor,
        owned=None if owned is None else {each.topic_id or _ZERO: frozenset(each.partitions) for each in owned},
        client_id=ctx.client_id or "",
        client_host=f"/{ctx.connection.client_host}",
        api_version=ctx.api_version,
    )


def _refusal(error: ErrorCode, text: str | None) -> messages.ConsumerGroupHeartbeatResponse:
    return _answer(HeartbeatAnswer(error=error, error_message=text))


def _answer(answer: HeartbeatAnswer) -> messages.ConsumerGroupHeartbeatResponse:
    assigned = answer.assignment
    kind = messages.ConsumerGroupHeartbeatResponse.Assignment
    assignment = None
    if assigned is not None:
        topics = sorted(assigned)
        assignment = kind(topic_partitions=[kind.TopicPartitions(topic_id=each, partitions=sorted(assigned[each])) for each in topics])
    return messages.ConsumerGroupHeartbeatResponse(
        error_code=answer.error,
        error_message=answer.error_message,
        member_id=answer.member_id,
        member_epoch=answer.member_epoch,
        heartbeat_interval_ms=answer.heartbeat_interval_ms,
        assignment=assignment,
    )
