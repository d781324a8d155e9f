"""Metadata (3), v0-13.

v0: an empty list is all topics; v1: null is. v4: auto-create flag (before it always). v5: offline replicas. v7: leader epochs.
v8: authorized operations. v9: flexible. v10: topic ids (42 for a null name or an id until v12). v12: lookup by id. v13: top-level error.
Answers without topics to create come from a cache of encoded bytes.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from oncelog.broker.auth.acls import CLUSTER_NAME, AclOperation, ResourceType
from oncelog.broker.dispatch import api
from oncelog.broker.handlers.topic_access import NOT_REQUESTED, authorized_operations, may_topic
from oncelog.broker.metadata_cache import topic_entry
from oncelog.broker.topic_creation import check_new_topic
from oncelog.broker.topic_names import topic_name_problem
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.names import CONSUMER_OFFSETS, INTERNAL_TOPICS
from oncelog.protocol.primitives import Buffer

if TYPE_CHECKING:
    from oncelog.broker.context import RequestContext


@api(ApiKey.METADATA, 0, 13, raw=True)
def handle(body: memoryview, ctx: RequestContext) -> list[Buffer]:
    """The cluster, and the topics asked for."""
    cache, version = ctx.broker.metadata, ctx.api_version
    key = (version, bytes(body), ctx.broker.endpoint_for(ctx.connection)) if ctx.broker.authorizer is None else None
    if key is not None and (known := cache.get(key)) is not None:
        return [known]
    req = messages.decode_request(ApiKey.METADATA, version, body)
    problem = _problem(req, version)
    if problem is not ErrorCode.NONE:
        return [messages.encode_response(ApiKey.METADATA, version, _refused_whole(req, problem))]
    topics, cacheable = _topics(req, ctx)
    response = messages.MetadataResponse(
        brokers=cache.brokers(ctx),
        cluster_id=ctx.broker.cluster_id,
        controller_id=ctx.broker.node_id,
        topics=topics,
        cluster_authorized_operations=(
            authorized_operations(ctx, ResourceType.CLUSTER) if req.include_cluster_authorized_operations else NOT_REQUESTED
        ),
    )
    encoded = bytes(messages.encode_response(ApiKey.METADATA, version, response))
    if key is not None and cacheable:
        cache.put(key, encoded)
    return [encoded]


def _topics(req: Any, ctx: RequestContext) -> tuple[list[Any], bool]:
    """The entries, and whether the answer may be given again."""
    broker, version = ctx.broker, ctx.api_version
    if req.topics is None or (version == 0 and not req.topics):
        visible = [topic for topic in broker.logs.topics.all() if may_topic(ctx, AclOperation.DESCRIBE, topic.name)]
        return [topic_entry(topic, ctx, _operations(req, topic.name, ctx)) for topic in visible], True
    if version >= 12 and any(asked.topic_id is not None for asked in req.topics):
        return [_by_id(asked.topic_id, req, ctx) for asked in req.topics if asked.topic_id is not None], True
    entries = []
    unchanged = True
    for asked in req.topics:
        entry, made = _by_name(asked, req, ctx)
        entries.append(entry)
        unchanged = unchanged and not made
    return entries, unchanged


def _problem(req: Any, version: int) -> ErrorCode:
    """Why the whole request is refused: ids before v12, and entries that name nothing."""
    if version < 10:
        return ErrorCode.NONE
    topics = req.topics or ()
    if version < 12:
        odd = any(asked.name is None or asked.topic_id is not None for asked in topics)
        return ErrorCode.INVALID_REQUEST if odd else ErrorCode.NONE
    by_id = any(asked.topic_id is not None for asked in topics)
    return ErrorCode.UNKNOWN_SERVER_ERROR if not by_id and any(asked.name is None for asked in topics) else ErrorCode.NONE


def _refused_whole(req: Any, code: ErrorCode) -> Any:
    """Kafka's `MetadataRequest.getErrorResponse`: no brokers, the error on each topic."""
    return messages.MetadataResponse(
        brokers=[],
        cluster_id=None,
        controller_id=-1,
        topics=[_refused(code, asked.name or "", asked.topic_id) for asked in req.topics],
        cluster_authorized_operations=NOT_REQUESTED,
    )


def _by_id(topic_id: uuid.UUID, req: Any, ctx: RequestContext) -> Any:
    topic = ctx.broker.logs.topics.by_id(topic_id)
    if topic is None:
        return _refused(ErrorCode.UNKNOWN_TOPIC_ID, None, topic_id)
    if not may_topic(ctx, AclOperation.DESCRIBE, topic.name):
        return _refused(ErrorCode.TOPIC_AUTHORIZATION_FAILED, None, topic_id)
    return topic_entry(topic, ctx, _operations(req, topic.name, ctx))


def _by_name(asked: Any, req: Any, ctx: RequestContext) -> tuple[Any, bool]:
    name = asked.name
    if not may_topic(ctx, AclOperation.DESCRIBE, name):
        return _refused(ErrorCode.TOPIC_AUTHORIZATION_FAILED, name), False
    topic = ctx.broker.logs.topics.get(name)
    if topic is not None:
        return topic_entry(topic, ctx, _operations(req, name, ctx)), False
    if topic_name_problem(name) is not None:
        return _refused(ErrorCode.INVALID_TOPIC_EXCEPTION, name), False
    if req.allow_auto_topic_creation and ctx.broker.config.server.auto_create_topics:
        return _created(name, ctx), True
    return _refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name), False


def _created(name: str, ctx: RequestContext) -> Any:
    """Made in this turn, yet told as unknown once, as Kafka does: every client asks again."""
    if not (ctx.authorize(AclOperation.CREATE, ResourceType.CLUSTER, CLUSTER_NAME) or may_topic(ctx, AclOperation.CREATE, name)):
        return _refused(ErrorCode.TOPIC_AUTHORIZATION_FAILED, name)
    try:
        if name in INTERNAL_TOPICS:
            (ctx.broker.groups if name == CONSUMER_OFFSETS else ctx.broker.transactions).runtime.ensure_topic()
        else:
            check_new_topic(name, ctx.broker.logs.topics)
            ctx.broker.logs.create_topic(name, ctx.broker.config.server.num_partitions)
    except KafkaError as error:
        return _refused(error.code, name)
    return _refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name)


def _refused(code: ErrorCode, name: str | None, topic_id: uuid.UUID | None = None) -> Any:
    return messages.MetadataResponse.MetadataResponseTopic(
        error_code=code, name=name, topic_id=topic_id, is_internal=name in INTERNAL_TOPICS, partitions=[]
    )


def _operations(req: Any, name: str, ctx: RequestContext) -> int:
    return authorized_operations(ctx, ResourceType.TOPIC, name) if req.include_topic_authorized_operations else NOT_REQUESTED
