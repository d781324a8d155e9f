"""ShareAcknowledge (79), v1-2.

What has become of acquired records (KIP-932), within the share session that a ShareFetch has opened; with epoch -1 it closes it, and what
the member still holds is released. v2: locks that are renewed (KIP-1222). Answered when it is on disk.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.answers import both
from oncelog.broker.net.dispatch import api
from oncelog.broker.sharing.acknowledging import Acknowledged, Verdicts, acknowledge, check_member, leader, named
from oncelog.broker.sharing.sessions import FINAL_EPOCH, INITIAL_EPOCH, ShareSession
from oncelog.coordinator.deferred import Reply
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    import uuid

    from oncelog.broker.context import RequestContext
    from oncelog.broker.net.turns import Steps

_RENEWING = 2
_E = ErrorCode


@api(ApiKey.SHARE_ACKNOWLEDGE, 1, 2)
def handle(req: messages.ShareAcknowledgeRequest, ctx: RequestContext) -> Reply[messages.ShareAcknowledgeResponse]:
    """Acknowledge."""
    try:
        group_id = check_member(ctx, req.group_id, req.member_id)
        if req.share_session_epoch == INITIAL_EPOCH:
            raise KafkaError(_E.INVALID_SHARE_SESSION_EPOCH)
        session = ctx.broker.sharing.sessions.go_on(group_id, req.member_id or "", req.share_session_epoch)
    except KafkaError as error:
        return messages.ShareAcknowledgeResponse(error_code=error.code)
    return ctx.broker.turns.begin(_steps(req, ctx, session, named(req.topics)))


def _steps(
    req: messages.ShareAcknowledgeRequest, ctx: RequestContext, session: ShareSession, asked: list[Acknowledged]
) -> Steps[Reply[messages.ShareAcknowledgeResponse]]:
    renews = ctx.api_version >= _RENEWING and req.is_renew_ack
    verdicts = yield from acknowledge(ctx, session.group_id, session.member_id, asked, renews=renews)
    closed = ctx.broker.sharing.close(session) if req.share_session_epoch == FINAL_EPOCH else []
    lock_ms = ctx.broker.sharing.settings(session.group_id).limits.lock_ms
    return both(verdicts, closed, lambda verdicts, _codes: _answer(ctx, lock_ms, verdicts))


def _answer(ctx: RequestContext, lock_ms: int, verdicts: Verdicts) -> messages.ShareAcknowledgeResponse:
    kind = messages.ShareAcknowledgeResponse
    topics: dict[uuid.UUID, messages.ShareAcknowledgeResponse.ShareAcknowledgeTopicResponse] = {}
    moved = False
    for where, refused in verdicts.items():
        moved = moved or refused.code is _E.NOT_LEADER_OR_FOLLOWER
        node_id, epoch = leader(ctx, where, refused.code)
        topic = topics.get(where.topic_id)
        if topic is None:
            topic = topics[where.topic_id] = kind.ShareAcknowledgeTopicResponse(topic_id=where.topic_id, partitions=[])
        made = topic.PartitionData(partition_index=where.partition, error_code=refused.code, error_message=refused.text)
        made.current_leader = made.LeaderIdAndEpoch(leader_id=node_id, leader_epoch=epoch)
        topic.partitions.append(made)
    host, port = ctx.broker.endpoint_for(ctx.connection)
    nodes = [kind.NodeEndpoint(node_id=ctx.broker.node_id, host=host, port=port)] if moved else []
    return kind(acquisition_lock_timeout_ms=lock_ms, responses=list(topics.values()), node_endpoints=nodes)
