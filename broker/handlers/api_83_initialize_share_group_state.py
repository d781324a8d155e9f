"""InitializeShareGroupState (83), v0: a share partition begins a life, in which nothing was delivered yet.

Sent by Kafka's group coordinator. A state epoch below the known one: 124; no such partition: 3.
"""

from __future__ import annotations

from oncelog.broker.answers import then
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.share_states import Answered, Verdict, one_by_one
from oncelog.broker.net.dispatch import api
from oncelog.coordinator.deferred import Reply
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey

_Kind = messages.InitializeShareGroupStateResponse.InitializeStateResult


@api(ApiKey.INITIALIZE_SHARE_GROUP_STATE, 0, 0)
def handle(req: messages.InitializeShareGroupStateRequest, ctx: RequestContext) -> Reply[messages.InitializeShareGroupStateResponse]:
    """One verdict a partition."""
    initialize = ctx.broker.persister.initialize
    verdicts: Reply[Answered[Verdict]] = one_by_one(
        ctx, req.group_id, req.topics, lambda key, asked: initialize(key, asked.state_epoch, asked.start_offset)
    )
    return then(verdicts, _answer)


def _answer(verdicts: Answered[Verdict]) -> messages.InitializeShareGroupStateResponse:
    return messages.InitializeShareGroupStateResponse(
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
