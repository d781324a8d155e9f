"""AlterPartitionReassignments (45), v0-1.

Replicas can only be where they are: naming this broker is 0 and changes nothing, another broker is 39, cancelling (null) is 85.
v1: `allow_replication_factor_change`.
"""

from __future__ import annotations

from oncelog.broker.auth.acls import AclOperation
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.administration import CLUSTER_REFUSED, may
from oncelog.broker.net.dispatch import api
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import TopicPartition

_Asked = messages.AlterPartitionReassignmentsRequest.ReassignableTopic.ReassignablePartition
_Told = messages.AlterPartitionReassignmentsResponse.ReassignableTopicResponse.ReassignablePartitionResponse


@api(ApiKey.ALTER_PARTITION_REASSIGNMENTS, 0, 1)
def handle(req: messages.AlterPartitionReassignmentsRequest, ctx: RequestContext) -> messages.AlterPartitionReassignmentsResponse:
    """Check each assignment."""
    response = messages.AlterPartitionReassignmentsResponse
    if not may(ctx, AclOperation.ALTER):
        error = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
        refused = [
            response.ReassignableTopicResponse(
                name=topic.name, partitions=[_answer(p.partition_index, error, CLUSTER_REFUSED) for p in topic.partitions]
            )
            for topic in req.topics
        ]
        return response(error_code=error, error_message=CLUSTER_REFUSED, responses=refused)
    topics = [
        response.ReassignableTopicResponse(name=topic.name, partitions=[_partition(topic.name, p, ctx) for p in topic.partitions])
        for topic in req.topics
    ]
    return response(allow_replication_factor_change=req.allow_replication_factor_change, error_code=0, error_message=None, responses=topics)


def _partition(topic: str, asked: _Asked, ctx: RequestContext) -> _Told:
    return _answer(asked.partition_index, *_verdict(TopicPartition(topic, asked.partition_index), asked.replicas, ctx))


def _answer(partition: int, error: ErrorCode, message: str | None) -> _Told:
    return _Told(partition_index=partition, error_code=error, error_message=message)


def _verdict(partition: TopicPartition, replicas: list[int] | None, ctx: RequestContext) -> tuple[ErrorCode, str | None]:
    """As `ReplicationControlManager.alterPartitionReassignments` and its `validateManualPartitionAssignment`."""
    if ctx.broker.logs.topics.get(partition.topic) is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find a topic named {partition.topic}."
    if not ctx.broker.logs.topics.has_partition(partition):
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"Unable to find partition {partition.topic}:{partition.partition}."
    if replicas is None:
        return ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, None
    if not replicas:
        return ErrorCode.INVALID_REPLICA_ASSIGNMENT, "The manual partition assignment includes an empty replica list."
    for broker in sorted(replicas):
        if broker != ctx.broker.node_id:
            return (
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"The manual partition assignment includes broker {broker}, but no such broker is registered.",
            )
    if len(replicas) > 1:
        return (
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"The manual partition assignment includes the broker {replicas[0]} more than once.",
        )
    return ErrorCode.NONE, None
