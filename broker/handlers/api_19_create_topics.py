"""CreateTopics (19), v2-7.

v4: -1 for the broker's number of partitions and replicas (taken in every version, as Kafka does). v5: flexible, and the answer tells
partitions, replication factor and settings. v7: topic id. A name twice: 42, the others are made. `validate_only`: everything but the topic,
with an id that means nothing. Refusals: 7, 17, 29, 36, 37, 38, 39, 40, 42; 44 for all when they add up to
more than 10,000 partitions. Answered when the topics are on disk, all of a request with one write.
"""

from __future__ import annotations

import uuid
from collections import Counter
from functools import partial

from oncelog.broker.answers import Settling
from oncelog.broker.auth.acls import CLUSTER_NAME, AclOperation, ResourceType
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.assignments import check_new_partitions, check_replicas
from oncelog.broker.handlers.shared.topic_access import may_topic
from oncelog.broker.net.dispatch import api
from oncelog.broker.net.turns import Steps, at_once
from oncelog.broker.topics.creation import check_new_topic
from oncelog.broker.topics.names import METADATA_TOPIC
from oncelog.coordinator.deferred import Reply
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError

_Topic = messages.CreateTopicsRequest.CreatableTopic
_Result = messages.CreateTopicsResponse.CreatableTopicResult
TOPICS_A_TURN = 50
_DEFAULT = -1
_FIRST_WITH_DETAILS = 5


@api(ApiKey.CREATE_TOPICS, 2, 7)
def handle(req: messages.CreateTopicsRequest, ctx: RequestContext) -> Reply[messages.CreateTopicsResponse]:
    """Make each topic; those named twice are refused, last."""
    named = Counter(topic.name for topic in req.topics)
    try:
        check_new_partitions(sum(_partitions_of(topic, ctx) for topic in req.topics))
    except KafkaError as refused:
        return messages.CreateTopicsResponse(topics=[_refused(name, refused.code, refused.message) for name in named])
    steps = _create_all(req, named, ctx)
    return ctx.broker.turns.answer(steps) if len(req.topics) > TOPICS_A_TURN else at_once(steps)


def _create_all(req: messages.CreateTopicsRequest, named: Counter[str], ctx: RequestContext) -> Steps[Reply[messages.CreateTopicsResponse]]:
    results: list[_Result] = []
    making = Settling()
    told = _Configs(ctx)
    for number, topic in enumerate(req.topics, 1):
        if named[topic.name] > 1:
            continue
        try:
            results.append(_create(topic, ctx, req.timeout_ms, None if req.validate_only else making, told))
        except KafkaError as refused:
            results.append(_refused(topic.name, refused.code, refused.message))
        if number % TOPICS_A_TURN == 0:
            yield None
    results += [_refused(name, ErrorCode.INVALID_REQUEST, "Duplicate topic name.") for name, count in named.items() if count > 1]
    return making.holding_reply(lambda: messages.CreateTopicsResponse(topics=[_made(one, making.failed.get(one.name)) for one in results]))


def _made(result: _Result, error: KafkaError | None) -> _Result:
    return result if error is None else _refused(result.name, error.code, error.message)


def _partitions_of(topic: _Topic, ctx: RequestContext) -> int:
    """How many partitions a topic asks for; nonsense counts as none."""
    if topic.assignments:
        return len(topic.assignments)
    return ctx.broker.config.server.num_partitions if topic.num_partitions == _DEFAULT else max(topic.num_partitions, 0)


def _create(topic: _Topic, ctx: RequestContext, timeout_ms: int, making: Settling | None, told: _Configs) -> _Result:
    """The result of a topic that can be made; `making` None: and is not. Raises KafkaError."""
    name = topic.name
    if name == METADATA_TOPIC:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Creation of internal topic {METADATA_TOPIC} is prohibited.")
    if not (ctx.sees(AclOperation.CREATE, ResourceType.CLUSTER, CLUSTER_NAME) or may_topic(ctx, AclOperation.CREATE, name)):
        raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED, "Authorization failed.")
    if timeout_ms <= 0 and making is not None:
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT)
    check_new_topic(name, ctx.broker.logs)
    partitions, replication_factor = _shape(topic, ctx)
    configs = ctx.broker.dynamic_configs.checked_topic({config.name: config.value for config in topic.configs})
    topic_id: uuid.UUID = ctx.broker.env.random.uuid()
    if making is not None:
        topic_id = making.start(name, partial(ctx.broker.logs.begin_create_topic, name, partitions, configs)).topic_id
    result = _Result(name=name, topic_id=topic_id, error_message=None, num_partitions=partitions, replication_factor=replication_factor)
    if ctx.api_version >= _FIRST_WITH_DETAILS:
        told.add(result, configs)
    return result


def _shape(topic: _Topic, ctx: RequestContext) -> tuple[int, int]:
    """(partitions, replication factor). Raises KafkaError 37, 38, 39, 42 (`ReplicationControlManager.createTopic`)."""
    if topic.assignments:
        return _assigned(topic, ctx.broker.node_id), 1
    config = ctx.broker.config.server
    replication_factor = config.default_replication_factor if topic.replication_factor == _DEFAULT else topic.replication_factor
    if replication_factor <= 0:
        message = "Replication factor must be larger than 0, or -1 to use the default value."
        raise KafkaError(ErrorCode.INVALID_REPLICATION_FACTOR, message)
    partitions = config.num_partitions if topic.num_partitions == _DEFAULT else topic.num_partitions
    if partitions <= 0:
        raise KafkaError(ErrorCode.INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value.")
    if replication_factor > 1 and config.strict_replication_factor:
        message = (
            f"Unable to replicate the partition {replication_factor} time(s): The target replication factor of {replication_factor} "
            "cannot be reached because only 1 broker(s) are registered or some brokers have all their log directories cordoned."
        )
        raise KafkaError(ErrorCode.INVALID_REPLICATION_FACTOR, message)
    return partitions, 1


def _assigned(topic: _Topic, node_id: int) -> int:
    """The number of partitions of a manual assignment."""
    for field, value in (("replication factor", topic.replication_factor), ("number of partitions", topic.num_partitions)):
        if value != _DEFAULT:
            message = f"A manual partition assignment was specified, but {field} was not set to -1."
            raise KafkaError(ErrorCode.INVALID_REQUEST, message)
    indexes = [assignment.partition_index for assignment in topic.assignments]
    if len(set(indexes)) < len(indexes):
        twice = next(index for index, count in Counter(indexes).items() if count > 1)
        message = f"Found multiple manual partition assignments for partition {twice}"
        raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
    for assignment in topic.assignments:
        check_replicas(assignment.broker_ids, node_id)
    if sorted(indexes) != list(range(len(indexes))):
        message = "partitions should be a consecutive 0-based integer sequence"
        raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
    return len(indexes)


class _Configs:
    """The settings of new topics, told to whom may see them (KIP-525). Those of a request are mostly alike: each is made once."""

    def __init__(self, ctx: RequestContext) -> None:
        self._ctx = ctx
        self._made: dict[tuple[tuple[str, str], ...], list[_Result.CreatableTopicConfigs]] = {}

    def add(self, result: _Result, configs: dict[str, str]) -> None:
        if not may_topic(self._ctx, AclOperation.DESCRIBE_CONFIGS, result.name):
            result.topic_config_error_code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            result.num_partitions = result.replication_factor = -1
            result.configs = []
            return
        key = tuple(sorted(configs.items()))
        if key not in self._made:
            self._made[key] = self._entries(configs)
        result.configs = self._made[key]

    def _entries(self, configs: dict[str, str]) -> list[_Result.CreatableTopicConfigs]:
        return [
            _Result.CreatableTopicConfigs(
                name=entry.name,
                value=entry.value,
                read_only=entry.read_only,
                config_source=entry.source,
                is_sensitive=entry.sensitive,
            )
            for entry in self._ctx.broker.dynamic_configs.topic_entries(configs)
        ]


def _refused(name: str, error: ErrorCode, message: str | None) -> _Result:
    return _Result(name=name, error_code=error, error_message=message, num_partitions=-1, replication_factor=-1, configs=[])
