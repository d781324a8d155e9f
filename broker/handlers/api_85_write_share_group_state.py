"""WriteShareGroupState (85), v0-1: what became of records of a share partition.

Sent by the leader of the partition. Never initialized: 42; a leader epoch below the known one: 74; a state epoch below it: 124; no such
partition: 3. v1: how many records from the start offset on are done with.
"""

from __future__ import annotations

from oncelog.broker.answers import then
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.share_states import Answered, Verdict, one_by_one
from oncelog.broker.net.dispatch import api
from oncelog.coordinator.deferred import Reply
from oncelog.coordinator.share.persister import SharePartitionKey, StateBatch
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.internal.share_state import NO_COUNT

_UNINITIALIZED = "Write operation on uninitialized share partition not allowed."
_Asked = messages.WriteShareGroupStateRequest.WriteStateData.PartitionData
_Kind = messages.WriteShareGroupStateResponse.WriteStateResult


@api(ApiKey.WRITE_SHARE_GROUP_STATE, 0, 1)
def handle(req: messages.WriteShareGroupStateRequest, ctx: RequestContext) -> Reply[messages.WriteShareGroupStateResponse]:
    """One verdict a partition."""
    persister = ctx.broker.persister

    def write(key: SharePartitionKey, asked: _Asked) -> Reply[ErrorCode]:
        batches = [StateBatch(one.first_offset, one.last_offset, one.delivery_state, one.delivery_count) for one in asked.state_batches]
        if any(one.first_offset > one.last_offset for one in batches):
            return ErrorCode.INVALID_RECORD_STATE
        done = asked.delivery_complete_count if ctx.api_version >= 1 else NO_COUNT
        return persister.write(key, asked.state_epoch, asked.leader_epoch, asked.start_offset, done, batches)

    verdicts: Reply[Answered[Verdict]] = one_by_one(ctx, req.group_id, req.topics, write, invalid=_UNINITIALIZED)
    return then(verdicts, _answer)


def _answer(verdicts: Answered[Verdict]) -> messages.WriteShareGroupStateResponse:
    return messages.WriteShareGroupStateResponse(
        results=[
            _Kind(
                topic_id=topic_id,
                partitions=[
                    _Kind.PartitionResult(partition=partition, error_code=found.error_code, error_message=found.error_message)
                    for partition, found in partitions
                ],
            )
            for topic_id, partitions in verdicts
        ]
    )
