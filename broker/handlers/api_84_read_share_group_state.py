"""ReadShareGroupState (84), v0: all that is known of a share partition, for the leader that takes it over.

Never initialized: 42; a leader epoch below the known one: 74; no such partition: 3. A higher one fences the leader before.
"""

from __future__ import annotations

from oncelog.broker.answers import then
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.share_states import Answered, Verdict, one_by_one
from oncelog.broker.net.dispatch import api
from oncelog.coordinator.deferred import Reply
from oncelog.coordinator.share.persister import PersistedState
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey

_UNINITIALIZED = "Read operation on uninitialized share partition not allowed."
_Kind = messages.ReadShareGroupStateResponse.ReadStateResult
_Batch = _Kind.PartitionResult.StateBatch


@api(ApiKey.READ_SHARE_GROUP_STATE, 0, 0)
def handle(req: messages.ReadShareGroupStateRequest, ctx: RequestContext) -> Reply[messages.ReadShareGroupStateResponse]:
    """One state a partition."""
    read = ctx.broker.persister.read
    states: Reply[Answered[PersistedState]] = one_by_one(
        ctx, req.group_id, req.topics, lambda key, asked: read(key, asked.leader_epoch), invalid=_UNINITIALIZED
    )
    return then(states, _answer)


def _answer(states: Answered[PersistedState]) -> messages.ReadShareGroupStateResponse:
    return messages.ReadShareGroupStateResponse(
        results=[_Kind(topic_id=topic_id, partitions=[_result(*one) for one in partitions]) for topic_id, partitions in states]
    )


def _result(partition: int, found: PersistedState | Verdict) -> messages.ReadShareGroupStateResponse.ReadStateResult.PartitionResult:
    kind = _Kind.PartitionResult
    if isinstance(found, Verdict):
        return kind(partition=partition, error_code=found.error_code, error_message=found.error_message)
    return kind(
        partition=partition,
        error_code=0,
        error_message=None,
        state_epoch=found.state_epoch,
        start_offset=found.start_offset,
        state_batches=[
            _Batch(first_offset=first, last_offset=last, delivery_state=state, delivery_count=count)
            for first, last, state, count in found.batches
        ],
    )
