"""OffsetForLeaderEpoch (23), v2-4.

Where a leader epoch ends: for the present one the log end, for an older one the start of the next, for one nobody knows (-1, -1).
Consumers ask to find out whether the log was cut below their position; CLUSTER_ACTION, which followers have, opens every topic.
v3: replica_id. v4: flexible.
"""

from __future__ import annotations

from oncelog.broker.auth.acls import AclOperation
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.administration import may
from oncelog.broker.handlers.shared.topic_access import readable_log
from oncelog.broker.net.dispatch import api
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey

_Asked = messages.OffsetForLeaderEpochRequest.OffsetForLeaderTopic.OffsetForLeaderPartition
_Told = messages.OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult.EpochEndOffset


@api(ApiKey.OFFSET_FOR_LEADER_EPOCH, 2, 4)
def handle(req: messages.OffsetForLeaderEpochRequest, ctx: RequestContext) -> messages.OffsetForLeaderEpochResponse:
    """Answer for each partition."""
    may_all = may(ctx, AclOperation.CLUSTER_ACTION)
    result = messages.OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult
    return messages.OffsetForLeaderEpochResponse(
        topics=[
            result(topic=topic.topic, partitions=[_end_of(ctx, topic.topic, partition, may_all) for partition in topic.partitions])
            for topic in req.topics
        ]
    )


def _end_of(ctx: RequestContext, topic: str, asked: _Asked, may_all: bool) -> _Told:
    log, error = readable_log(ctx, AclOperation.DESCRIBE, topic, asked.partition, asked.current_leader_epoch, may_all=may_all)
    if log is None:
        leader_epoch, end_offset = -1, -1
    elif asked.leader_epoch == log.leader_epoch:  # known from the start, also before its first batch
        leader_epoch, end_offset = log.leader_epoch, log.log_end_offset
    else:
        leader_epoch, end_offset = log.end_offset_for_epoch(asked.leader_epoch)
    return _Told(error_code=error, partition=asked.partition, leader_epoch=leader_epoch, end_offset=end_offset)
