"""StreamsGroupHeartbeat (88), v0.

The one request of the streams group protocol (KIP-1071): a stream thread joins with epoch 0 and the topology of its application, stays with
its epoch, leaves with -1. Internal topics that the application lacks are made here, for who may make them; the answer names them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from oncelog.broker.answers import Settling
from oncelog.broker.auth.acls import CLUSTER_NAME, AclOperation, ResourceType
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.assignments import check_new_partitions
from oncelog.broker.handlers.shared.topic_access import may_topic
from oncelog.broker.net.dispatch import api
from oncelog.broker.net.turns import Steps, at_once
from oncelog.broker.topics.creation import check_new_topic
from oncelog.broker.topics.names import topic_name_problem
from oncelog.coordinator.deferred import Deferred, Reply
from oncelog.coordinator.groups.streams.checks import StreamsHeartbeat
from oncelog.coordinator.groups.streams.draft import required_topics
from oncelog.coordinator.groups.streams.endpoints import Partitions, PartitionsByEndpoint
from oncelog.coordinator.groups.streams.heartbeat import HeartbeatAnswer
from oncelog.coordinator.groups.streams.tasks import Tasks, to_ids
from oncelog.coordinator.groups.streams.topology import Status, StatusCode, summary
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.internal.streams_groups import Endpoint
from oncelog.protocol.internal.streams_topology import CopartitionGroup, KeyValue, StreamsGroupTopologyValue, Subtopology, TopicInfo
from oncelog.protocol.names import INTERNAL_TOPICS

_Request = messages.StreamsGroupHeartbeatRequest
_Response = messages.StreamsGroupHeartbeatResponse
TOPICS_A_TURN = 50
_Pairs = list[_Request.Topology.Subtopology.TopicInfo.KeyValue] | list[_Request.KeyValue]


@api(ApiKey.STREAMS_GROUP_HEARTBEAT, 0, 0)
def handle(req: messages.StreamsGroupHeartbeatRequest, ctx: RequestContext) -> Reply[messages.StreamsGroupHeartbeatResponse]:
    """Join, stay or leave."""
    if not ctx.broker.config.group.group_streams_enabled:
        return _refusal(ErrorCode.UNSUPPORTED_VERSION, None)
    if not ctx.authorize(AclOperation.READ, ResourceType.GROUP, req.group_id):
        return _refusal(ErrorCode.GROUP_AUTHORIZATION_FAILED, None)
    request = _heartbeat(req, ctx)
    try:
        if request.topology is not None:
            _check_topics(request.topology, ctx)
        reply = ctx.broker.groups.streams_group_heartbeat(request)
    except KafkaError as error:
        return _refusal(error.code, error.message)
    if isinstance(reply, Deferred):
        answer: Deferred[_Response] = Deferred()
        reply.when_done(lambda settled: answer.become(lambda: _with_topics(settled.result(), ctx)))
        return answer.reply()
    return _with_topics(reply, ctx)


def _check_topics(topology: StreamsGroupTopologyValue, ctx: RequestContext) -> None:
    """Raises KafkaError 29, 130."""
    named = sorted(required_topics(topology))
    internal = [name for name in named if name in INTERNAL_TOPICS]
    if internal:
        text = f"Use of Kafka internal topics {','.join(internal)} in a Kafka Streams topology is prohibited."
        raise KafkaError(ErrorCode.STREAMS_INVALID_TOPOLOGY, text)
    invalid = [name for name in named if topic_name_problem(name) is not None]
    if invalid:
        raise KafkaError(ErrorCode.STREAMS_INVALID_TOPOLOGY, f"Topic names {','.join(invalid)} are not valid topic names.")
    if not all(may_topic(ctx, AclOperation.DESCRIBE, name) for name in named):
        raise KafkaError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)


# -- internal topics


def _with_topics(answer: HeartbeatAnswer, ctx: RequestContext) -> Reply[_Response]:
    """Make what is missing, and answer when it is on disk. What cannot be made is told where it is told to be missing."""
    missing = answer.missing
    if not missing:
        return _response(answer)
    if not ctx.sees(AclOperation.CREATE, ResourceType.CLUSTER, CLUSTER_NAME):
        refused = [topic.name for topic in missing if not may_topic(ctx, AclOperation.CREATE, topic.name)]
        if refused:
            return _response(_add_to_missing(answer, f"; Unauthorized to CREATE on topics {', '.join(refused)}."))
    try:
        check_new_partitions(sum(topic.partitions for topic in missing))
    except KafkaError as error:
        return _response(_add_failures(answer, dict.fromkeys([topic.name for topic in missing], error)))
    steps = _make_all(answer, ctx)
    return ctx.broker.turns.answer(steps) if len(missing) > TOPICS_A_TURN else at_once(steps)


def _make_all(answer: HeartbeatAnswer, ctx: RequestContext) -> Steps[Reply[_Response]]:
    making = Settling()
    for number, topic in enumerate(answer.missing, 1):
        try:
            _make(topic, making, ctx)
        except KafkaError as error:
            making.failed[topic.name] = error
        if number % TOPICS_A_TURN == 0:
            yield None
    return making.holding_reply(lambda: _response(_add_failures(answer, making.failed)))


def _make(topic: TopicInfo, making: Settling, ctx: RequestContext) -> None:
    """Raises KafkaError 17, 36, 38, 40."""
    check_new_topic(topic.name, ctx.broker.logs)
    server = ctx.broker.config.server
    if topic.replication_factor > 1 and server.strict_replication_factor:
        text = f"Unable to replicate the partition {topic.replication_factor} time(s): there is one broker."
        raise KafkaError(ErrorCode.INVALID_REPLICATION_FACTOR, text)
    configs = ctx.broker.dynamic_configs.checked_topic({pair.key: pair.value for pair in topic.topic_configs})
    making.start(topic.name, lambda ended: ctx.broker.logs.begin_create_topic(topic.name, topic.partitions, configs, ended))


def _add_failures(answer: HeartbeatAnswer, failed: Mapping[str, KafkaError]) -> HeartbeatAnswer:
    """A topic that somebody else has begun to make meanwhile is no failure."""
    serious = [(name, error) for name, error in sorted(failed.items()) if error.code is not ErrorCode.TOPIC_ALREADY_EXISTS]
    if not serious:
        return answer
    text = summary([f"{name} ({error.message or error.code.name})" for name, error in serious])
    return _add_to_missing(answer, f"; Creation failed: {text}.")


def _add_to_missing(answer: HeartbeatAnswer, text: str) -> HeartbeatAnswer:
    missing = StatusCode.MISSING_INTERNAL_TOPICS
    return replace(answer, statuses=tuple(Status(s.code, s.detail + text) if s.code is missing else s for s in answer.statuses))


# -- messages


def _heartbeat(req: _Request, ctx: RequestContext) -> StreamsHeartbeat:
    endpoint = req.user_endpoint
    return StreamsHeartbeat(
        group_id=req.group_id,
        member_id=req.member_id,
        member_epoch=req.member_epoch,
        endpoint_epoch=req.endpoint_information_epoch,
        instance_id=req.instance_id,
        rack_id=req.rack_id,
        rebalance_timeout_ms=req.rebalance_timeout_ms,
        topology=None if req.topology is None else _topology(req.topology),
        active=_tasks(req.active_tasks),
        standby=_tasks(req.standby_tasks),
        warmup=_tasks(req.warmup_tasks),
        process_id=req.process_id,
        user_endpoint=None if endpoint is None else Endpoint(endpoint.host, endpoint.port),
        client_tags=None if req.client_tags is None else _pairs(req.client_tags),
        has_task_offsets=req.task_offsets is not None,
        has_task_end_offsets=req.task_end_offsets is not None,
        shutdown_application=req.shutdown_application,
        client_id=ctx.client_id or "",
        client_host=f"/{ctx.connection.client_host}",
    )


def _pairs(pairs: _Pairs) -> tuple[KeyValue, ...]:
    return tuple(KeyValue(pair.key, pair.value) for pair in pairs)


def _topology(topology: _Request.Topology) -> StreamsGroupTopologyValue:
    def info(topic: _Request.Topology.Subtopology.TopicInfo) -> TopicInfo:
        return TopicInfo(topic.name, topic.partitions, topic.replication_factor, _pairs(topic.topic_configs))

    def group(each: _Request.Topology.Subtopology.CopartitionGroup) -> CopartitionGroup:
        return CopartitionGroup(tuple(each.source_topics), tuple(each.source_topic_regex), tuple(each.repartition_source_topics))

    return StreamsGroupTopologyValue(
        topology.epoch,
        tuple(
            Subtopology(
                each.subtopology_id,
                tuple(each.source_topics),
                tuple(each.source_topic_regex),
                tuple(info(topic) for topic in each.state_changelog_topics),
                tuple(each.repartition_sink_topics),
                tuple(info(topic) for topic in each.repartition_source_topics),
                tuple(group(each_group) for each_group in each.copartition_groups),
            )
            for each in topology.subtopologies
        ),
    )


def _tasks(ids: list[_Request.TaskIds] | None) -> dict[str, frozenset[int]] | None:
    if ids is None:
        return None
    tasks: dict[str, frozenset[int]] = {}
    for each in ids:
        if each.partitions:
            tasks[each.subtopology_id] = tasks.get(each.subtopology_id, frozenset()) | frozenset(each.partitions)
    return tasks


def _refusal(error: ErrorCode, text: str | None) -> _Response:
    return _Response(error_code=error, error_message=text, status=[])


def _response(answer: HeartbeatAnswer) -> _Response:
    tasks = answer.tasks
    return _Response(
        error_code=ErrorCode.NONE,
        error_message=None,
        member_id=answer.member_id,
        member_epoch=answer.member_epoch,
        heartbeat_interval_ms=answer.heartbeat_interval_ms,
        status=[_Response.Status(status_code=status.code, status_detail=status.detail) for status in answer.statuses],
        active_tasks=None if tasks is None else _ids(tasks.active),
        standby_tasks=None if tasks is None else _ids(tasks.standby),
        warmup_tasks=None if tasks is None else _ids(tasks.warmup),
        endpoint_information_epoch=answer.endpoint_epoch,
        partitions_by_user_endpoint=None if answer.endpoints is None else [_endpoint(each) for each in answer.endpoints],
    )


def _ids(tasks: Tasks) -> list[_Response.TaskIds]:
    return [_Response.TaskIds(subtopology_id=each.subtopology_id, partitions=each.partitions) for each in to_ids(tasks)]


def _endpoint(found: PartitionsByEndpoint) -> _Response.EndpointToPartitions:
    kind = _Response.EndpointToPartitions

    def partitions(topics: Partitions) -> list[_Response.EndpointToPartitions.TopicPartition]:
        return [kind.TopicPartition(topic=name, partitions=list(numbers)) for name, numbers in topics]

    endpoint = kind.Endpoint(host=found.endpoint.host, port=found.endpoint.port)
    return kind(user_endpoint=endpoint, active_partitions=partitions(found.active), standby_partitions=partitions(found.standby))
