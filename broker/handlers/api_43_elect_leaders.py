"""ElectLeaders (43), v0-2.

The one broker leads every partition already: 84 for each that exists, 3 for the others. Asked for all (null) it lists every topic
with no partitions, because only those that changed are listed. v1: election type. v2: flexible.
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

_Result = messages.ElectLeadersResponse.ReplicaElectionResult
_PREFERRED, _UNCLEAN = 0, 1
NOT_NEEDED = "Leader election not needed for topic partition."


@api(ApiKey.ELECT_LEADERS, 0, 2)
def handle(req: messages.ElectLeadersRequest, ctx: RequestContext) -> messages.ElectLeadersResponse:
    """Find nothing to elect."""
    if not may(ctx, AclOperation.ALTER):
        refused = [_Result(topic=t.topic, partition_result=[_refused(n) for n in t.partitions]) for t in req.topic_partitions or ()]
        return messages.ElectLeadersResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED, replica_election_results=refused)
    if req.topic_partitions is None:
        every = [_Result(topic=topic.name, partition_result=[]) for topic in ctx.broker.logs.topics.all()]
        return messages.ElectLeadersResponse(error_code=0, replica_election_results=every)
    if req.topic_partitions and req.election_type not in (_PREFERRED, _UNCLEAN):
        return _unknown_type(req)
    results = [
        _Result(topic=asked.topic, partition_result=[_partition(TopicPartition(asked.topic, number), ctx) for number in asked.partitions])
        for asked in req.topic_partitions
    ]
    return messages.ElectLeadersResponse(error_code=0, replica_election_results=results)


def _refused(partition: int) -> _Result.PartitionResult:
    return _Result.PartitionResult(partition_id=partition, error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED, error_message=CLUSTER_REFUSED)


def _unknown_type(req: messages.ElectLeadersRequest) -> messages.ElectLeadersResponse:
    code, message = ErrorCode.INVALID_REQUEST, f"Unknown election type {req.election_type}"
    results = [
        _Result(
            topic=asked.topic,
            partition_result=[
                _Result.PartitionResult(partition_id=number, error_code=code, error_message=message) for number in asked.partitions
            ],
        )
        for asked in req.topic_partitions or ()
    ]
    return messages.ElectLeadersResponse(error_code=code, replica_election_results=results)


def _partition(partition: TopicPartition, ctx: RequestContext) -> _Result.PartitionResult:
    error, message = ErrorCode.ELECTION_NOT_NEEDED, NOT_NEEDED
    if ctx.broker.logs.topics.get(partition.topic) is None:
        error, message = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {partition.topic}"
    elif not ctx.broker.logs.topics.has_partition(partition):
        error, message = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such partition as {partition}"
    return _Result.PartitionResult(partition_id=partition.partition, error_code=error, error_message=message)
