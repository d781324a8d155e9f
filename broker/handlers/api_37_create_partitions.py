"""CreatePartitions (37), v0-3.

Raises the number of partitions of topics; not more than there are, or zero: 37. Assignments, where given, must name this broker once for
each new partition (39). A topic twice: 42. More than 10,000 new ones: 44 (Kafka stumbles there: -1). v2: flexible. v3: 89 may be answered.
"""

from __future__ import annotations

from collections import Counter
from functools import partial

from oncelog.broker.answers import Settling
from oncelog.broker.auth.acls import AclOperation
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.assignments import check_new_partitions, check_replicas
from oncelog.broker.handlers.shared.topic_access import may_topic
from oncelog.broker.net.dispatch import api
from oncelog.coordinator.deferred import Reply
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError


@api(ApiKey.CREATE_PARTITIONS, 0, 3)
def handle(req: messages.CreatePartitionsRequest, ctx: RequestContext) -> Reply[messages.CreatePartitionsResponse]:
    """Grow each topic; those named twice are refused."""
    result = messages.CreatePartitionsResponse.CreatePartitionsTopicResult
    named = Counter(topic.name for topic in req.topics)
    growing = Settling()
    refusals: dict[str, KafkaError] = {}
    for topic in req.topics:
        if named[topic.name] == 1:
            try:
                _grow(ctx, topic, None if req.validate_only else growing)
            except KafkaError as refused:
                refusals[topic.name] = refused

    def answer() -> messages.CreatePartitionsResponse:
        outcomes = refusals | growing.failed
        results = []
        for name in (name for name, count in named.items() if count == 1):
            error = outcomes.get(name)
            code, message = (ErrorCode.NONE, None) if error is None else (error.code, error.message)
            results.append(result(name=name, error_code=code, error_message=message))
        repeated = [name for name, count in named.items() if count > 1]
        results += [result(name=name, error_code=ErrorCode.INVALID_REQUEST, error_message="Duplicate topic name.") for name in repeated]
        return messages.CreatePartitionsResponse(results=results)

    return growing.holding_reply(answer)


def _grow(ctx: RequestContext, topic: messages.CreatePartitionsRequest.CreatePartitionsTopic, growing: Settling | None) -> None:
    """`growing` None: checks only. Raises KafkaError 3, 29, 37, 39, 44 (`ReplicationControlManager.createPartitions`)."""
    if not may_topic(ctx, AclOperation.ALTER, topic.name):
        raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    found = ctx.broker.logs.registry.wanted(topic.name)
    if found is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    present = found.partitions
    if topic.count == present:
        raise KafkaError(ErrorCode.INVALID_PARTITIONS, f"Topic already has {present} partition(s).")
    if topic.count < present:
        message = f"The topic {topic.name} currently has {present} partition(s); {topic.count} would not be an increase."
        raise KafkaError(ErrorCode.INVALID_PARTITIONS, message)
    added = topic.count - present
    check_new_partitions(added)
    if topic.assignments is not None:
        if len(topic.assignments) != added:
            message = f"Attempted to add {added} additional partition(s), but only {len(topic.assignments)} assignment(s) were specified."
            raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
        for assignment in topic.assignments:
            check_replicas(assignment.broker_ids, ctx.broker.node_id)
    if growing is not None:
        growing.start(topic.name, partial(ctx.broker.logs.begin_create_partitions, topic.name, topic.count))
