"""DeleteTopics (20), v1-6.

v4: flexible. v5: error_message. v6: topics by name or by id, never both (42); a topic meant twice, however it is named, is deleted by
none of its mentions (42). `delete.topic.enable=false`: 73 (42 below v3) for everything. Answered when the names are free again.
DELETE on the cluster covers every topic.
"""

from __future__ import annotations

import uuid
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from oncelog.broker.answers import Settling
from oncelog.broker.auth.acls import AclOperation
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.administration import may
from oncelog.broker.handlers.shared.topic_access import may_topic
from oncelog.broker.net.dispatch import api
from oncelog.coordinator.deferred import Reply
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from oncelog.protocol.topics import Topic

_FIRST_BY_ID = 6
_FIRST_WITH_DISABLED_ERROR = 3
_NO_SUCH_TOPIC = "This server does not host this topic-partition."
_NO_SUCH_ID = "This server does not host this topic ID."


class _Outcome(NamedTuple):
    name: str | None
    topic_id: uuid.UUID | None
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None


@api(ApiKey.DELETE_TOPICS, 1, 6)
def handle(req: messages.DeleteTopicsRequest, ctx: RequestContext) -> Reply[messages.DeleteTopicsResponse]:
    """Delete what is named."""
    asked = _mentions(req, ctx.api_version)
    if not ctx.broker.config.server.delete_topics:
        disabled = ErrorCode.TOPIC_DELETION_DISABLED if ctx.api_version >= _FIRST_WITH_DISABLED_ERROR else ErrorCode.INVALID_REQUEST
        return _response([_Outcome(name, topic_id, disabled, "Topic deletion is disabled.") for name, topic_id in asked])
    outcomes, valid = _sort_out(asked, ctx)
    deleting = Settling()
    for topic, by_id in valid:
        outcomes.append(_delete(topic, ctx, deleting, by_id=by_id))
    return deleting.holding_reply(lambda: _response([_ended(outcome, deleting.failed) for outcome in outcomes]))


def _mentions(req: messages.DeleteTopicsRequest, api_version: int) -> list[tuple[str | None, uuid.UUID | None]]:
    if api_version < _FIRST_BY_ID:
        return [(name, None) for name in req.topic_names]
    return [(topic.name, topic.topic_id) for topic in req.topics]


def _sort_out(asked: list[tuple[str | None, uuid.UUID | None]], ctx: RequestContext) -> tuple[list[_Outcome], list[tuple[Topic, bool]]]:
    """(what is refused at once, the topics to delete and whether the client named their id)."""
    refused: list[_Outcome] = []
    found: list[tuple[Topic, bool]] = []
    names = Counter(name for name, topic_id in asked if name is not None and topic_id is None)
    ids = Counter(topic_id for name, topic_id in asked if topic_id is not None and name is None)
    topics = ctx.broker.logs.topics
    nameless = [each for each in asked if each == (None, None)]  # told as often as they are there
    for name, topic_id in (*nameless, *dict.fromkeys(each for each in asked if each != (None, None))):
        if name is not None and topic_id is not None:
            refused.append(_Outcome(name, topic_id, ErrorCode.INVALID_REQUEST, "You may not specify both topic name and topic id."))
        elif name is None and topic_id is None:
            refused.append(_Outcome(None, None, ErrorCode.INVALID_REQUEST, "Neither topic name nor id were specified."))
        elif name is not None and names[name] > 1:
            refused.append(_Outcome(name, None, ErrorCode.INVALID_REQUEST, "Duplicate topic name."))
        elif topic_id is not None and ids[topic_id] > 1:
            refused.append(_Outcome(None, topic_id, ErrorCode.INVALID_REQUEST, "Duplicate topic id."))
        else:
            topic = topics.by_id(topic_id) if topic_id is not None else topics.get(name or "")
            if topic is None:
                refused.append(_unknown(name, topic_id, ctx))
            else:
                found.append((topic, topic_id is not None))
    mentioned = Counter(topic.name for topic, _by_id in found)
    message = "The provided topic name maps to an ID that was already supplied."
    for topic in {topic.name: topic for topic, _by_id in found if mentioned[topic.name] > 1}.values():
        refused.append(_Outcome(topic.name, topic.topic_id, ErrorCode.INVALID_REQUEST, message))
    return refused, [(topic, by_id) for topic, by_id in found if mentioned[topic.name] == 1]


def _unknown(name: str | None, topic_id: uuid.UUID | None, ctx: RequestContext) -> _Outcome:
    if name is None:
        return _Outcome(None, topic_id, ErrorCode.UNKNOWN_TOPIC_ID, _NO_SUCH_ID)
    # who may not describe a topic must not learn whether it is there
    if not (may(ctx, AclOperation.DELETE) or may_topic(ctx, AclOperation.DESCRIBE, name)):
        return _Outcome(name, None, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    return _Outcome(name, None, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, _NO_SUCH_TOPIC)


def _delete(topic: Topic, ctx: RequestContext, deleting: Settling, *, by_id: bool) -> _Outcome:
    if not (may(ctx, AclOperation.DELETE) or may_topic(ctx, AclOperation.DELETE, topic.name)):
        # an id alone must not tell the name it stands for
        hidden = by_id and not may_topic(ctx, AclOperation.DESCRIBE, topic.name)
        return _Outcome(None if hidden else topic.name, topic.topic_id if by_id else None, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    try:
        deleting.start(topic.name, partial(ctx.broker.logs.begin_delete_topic, topic.name))
    except KafkaError as gone:  # another request is deleting it
        return _Outcome(topic.name, topic.topic_id if by_id else None, gone.code, gone.message)
    return _Outcome(topic.name, topic.topic_id)


def _ended(outcome: _Outcome, failed: dict[str, KafkaError]) -> _Outcome:
    error = failed.get(outcome.name or "")
    return outcome if error is None else _Outcome(outcome.name, outcome.topic_id, error.code, error.message)


def _response(outcomes: list[_Outcome]) -> messages.DeleteTopicsResponse:
    result = messages.DeleteTopicsResponse.DeletableTopicResult
    return messages.DeleteTopicsResponse(
        responses=[
            result(name=outcome.name, topic_id=outcome.topic_id, error_code=outcome.error, error_message=outcome.message)
            for outcome in outcomes
        ]
    )
