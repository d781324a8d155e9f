"""AddOffsetsToTxn (25), v0-4.

Adds the partition of `__consumer_offsets` that holds a group's offsets to the transaction. The group need not exist.
v2: 90 instead of 47 for a fenced producer. v3: flexible. v4: 120 may be answered.
"""

from __future__ import annotations

from oncelog.broker.answers import then
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.broker.context import RequestContext
from oncelog.broker.net.dispatch import api
from oncelog.coordinator.deferred import Reply
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import CONSUMER_OFFSETS, TopicPartition


@api(ApiKey.ADD_OFFSETS_TO_TXN, 0, 4)
def handle(req: messages.AddOffsetsToTxnRequest, ctx: RequestContext) -> Reply[messages.AddOffsetsToTxnResponse]:
    """Add the group's partition."""
    refusal = _refusal(req, ctx)
    if refusal is not ErrorCode.NONE:
        return messages.AddOffsetsToTxnResponse(error_code=refusal)
    partition = TopicPartition(CONSUMER_OFFSETS, ctx.broker.groups.partition_for(req.group_id))
    reply = ctx.broker.transactions.add_partitions(req.transactional_id, req.producer_id, req.producer_epoch, [partition])
    version = ctx.api_version
    return then(reply, lambda code: _answer(code, version))


def _refusal(req: messages.AddOffsetsToTxnRequest, ctx: RequestContext) -> ErrorCode:
    if not ctx.authorize(AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, req.transactional_id):
        return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    if not ctx.authorize(AclOperation.READ, ResourceType.GROUP, req.group_id):
        return ErrorCode.GROUP_AUTHORIZATION_FAILED
    return ErrorCode.INVALID_REQUEST if req.transactional_id == "" else ErrorCode.NONE


def _answer(code: ErrorCode, api_version: int) -> messages.AddOffsetsToTxnResponse:
    if code is ErrorCode.PRODUCER_FENCED and api_version < 2:
        code = ErrorCode.INVALID_PRODUCER_EPOCH
    return messages.AddOffsetsToTxnResponse(error_code=code)
