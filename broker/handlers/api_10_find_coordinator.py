"""FindCoordinator (10), v0-6.

Who coordinates a group (0), a transactional id (1) or a share partition (2, from v6, named `group:topic id:partition`): always this
broker. v1: key type, error text. v3: flexible. v4: several keys. v5: 120 may be answered. The internal topic is made on the way, so that
Kafka's tools find it.
"""

from __future__ import annotations

from oncelog.broker.auth.acls import CLUSTER_NAME, AclOperation, ResourceType
from oncelog.broker.context import RequestContext
from oncelog.broker.net.dispatch import api
from oncelog.coordinator.share.state import is_coordinator_key
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError

GROUP, TRANSACTION, SHARE = 0, 1, 2
_SHARE_VERSION, _SEVERAL_KEYS = 6, 4


@api(ApiKey.FIND_COORDINATOR, 0, 6)
def handle(req: messages.FindCoordinatorRequest, ctx: RequestContext) -> messages.FindCoordinatorResponse:
    """This broker, once a key."""
    if ctx.api_version >= _SEVERAL_KEYS:
        return messages.FindCoordinatorResponse(coordinators=[_coordinator(req.key_type, key, ctx) for key in req.coordinator_keys])
    found = _coordinator(req.key_type, req.key, ctx)
    text = found.error_message if found.error_code else "NONE"  # what Kafka answers in v1-v3
    return messages.FindCoordinatorResponse(
        error_code=found.error_code, error_message=text, node_id=found.node_id, host=found.host, port=found.port
    )


def _coordinator(key_type: int, key: str, ctx: RequestContext) -> messages.FindCoordinatorResponse.Coordinator:
    error, text = _refusal(key_type, key, ctx)
    kind = messages.FindCoordinatorResponse.Coordinator
    if error is not ErrorCode.NONE:
        return kind(key=key, node_id=-1, host="", port=-1, error_code=error, error_message=text)
    host, port = ctx.broker.endpoint_for(ctx.connection)
    return kind(key=key, node_id=ctx.broker.node_id, host=host, port=port, error_code=ErrorCode.NONE, error_message="")


def _refusal(key_type: int, key: str, ctx: RequestContext) -> tuple[ErrorCode, str]:
    if key_type == GROUP:
        if not ctx.authorize(AclOperation.DESCRIBE, ResourceType.GROUP, key):
            return ErrorCode.GROUP_AUTHORIZATION_FAILED, "Group authorization failed."
        ensure_topic = ctx.broker.groups.runtime.ensure_topic
    elif key_type == TRANSACTION:
        if not ctx.authorize(AclOperation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, key):
            return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "Transactional Id authorization failed."
        ensure_topic = ctx.broker.transactions.runtime.ensure_topic
    elif key_type == SHARE and ctx.api_version >= _SHARE_VERSION:
        if not ctx.authorize(AclOperation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME):
            return ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed."
        if not is_coordinator_key(key):
            return ErrorCode.INVALID_REQUEST, ""
        ensure_topic = ctx.broker.persister.runtime.ensure_topic
    else:
        return ErrorCode.INVALID_REQUEST, f"Unknown coordinator type {key_type}"
    try:
        ensure_topic()
    except KafkaError:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE, "The coordinator is not available."
    return ErrorCode.NONE, ""
