"""DescribeQuorum (55), v0-2.

The metadata quorum: one voter, this node, leading partition 0 of `__cluster_metadata`. Metadata is kept in files, not in a log,
so its end is always 0 and the voter never lags. v1: times of the last fetch. v2: directory ids, listeners.
"""

from __future__ import annotations

from oncelog.broker.auth.acls import AclOperation
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.administration import CLUSTER_REFUSED, may
from oncelog.broker.net.dispatch import api
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode

_Partition = messages.DescribeQuorumResponse.TopicData.PartitionData
METADATA_TOPIC = "__cluster_metadata"
LEADER_EPOCH = 1
METADATA_LOG_END = 0


@api(ApiKey.DESCRIBE_QUORUM, 0, 2)
def handle(req: messages.DescribeQuorumRequest, ctx: RequestContext) -> messages.DescribeQuorumResponse:
    """Describe each partition asked for."""
    response = messages.DescribeQuorumResponse
    if not may(ctx, AclOperation.DESCRIBE):
        return response(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED, error_message=CLUSTER_REFUSED, topics=[], nodes=[])
    # Kafka answers for the metadata partition alone; with anything beside it every partition is refused
    known = [(topic.topic_name, [p.partition_index for p in topic.partitions]) for topic in req.topics] == [(METADATA_TOPIC, [0])]
    describe = _leading if known else _unknown
    topics = [
        response.TopicData(topic_name=topic.topic_name, partitions=[describe(p.partition_index, ctx) for p in topic.partitions])
        for topic in req.topics
    ]
    if not known:
        return response(error_code=0, error_message="", topics=topics, nodes=[])
    host, port = ctx.broker.endpoint_for(ctx.connection)
    listener = response.Node.Listener(name=ctx.connection.listener_name, host=host, port=port)
    return response(error_code=0, error_message="", topics=topics, nodes=[response.Node(node_id=ctx.broker.node_id, listeners=[listener])])


def _leading(index: int, ctx: RequestContext) -> _Partition:
    voter = _Partition.ReplicaState(
        replica_id=ctx.broker.node_id,
        replica_directory_id=None,
        log_end_offset=METADATA_LOG_END,
        last_fetch_timestamp=ctx.now_ms,
        last_caught_up_timestamp=ctx.now_ms,
    )
    return _Partition(
        partition_index=index,
        error_code=0,
        error_message="",
        leader_id=ctx.broker.node_id,
        leader_epoch=LEADER_EPOCH,
        high_watermark=METADATA_LOG_END,
        current_voters=[voter],
        observers=[],
    )


def _unknown(index: int, ctx: RequestContext) -> _Partition:
    return _Partition(
        partition_index=index,
        error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        error_message="This server does not host this topic-partition.",
        current_voters=[],
        observers=[],
    )
