"""InitProducerId (22), v0-5; v6 when two-phase commit is enabled.

A producer id for an idempotent producer, or the next epoch of a transactional id, which fences the instance before and aborts its
transaction (51 until that is done). v2: flexible. v3: the client's present pair, by which it may come back after an error. v4: 90
instead of 47 for a fenced producer. v5: 120 may be answered. v6: enable2Pc and keepPreparedTxn (KIP-939), unstable in Apache
Kafka 4.3.
"""

from __future__ import annotations

from oncelog.broker.answers import then
from oncelog.broker.auth.acls import CLUSTER_NAME, AclOperation, ResourceType
from oncelog.broker.context import RequestContext
from oncelog.broker.net.dispatch import api
from oncelog.coordinator.deferred import Reply
from oncelog.coordinator.txn.init_producer_id import InitProducerIdResult
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode


@api(ApiKey.INIT_PRODUCER_ID, 0, 5, unstable_max=6)
def handle(req: messages.InitProducerIdRequest, ctx: RequestContext) -> Reply[messages.InitProducerIdResponse]:
    """Give out a pair."""
    refusal = _refusal(req, ctx)
    if refusal is not ErrorCode.NONE:
        return _answer(InitProducerIdResult(refusal), ctx.api_version)
    reply = ctx.broker.transactions.init_producer_id(
        req.transactional_id,
        req.transaction_timeout_ms,
        req.producer_id,
        req.producer_epoch,
        enable_2pc=req.enable2_pc,
        keep_prepared=req.keep_prepared_txn,
        client=f"{ctx.client_id or ''}@{ctx.connection.client_host}",
    )
    version = ctx.api_version
    return then(reply, lambda result: _answer(result, version))


def _refusal(req: messages.InitProducerIdRequest, ctx: RequestContext) -> ErrorCode:
    if req.transactional_id is None:
        may = ctx.authorize(AclOperation.IDEMPOTENT_WRITE, ResourceType.CLUSTER, CLUSTER_NAME) or ctx.authorize_any(
            AclOperation.WRITE, ResourceType.TOPIC
        )
        return ErrorCode.NONE if may else ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    needed = [AclOperation.WRITE, AclOperation.TWO_PHASE_COMMIT] if req.enable2_pc else [AclOperation.WRITE]
    if all(ctx.authorize(operation, ResourceType.TRANSACTIONAL_ID, req.transactional_id) for operation in needed):
        return ErrorCode.NONE
    return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


def _answer(result: InitProducerIdResult, api_version: int) -> messages.InitProducerIdResponse:
    error = result.error
    if error is ErrorCode.PRODUCER_FENCED and api_version < 4:
        error = ErrorCode.INVALID_PRODUCER_EPOCH
    return messages.InitProducerIdResponse(
        error_code=error,
        producer_id=result.producer_id,
        producer_epoch=result.producer_epoch,
        ongoing_txn_producer_id=result.ongoing_producer_id,
        ongoing_txn_producer_epoch=result.ongoing_producer_epoch,
    )
