"""EndTxn (26), v0-5.

Commits or aborts; answered when the markers on all partitions are durable, so the next transaction never meets the last one.
v2: 90 instead of 47 for a fenced producer. v3: flexible. v4: 120 may be answered. v5: every end raises the epoch, the answer carries
the pair to use next (KIP-890).
"""

from __future__ import annotations

from oncelog.broker.answers import then
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.broker.context import BrokerContext, ConnectionFacts, RequestContext
from oncelog.broker.net.dispatch import api
from oncelog.coordinator.deferred import Reply
from oncelog.coordinator.txn.end_txn import EndTxnResult
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.hot.end_txn import end_txn_answer, read_end_txn


class StraightEndTxn:
    """From the frame to the bytes of the answer; `StraightWay` of one broker."""

    __slots__ = ("_broker",)

    def __init__(self, broker: BrokerContext) -> None:
        self._broker = broker

    def __call__(
        self, version: int, frame: memoryview, begin: int, correlation_id: int, connection: ConnectionFacts
    ) -> Reply[bytes] | None:
        """Who may not is left to `handle`."""
        request = read_end_txn(version, frame, begin)
        if request is None:
            return None
        transactional_id, producer_id, producer_epoch, committed = request
        broker = self._broker
        authorizer = broker.authorizer
        if authorizer is not None and not authorizer.authorize(
            connection.principal, connection.client_host, AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, transactional_id
        ):
            return None
        reply = broker.transactions.end_txn(transactional_id, producer_id, producer_epoch, committed, api_version=version)
        if type(reply) is EndTxnResult and reply.error:
            return None  # nothing has changed: `handle` refuses it again, and its cause is told
        return then(reply, lambda result: self._told(result, version, correlation_id))

    def _told(self, result: EndTxnResult, version: int, correlation_id: int) -> bytes:
        if result.error:
            self._broker.errors.add(ApiKey.END_TXN, _told_to(version, result.error))
        error, producer_id, producer_epoch = result
        return end_txn_answer(version, correlation_id, _told_to(version, error), producer_id, producer_epoch)


@api(ApiKey.END_TXN, 0, 5, straight=StraightEndTxn, straight_from=0)
def handle(req: messages.EndTxnRequest, ctx: RequestContext) -> Reply[messages.EndTxnResponse]:
    """End the transaction."""
    if not ctx.authorize(AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, req.transactional_id):
        return messages.EndTxnResponse(error_code=ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    version = ctx.api_version
    reply = ctx.broker.transactions.end_txn(req.transactional_id, req.producer_id, req.producer_epoch, req.committed, api_version=version)
    return then(reply, lambda result: _answer(result, version))


def _answer(result: EndTxnResult, api_version: int) -> messages.EndTxnResponse:
    error = _told_to(api_version, result.error)
    return messages.EndTxnResponse(error_code=error, producer_id=result.producer_id, producer_epoch=result.producer_epoch)


def _told_to(api_version: int, error: ErrorCode) -> ErrorCode:
    return ErrorCode.INVALID_PRODUCER_EPOCH if api_version < 2 and error is ErrorCode.PRODUCER_FENCED else error
