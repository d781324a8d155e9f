"""Refusals that somebody will ask about, each with its cause in a sentence: logged, told to who listens, put where an answer has a field.

All answers of transactions and groups pass `call`; Produce, which makes its answers by hand, tells of its partitions itself. What the
coordinators do without being asked, as fencing a producer or beginning a rebalance, they tell themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from oncelog.broker.answers import then
from oncelog.broker.net.error_counts import codes_in
from oncelog.broker.net.told_causes import Cause
from oncelog.coordinator.groups import causes as group_causes
from oncelog.coordinator.txn import causes as txn_causes
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.context import BrokerContext, RequestContext
    from oncelog.broker.net.dispatch import Answer, Api

LONGEST_NAME = 200
TRANSACTIONAL = frozenset(
    {
        ApiKey.INIT_PRODUCER_ID,
        ApiKey.ADD_PARTITIONS_TO_TXN,
        ApiKey.ADD_OFFSETS_TO_TXN,
        ApiKey.END_TXN,
        ApiKey.TXN_OFFSET_COMMIT,
        ApiKey.WRITE_TXN_MARKERS,
    }
)
OF_GROUPS = frozenset(
    {
        ApiKey.JOIN_GROUP,
        ApiKey.SYNC_GROUP,
        ApiKey.HEARTBEAT,
        ApiKey.LEAVE_GROUP,
        ApiKey.OFFSET_COMMIT,
        ApiKey.OFFSET_FETCH,
        ApiKey.TXN_OFFSET_COMMIT,
        ApiKey.CONSUMER_GROUP_HEARTBEAT,
        ApiKey.STREAMS_GROUP_HEARTBEAT,
    }
)
OF_PRODUCE = frozenset(
    {
        *txn_causes.EXPLAINED,
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.DUPLICATE_SEQUENCE_NUMBER,
        ErrorCode.UNKNOWN_PRODUCER_ID,
    }
)


_KINDS = {
    ErrorCode.CONCURRENT_TRANSACTIONS: "concurrent",
    ErrorCode.INVALID_TXN_STATE: "invalid_state",
    ErrorCode.TRANSACTION_ABORTABLE: "invalid_state",
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER: "refused",
    ErrorCode.DUPLICATE_SEQUENCE_NUMBER: "refused",
    ErrorCode.UNKNOWN_PRODUCER_ID: "refused",
    ErrorCode.INVALID_TRANSACTION_TIMEOUT: "refused",
    ErrorCode.REBALANCE_IN_PROGRESS: "rebalance",
}


def why_transactional(broker: BrokerContext, error: ErrorCode, asked: txn_causes.Asked) -> str:
    """A sentence, from what the coordinator knows now."""
    runtime = broker.transactions.runtime
    id = asked.transactional_id
    if runtime.loading or not id:
        return f"{asked.api} was refused: {error.name}."
    shard = runtime.shard_of(id)
    return txn_causes.why(error, asked, shard.get(id), pending=shard.is_pending(id), fence=broker.causes.fence_of(id))


def tell_produce(
    ctx: RequestContext,
    transactional_id: str | None,
    place: TopicPartition,
    pair: tuple[int, int],
    error: ErrorCode,
    message: str | None,
) -> None:
    """A partition of a Produce was refused. `message`: as its answer has it."""
    sentence = message or f"Produce to {place} of producer {pair[0]} epoch {pair[1]} was refused: {error.name}."
    kind = _KINDS.get(error, "fenced")
    ctx.broker.causes.tell(_asked_by(ctx, Cause(kind, sentence, error, "Produce", transactional_id, None, place, pair[0], pair[1])))


def call(api: Api, request: Any, ctx: RequestContext) -> Answer:
    """The handler's answer; refusals in it that are worth a sentence are told."""
    assert api.handle is not None
    if api.key not in TRANSACTIONAL and api.key not in OF_GROUPS:
        return api.handle(request, ctx)
    return then(api.handle(request, ctx), partial(_looked_at, api.key, request, ctx))


def _looked_at(key: ApiKey, request: Any, ctx: RequestContext, answer: Any) -> Any:
    if answer is None or isinstance(answer, bytearray):
        return answer
    for code in codes_in(answer):
        error = ErrorCode(code)
        if error in txn_causes.EXPLAINED and key is ApiKey.WRITE_TXN_MARKERS:
            _tell_markers(request, ctx, error)
        elif error in txn_causes.EXPLAINED and key in TRANSACTIONAL:
            _tell_transactional(key, request, ctx, error)
        elif error in group_causes.EXPLAINED and key in OF_GROUPS:
            sentence = _tell_group(key, request, ctx, error, getattr(answer, "error_message", None))
            if hasattr(answer, "error_message") and not answer.error_message:
                answer.error_message = sentence
    return answer


def _tell_transactional(key: ApiKey, request: Any, ctx: RequestContext, error: ErrorCode) -> None:
    api = key.schema_name
    for asked in _transactional(api, request):
        sentence = why_transactional(ctx.broker, error, asked)
        epoch = asked.producer_epoch if asked.producer_epoch >= 0 else None
        producer_id = asked.producer_id if asked.producer_id >= 0 else None
        group_id = getattr(request, "group_id", None)
        cause = Cause(
            _KINDS.get(error, "fenced"),
            sentence,
            error,
            api,
            asked.transactional_id,
            group_id,
            None,
            producer_id,
            epoch,
            _epoch_now(ctx, asked),
        )
        ctx.broker.causes.tell(_asked_by(ctx, cause))


def _tell_markers(request: Any, ctx: RequestContext, error: ErrorCode) -> None:
    for marker in request.markers:
        which = f"epoch {marker.producer_epoch}"
        if error is ErrorCode.TRANSACTION_COORDINATOR_FENCED:
            which = f"coordinator epoch {marker.coordinator_epoch}"
        sentence = f"A marker from outside for producer {marker.producer_id} came with {which}, and a partition has seen a higher one."
        cause = Cause("fenced", sentence, error, "WriteTxnMarkers", producer_id=marker.producer_id, epoch_before=marker.producer_epoch)
        ctx.broker.causes.tell(_asked_by(ctx, cause))


def _transactional(api: str, request: Any) -> Iterator[txn_causes.Asked]:
    if hasattr(request, "v3_and_below_transactional_id"):
        if request.v3_and_below_transactional_id:
            yield txn_causes.Asked(
                api=api,
                transactional_id=request.v3_and_below_transactional_id,
                producer_id=request.v3_and_below_producer_id,
                producer_epoch=request.v3_and_below_producer_epoch,
            )
        for each in request.transactions or ():
            yield txn_causes.Asked(
                api=api, transactional_id=each.transactional_id, producer_id=each.producer_id, producer_epoch=each.producer_epoch
            )
        return
    yield txn_causes.Asked(
        api=api,
        transactional_id=request.transactional_id or "",
        producer_id=request.producer_id,
        producer_epoch=request.producer_epoch,
        commit=getattr(request, "committed", None),
    )


def _epoch_now(ctx: RequestContext, asked: txn_causes.Asked) -> int | None:
    runtime = ctx.broker.transactions.runtime
    txn = None if runtime.loading or not asked.transactional_id else runtime.shard_of(asked.transactional_id).get(asked.transactional_id)
    return None if txn is None else txn.client_epoch


def _tell_group(key: ApiKey, request: Any, ctx: RequestContext, error: ErrorCode, message: str | None) -> str:
    group_id = getattr(request, "group_id", None) or next((each.group_id for each in getattr(request, "groups", None) or ()), "")
    epoch = next(
        (getattr(request, name) for name in ("generation_id", "member_epoch", "generation_id_or_member_epoch") if hasattr(request, name)),
        -1,
    )
    leaving = next(iter(getattr(request, "members", None) or ()), None)  # LeaveGroup of several: the first is named
    asked = group_causes.Asked(
        api=key.schema_name,
        group_id=group_id,
        member_id=getattr(request, "member_id", "") or getattr(leaving, "member_id", "") or "",
        instance_id=getattr(request, "group_instance_id", None)
        or getattr(request, "instance_id", None)
        or getattr(leaving, "group_instance_id", None),
        epoch=epoch,
    )
    sentence = message or group_causes.why(error, asked, _known(ctx.broker, asked))
    if error is not ErrorCode.REBALANCE_IN_PROGRESS:  # told once by its cause, not by each member that hears of it
        kind = _KINDS.get(error, "fenced")
        before = asked.epoch if asked.epoch >= 0 else None
        cause = Cause(kind, sentence, error, asked.api, None, group_id, epoch_before=before, member_id=asked.member_id or None)
        ctx.broker.causes.tell(_asked_by(ctx, cause))
    return sentence


def _known(broker: BrokerContext, asked: group_causes.Asked) -> group_causes.Known:
    runtime = broker.groups.runtime
    if runtime.loading or not asked.group_id:
        return group_causes.Known(there=False)
    shard = runtime.shard_of(asked.group_id)
    typed = shard.consumer_groups.get(asked.group_id)
    if typed is not None:
        member = typed.members.get(asked.member_id)
        holder = typed.static_members.get(asked.instance_id or "")
        epoch = None if member is None else member.epoch
        return group_causes.Known(there=bool(typed.members), state=typed.state.value, epoch=typed.epoch, holder=holder, member_epoch=epoch)
    group = shard.groups.get(asked.group_id)
    if group is None:
        return group_causes.Known(there=False)
    holder = group.static_members.get(asked.instance_id or "")
    return group_causes.Known(there=bool(group.members), state=group.state.value, epoch=group.generation_id, holder=holder)


def _asked_by(ctx: RequestContext, cause: Cause) -> Cause:
    return cause._replace(client_id=None if ctx.client_id is None else ctx.client_id[:LONGEST_NAME], client_host=ctx.connection.client_host)
