"""Whether the transaction coordinator lets a producer write into these partitions (Kafka's `AddPartitionsToTxnManager`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.handlers.produce.batch_checks import TRANSACTIONAL
from oncelog.broker.handlers.produce.partition import Part, refuse_all
from oncelog.broker.net.causes import why_transactional
from oncelog.coordinator.runtime import LogPosition
from oncelog.coordinator.txn.causes import Asked
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.hot import ProduceRequest
from oncelog.protocol.names import TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.context import RequestContext

# internal answers of the verification that an old client is told as a retriable error of the partition
_RETRIABLE = {
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
}


def admit(request: ProduceRequest, parts: list[Part], ctx: RequestContext) -> list[LogPosition] | None:
    """Ask the transaction coordinator about transactional batches, in the turn of the append.

    Returns what the answer has to wait for beside the data; None: the previous transaction is still being completed, ask again soon.
    """
    asked = [part for part in parts if part.response is None and part.header is not None and part.header.attributes & TRANSACTIONAL]
    if not asked:
        return []
    assert asked[0].header is not None
    if request.transactional_id == "":
        refuse_all(asked, ErrorCode.INVALID_REQUEST)
        return []
    header = asked[0].header
    partitions = [TopicPartition(part.topic, part.index) for part in asked]
    verdicts, position = ctx.broker.transactions.admit(
        request.transactional_id or "", header.producer_id, header.producer_epoch, partitions, implicit_add=ctx.api_version >= 12
    )
    codes = [verdicts[partition] for partition in partitions]
    if ctx.api_version >= 12 and ErrorCode.CONCURRENT_TRANSACTIONS in codes:
        return None
    for part, code in zip(asked, codes, strict=True):
        part.verified = code is ErrorCode.NONE
        if not part.verified:
            request_of_it = Asked(
                api="Produce",
                transactional_id=request.transactional_id or "",
                producer_id=header.producer_id,
                producer_epoch=header.producer_epoch,
                place=f"{part.topic}-{part.index}",
            )
            part.refuse(_downgraded(code, ctx.api_version), why_transactional(ctx.broker, code, request_of_it))
    return [position] if position is not None else []


def _downgraded(code: ErrorCode, version: int) -> ErrorCode:
    """Errors of the verification as the client's version knows them (AddPartitionsToTxnManager, ReplicaManager)."""
    if code in _RETRIABLE or (code is ErrorCode.CONCURRENT_TRANSACTIONS and version < 12):
        return ErrorCode.NOT_ENOUGH_REPLICAS
    if code is ErrorCode.TRANSACTION_ABORTABLE and version <= 10:
        return ErrorCode.INVALID_TXN_STATE
    return ErrorCode.INVALID_PRODUCER_EPOCH if code is ErrorCode.PRODUCER_FENCED else code
