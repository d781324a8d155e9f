"""DescribeTopicPartitions (75), v0.

Topics in order of name, at most `response_partition_limit` partitions (and never more than `max.request.partition.size.limit`); where
the rest begins is the answer's cursor, which the next request sends back; 42 for one that is none of the names. No names: all topics. A
topic that is not there is 3.
"""

from __future__ import annotations

from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.topic_access import NOT_REQUESTED, authorized_operations, may_topic
from oncelog.broker.net.dispatch import api
from oncelog.broker.net.turns import Steps
from oncelog.broker.topics.names import topic_name_problem
from oncelog.coordinator.deferred import Reply
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import INTERNAL_TOPICS

TOPICS_A_TURN = 300
_Topic = messages.DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic


@api(ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0, 0)
def handle(req: messages.DescribeTopicPartitionsRequest, ctx: RequestContext) -> Reply[messages.DescribeTopicPartitionsResponse]:
    """One page."""
    return ctx.broker.turns.begin(_answer(req, ctx))


def _answer(req: messages.DescribeTopicPartitionsRequest, ctx: RequestContext) -> Steps[messages.DescribeTopicPartitionsResponse]:
    response = messages.DescribeTopicPartitionsResponse
    named = {topic.name for topic in req.topics}
    if req.cursor is not None and (req.cursor.partition_index < 0 or (named and req.cursor.topic_name not in named)):
        return response(topics=[_topic(topic.name, ErrorCode.INVALID_REQUEST) for topic in req.topics], next_cursor=None)
    listed = not named
    names = sorted(topic.name for topic in ctx.broker.logs.topics.all()) if listed else sorted(named)
    start_name, start = ("", 0) if req.cursor is None else (req.cursor.topic_name, req.cursor.partition_index)
    left = max(1, min(req.response_partition_limit, ctx.broker.config.server.partition_page_limit))
    topics: list[_Topic] = []
    for name in names:
        if name < start_name or (listed and not ctx.sees(AclOperation.DESCRIBE, ResourceType.TOPIC, name)):
            continue
        if left <= 0:
            return response(topics=topics, next_cursor=response.Cursor(topic_name=name, partition_index=0))
        topic, next_partition = _page(ctx, name, start if name == start_name else 0, left)
        topics.append(topic)
        if len(topics) % TOPICS_A_TURN == 0:
            yield None
        left -= len(topic.partitions)
        if next_partition is not None:
            return response(topics=topics, next_cursor=response.Cursor(topic_name=name, partition_index=next_partition))
    return response(topics=topics, next_cursor=None)


def _page(ctx: RequestContext, name: str, first: int, limit: int) -> tuple[_Topic, int | None]:
    """(the topic with up to `limit` of its partitions from `first` on, the partition that follows if there is one)."""
    if not may_topic(ctx, AclOperation.DESCRIBE, name):
        return _topic(name, ErrorCode.TOPIC_AUTHORIZATION_FAILED), None
    operations = authorized_operations(ctx, ResourceType.TOPIC, name)
    found = ctx.broker.logs.topics.get(name)
    if found is None:
        invalid = topic_name_problem(name) is not None
        return _topic(name, ErrorCode.INVALID_TOPIC_EXCEPTION if invalid else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, operations), None
    end = min(found.partitions, first + limit)
    topic = _topic(name, ErrorCode.NONE, operations)
    topic.topic_id = found.topic_id
    epochs = ctx.broker.logs.topics.leader_epochs(name)
    topic.partitions = [_partition(partition, ctx.broker.node_id, epochs.get(partition, 0)) for partition in range(first, end)]
    return topic, end if end < found.partitions else None


def _topic(name: str, error: ErrorCode, operations: int = NOT_REQUESTED) -> _Topic:
    return _Topic(
        error_code=error,
        name=name,
        is_internal=name in INTERNAL_TOPICS,
        partitions=[],
        topic_authorized_operations=operations,
    )


def _partition(partition: int, node_id: int, leader_epoch: int) -> _Topic.DescribeTopicPartitionsResponsePartition:
    return _Topic.DescribeTopicPartitionsResponsePartition(
        error_code=0,
        partition_index=partition,
        leader_id=node_id,
        leader_epoch=leader_epoch,
        replica_nodes=[node_id],
        isr_nodes=[node_id],
        eligible_leader_replicas=[],
        last_known_elr=[],
        offline_replicas=[],
    )
