"""ReadShareGroupStateSummary (87), v0-1: how far a share partition is, for whoever describes its group.

Never initialized: start offset -1. The leader epoch is not compared. No such partition: 3. v1: how many records from there on are done
with.
"""

from __future__ import annotations

from oncelog.broker.answers import then
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.share_states import Answered, Verdict, one_by_one
from oncelog.broker.net.dispatch import api
from oncelog.coordinator.deferred import Reply
from oncelog.coordinator.share.persister import SharePartitionKey, StateSummary
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode

_Kind = messages.ReadShareGroupStateSummaryResponse.ReadStateSummaryResult


@api(ApiKey.READ_SHARE_GROUP_STATE_SUMMARY, 0, 1)
def handle(req: messages.ReadShareGroupStateSummaryRequest, ctx: RequestContext) -> Reply[messages.ReadShareGroupStateSummaryResponse]:
    """One summary a partition."""
    persister = ctx.broker.persister

    def summary(key: SharePartitionKey, _asked: object) -> Reply[StateSummary | ErrorCode]:
        if not persister.exists(key):
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return then(persister.summary([key]), lambda found: found[0])

    summaries: Reply[Answered[StateSummary]] = one_by_one(ctx, req.group_id, req.topics, summary)
    return then(summaries, _answer)


def _answer(summaries: Answered[StateSummary]) -> messages.ReadShareGroupStateSummaryResponse:
    return messages.ReadShareGroupStateSummaryResponse(
        results=[_Kind(topic_id=topic_id, partitions=[_result(*one) for one in partitions]) for topic_id, partitions in summaries]
    )


def _result(
    partition: int, found: StateSummary | Verdict
) -> messages.ReadShareGroupStateSummaryResponse.ReadStateSummaryResult.PartitionResult:
    kind = _Kind.PartitionResult
    if isinstance(found, Verdict):
        return kind(partition=partition, error_code=found.error_code, error_message=found.error_message)
    return kind(
        partition=partition,
        error_code=0,
        error_message=None,
        state_epoch=found.state_epoch,
        leader_epoch=found.leader_epoch,
        start_offset=found.start_offset,
        delivery_complete_count=found.delivery_complete_count,
    )
