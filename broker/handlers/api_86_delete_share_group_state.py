"""DeleteShareGroupState (86), v0: what was known of a share partition is forgotten.

Sent by Kafka's group coordinator. What was never known is no error; no such partition: 3.
"""

from __future__ import annotations

from oncelog.broker.answers import then
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.share_states import Answered, Verdict, one_by_one
from oncelog.broker.net.dispatch import api
from oncelog.coordinator.deferred import Reply
from oncelog.coordinator.share.persister import SharePartitionKey
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode

_Kind = messages.DeleteShareGroupStateResponse.DeleteStateResult


@api(ApiKey.DELETE_SHARE_GROUP_STATE, 0, 0)
def handle(req: messages.DeleteShareGroupStateRequest, ctx: RequestContext) -> Reply[messages.DeleteShareGroupStateResponse]:
    """One verdict a partition."""
    persister = ctx.broker.persister

    def forget(key: SharePartitionKey, _asked: object) -> Reply[ErrorCode]:
        return then(persister.delete([key]), lambda codes: codes[0]) if persister.exists(key) else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    verdicts: Reply[Answered[Verdict]] = one_by_one(ctx, req.group_id, req.topics, forget)
    return then(verdicts, _answer)


def _answer(verdicts: Answered[Verdict]) -> messages.DeleteShareGroupStateResponse:
    return messages.DeleteShareGroupStateResponse(
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
