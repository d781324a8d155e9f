"""Metadata (3), v0-13.

v0: an empty list is all topics; v1: null is. v4: auto-create flag (before it always). v5: offline replicas. v7: leader epochs.
v8: authorized operations. v9: flexible. v10: topic ids (42 for a null name or an id until v12). v12: lookup by id. v13: top-level error.
Topics are packed by hand and kept so; answers without topics to create come from a cache of encoded bytes.
A topic made on demand is told as unknown once, as Kafka does, when it is on disk: every client asks again.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from oncelog.broker.answers import Settling
from oncelog.broker.auth.acls import CLUSTER_NAME, AclOperation, ResourceType
from oncelog.broker.handlers.shared.topic_access import NOT_REQUESTED, authorized_operations, cluster_operations, may_topic
from oncelog.broker.net.dispatch import api
from oncelog.broker.net.turns import Steps, at_once
from oncelog.broker.topics.creation import check_new_topic
from oncelog.broker.topics.metadata_cache import Key
from oncelog.broker.topics.names import topic_name_problem
from oncelog.coordinator.deferred import Reply
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.hot.metadata import pack_metadata_topic, splice_metadata_topics
from oncelog.protocol.names import CONSUMER_OFFSETS, INTERNAL_TOPICS, SHARE_GROUP_STATE
from oncelog.protocol.primitives import Buffer

if TYPE_CHECKING:
    from oncelog.broker.context import RequestContext
    from oncelog.protocol.topics import Topic

_NO_ID = uuid.UUID(int=0)
TOPICS_A_TURN = 500


@api(ApiKey.METADATA, 0, 13, raw=True)
def handle(body: memoryview, ctx: RequestContext) -> Reply[Sequence[Buffer]]:
    """The cluster, and the topics asked for."""
    cache, version = ctx.broker.metadata, ctx.api_version
    key = (version, bytes(body), ctx.broker.endpoint_for(ctx.connection)) if ctx.broker.authorizer is None else None
    if key is not None and (known := cache.get(key)) is not None:
        return [known]
    req = messages.decode_request(ApiKey.METADATA, version, body)
    problem = _problem(req, version)
    if problem is not ErrorCode.NONE:
        refused = _refused_whole(req, problem)
        ctx.broker.errors.of(ApiKey.METADATA, refused)
        return [messages.encode_response(ApiKey.METADATA, version, refused)]
    everything = _asks_for_everything(req, version)
    if len(ctx.broker.logs.topics.all() if everything else req.topics or ()) > TOPICS_A_TURN:
        return ctx.broker.turns.answer(_answer(req, key if everything else None, ctx))
    return at_once(_answer(req, key, ctx))


def _answer(req: messages.MetadataRequest, key: Key | None, ctx: RequestContext) -> Steps[Reply[list[bytes]]]:
    """The buffers, or a future of them."""
    cache, version = ctx.broker.metadata, ctx.api_version
    making = Settling()
    generation = ctx.broker.logs.topics.generation  # topics may change from turn to turn
    topics, cacheable = yield from _topics(req, ctx, making)
    host, port = ctx.broker.endpoint_for(ctx.connection)
    answer = messages.MetadataResponse(
        brokers=[messages.MetadataResponse.MetadataResponseBroker(node_id=ctx.broker.node_id, host=host, port=port, rack=None)],
        cluster_id=ctx.broker.cluster_id,
        controller_id=ctx.broker.node_id,
        topics=[],
        cluster_authorized_operations=(cluster_operations(ctx) if req.include_cluster_authorized_operations else NOT_REQUESTED),
    )

    def finish() -> list[bytes]:
        told = [_refused(ctx, making.failed[name].code, name) if name in making.failed else packed for name, packed in topics]
        return [splice_metadata_topics(version, bytes(messages.encode_response(ApiKey.METADATA, version, answer)), told)]

    reply = making.holding_reply(finish)
    if key is not None and cacheable and isinstance(reply, list) and generation == ctx.broker.logs.topics.generation:
        cache.put(key, reply[0])
    return reply


def _asks_for_everything(req: messages.MetadataRequest, version: int) -> bool:
    return req.topics is None or (version == 0 and not req.topics)


_Told = tuple[str | None, bytes]


def _topics(req: messages.MetadataRequest, ctx: RequestContext, making: Settling) -> Steps[tuple[list[_Told], bool]]:
    """Names with their packed entries, and whether the answer may be given again."""
    broker, version = ctx.broker, ctx.api_version
    if _asks_for_everything(req, version):
        visible = [topic for topic in broker.logs.topics.all() if ctx.sees(AclOperation.DESCRIBE, ResourceType.TOPIC, topic.name)]
        everything: list[_Told] = []
        for number, topic in enumerate(visible, 1):
            everything.append((topic.name, _known(topic, req, ctx)))
            if number % TOPICS_A_TURN == 0:
                yield None
        return everything, True
    asked_for = req.topics or []
    if version >= 12 and any(asked.topic_id is not None for asked in asked_for):
        ids = dict.fromkeys(asked.topic_id for asked in asked_for if asked.topic_id is not None)
        told = [_by_id(topic_id, req, ctx) for topic_id in ids]
        return [(None, packed) for packed, _known in told], all(known for _packed, known in told)
    entries: list[_Told] = []
    known = True
    for number, name in enumerate(dict.fromkeys(asked.name for asked in asked_for if asked.name is not None), 1):
        entry, found = _by_name(name, req, ctx, making)
        entries.append((name, entry))
        known = known and found
        if number % TOPICS_A_TURN == 0:
            yield None
    return entries, known


def _known(topic: Topic, req: messages.MetadataRequest, ctx: RequestContext) -> bytes:
    return ctx.broker.metadata.topic(ctx.api_version, topic, _operations(topic.name, req, ctx))


def _operations(name: str, req: messages.MetadataRequest, ctx: RequestContext) -> int:
    return authorized_operations(ctx, ResourceType.TOPIC, name) if req.include_topic_authorized_operations else NOT_REQUESTED


def _problem(req: messages.MetadataRequest, version: int) -> ErrorCode:
    """Why the whole request is refused: ids before v12, and entries that name nothing."""
    if version < 10:
        return ErrorCode.NONE
    topics = req.topics or ()
    if version < 12:
        odd = any(asked.name is None or asked.topic_id is not None for asked in topics)
        return ErrorCode.INVALID_REQUEST if odd else ErrorCode.NONE
    by_id = any(asked.topic_id is not None for asked in topics)
    return ErrorCode.UNKNOWN_SERVER_ERROR if not by_id and any(asked.name is None for asked in topics) else ErrorCode.NONE


def _refused_whole(req: messages.MetadataRequest, code: ErrorCode) -> messages.MetadataResponse:
    """Kafka's `MetadataRequest.getErrorResponse`: no brokers, the error on each topic."""
    kind = messages.MetadataResponse.MetadataResponseTopic
    topics = [
        kind(
            error_code=code,
            name=asked.name or "",
            topic_id=asked.topic_id,
            is_internal=(asked.name or "") in INTERNAL_TOPICS,
            partitions=[],
        )
        for asked in req.topics or ()
    ]
    return messages.MetadataResponse(
        brokers=[], cluster_id=None, controller_id=-1, topics=topics, cluster_authorized_operations=NOT_REQUESTED
    )


def _by_id(topic_id: uuid.UUID, req: messages.MetadataRequest, ctx: RequestContext) -> tuple[bytes, bool]:
    """Its entry, and whether that is without error: what is not is counted each time."""
    topic = ctx.broker.logs.topics.by_id(topic_id)
    if topic is None:
        return _refused(ctx, ErrorCode.UNKNOWN_TOPIC_ID, None, topic_id), False
    if not may_topic(ctx, AclOperation.DESCRIBE, topic.name):
        return _refused(ctx, ErrorCode.TOPIC_AUTHORIZATION_FAILED, None, topic_id), False
    return _known(topic, req, ctx), True


def _by_name(name: str, req: messages.MetadataRequest, ctx: RequestContext, making: Settling) -> tuple[bytes, bool]:
    """As `_by_id`."""
    if not may_topic(ctx, AclOperation.DESCRIBE, name):
        return _refused(ctx, ErrorCode.TOPIC_AUTHORIZATION_FAILED, name), False
    topic = ctx.broker.logs.topics.get(name)
    if topic is not None:
        return _known(topic, req, ctx), True
    operations = _operations(name, req, ctx)  # also of a topic that is not there
    if topic_name_problem(name) is not None:
        return _refused(ctx, ErrorCode.INVALID_TOPIC_EXCEPTION, name, operations=operations), False
    error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if req.allow_auto_topic_creation and ctx.broker.config.server.auto_create_topics:
        error = _make(name, ctx, making)
    return _refused(ctx, error, name, operations=NOT_REQUESTED if error is ErrorCode.TOPIC_AUTHORIZATION_FAILED else operations), False


def _make(name: str, ctx: RequestContext, making: Settling) -> ErrorCode:
    """Begin to make a topic; what to tell of it if that succeeds."""
    if not (ctx.sees(AclOperation.CREATE, ResourceType.CLUSTER, CLUSTER_NAME) or may_topic(ctx, AclOperation.CREATE, name)):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    logs = ctx.broker.logs
    try:
        if name in INTERNAL_TOPICS:
            _make_internal(name, ctx)
        elif not logs.has_name(name):  # else another request is at it
            check_new_topic(name, logs)
            making.start(name, partial(logs.begin_create_topic, name, ctx.broker.config.server.num_partitions, {}))
    except KafkaError as error:
        return error.code
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _make_internal(name: str, ctx: RequestContext) -> None:
    """Raises KafkaError."""
    if name == CONSUMER_OFFSETS:
        ctx.broker.groups.runtime.ensure_topic()
    elif name == SHARE_GROUP_STATE:
        ctx.broker.persister.runtime.ensure_topic()
    else:
        ctx.broker.transactions.runtime.ensure_topic()


def _refused(
    ctx: RequestContext, code: ErrorCode, name: str | None, topic_id: uuid.UUID = _NO_ID, *, operations: int = NOT_REQUESTED
) -> bytes:
    ctx.broker.errors.add(ApiKey.METADATA, code)
    return pack_metadata_topic(ctx.api_version, code, name, topic_id.bytes, name in INTERNAL_TOPICS, 0, 0, operations, {})
