"""DescribeProducers (61), v0: every producer that a partition knows, idempotent ones too."""

from __future__ import annotations

from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.broker.context import RequestContext
from oncelog.broker.net.dispatch import api
from oncelog.broker.topics.names import topic_name_problem
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import TopicPartition

_Topic = messages.DescribeProducersResponse.TopicResponse


@api(ApiKey.DESCRIBE_PRODUCERS, 0, 0)
def handle(req: messages.DescribeProducersRequest, ctx: RequestContext) -> messages.DescribeProducersResponse:
    """Describe them."""
    return messages.DescribeProducersResponse(topics=[_topic(topic, ctx) for topic in req.topics])


def _topic(topic: messages.DescribeProducersRequest.TopicRequest, ctx: RequestContext) -> _Topic:
    refusal = _refusal(topic.name, ctx)
    if refusal is None:
        return _Topic(name=topic.name, partitions=[_partition(TopicPartition(topic.name, index), ctx) for index in topic.partition_indexes])
    code, message = refusal
    return _Topic(
        name=topic.name,
        partitions=[
            _Topic.PartitionResponse(partition_index=index, error_code=code, error_message=message) for index in topic.partition_indexes
        ],
    )


def _refusal(name: str, ctx: RequestContext) -> tuple[ErrorCode, str | None] | None:
    problem = topic_name_problem(name)
    if problem is not None:
        return ErrorCode.INVALID_TOPIC_EXCEPTION, problem
    if not ctx.authorize(AclOperation.READ, ResourceType.TOPIC, name):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED, None
    return None


def _partition(partition: TopicPartition, ctx: RequestContext) -> _Topic.PartitionResponse:
    kind = _Topic.PartitionResponse
    log = ctx.broker.logs.log(partition)
    if log is None:
        return kind(partition_index=partition.partition, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return kind(
        partition_index=partition.partition,
        active_producers=[
            kind.ProducerState(
                producer_id=entry.producer_id,
                producer_epoch=entry.epoch,
                last_sequence=entry.last_sequence,
                last_timestamp=entry.last_timestamp,
                coordinator_epoch=entry.coordinator_epoch,
                current_txn_start_offset=-1 if entry.current_txn_first_offset is None else entry.current_txn_first_offset,
            )
            for entry in log.producers()
        ],
    )
