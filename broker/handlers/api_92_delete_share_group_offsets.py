"""DeleteShareGroupOffsets (92), v0.

Where a share group without members stands in these topics is forgotten: who reads next begins where the group's reset strategy says. With
members: 68; no such group, or one of another type: 69; an unknown topic, or one the group has not read: 3.
"""

from __future__ import annotations

from collections.abc import Mapping

from oncelog.broker.answers import then
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.topic_access import may_topic
from oncelog.broker.net.dispatch import api
from oncelog.coordinator.deferred import Reply
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError

_E = ErrorCode
_Topic = messages.DeleteShareGroupOffsetsResponse.DeleteShareGroupOffsetsResponseTopic


@api(ApiKey.DELETE_SHARE_GROUP_OFFSETS, 0, 0)
def handle(req: messages.DeleteShareGroupOffsetsRequest, ctx: RequestContext) -> Reply[messages.DeleteShareGroupOffsetsResponse]:
    """One verdict a topic."""
    if not ctx.broker.config.share_group.enabled:
        return messages.DeleteShareGroupOffsetsResponse(error_code=_E.UNSUPPORTED_VERSION)
    if not ctx.authorize(AclOperation.DELETE, ResourceType.GROUP, req.group_id):
        error = _E.GROUP_AUTHORIZATION_FAILED
        return messages.DeleteShareGroupOffsetsResponse(error_code=error, error_message="Group authorization failed.")
    names = list(dict.fromkeys(topic.topic_name for topic in req.topics))
    allowed = [name for name in names if may_topic(ctx, AclOperation.READ, name)]
    ids = {name: topic.topic_id for name in allowed if (topic := ctx.broker.logs.topics.get(name)) is not None}
    try:
        reply = ctx.broker.groups.share.offsets.delete(req.group_id, allowed)
    except KafkaError as refused:
        return messages.DeleteShareGroupOffsetsResponse(error_code=refused.code, error_message=refused.message)

    def answer(verdicts: Mapping[str, ErrorCode | None]) -> messages.DeleteShareGroupOffsetsResponse:
        told = []
        for name in names:
            code, text = _said(verdicts, name)
            told.append(_Topic(topic_name=name, topic_id=ids.get(name) if code is _E.NONE else None, error_code=code, error_message=text))
        return messages.DeleteShareGroupOffsetsResponse(responses=told)

    return then(reply, answer)


def _said(verdicts: Mapping[str, ErrorCode | None], name: str) -> tuple[ErrorCode, str | None]:
    code = verdicts.get(name, _E.TOPIC_AUTHORIZATION_FAILED)
    if code is None:
        return _E.UNKNOWN_TOPIC_OR_PARTITION, "There is no offset information to delete."
    if code is _E.UNKNOWN_TOPIC_OR_PARTITION:
        return code, "This server does not host this topic-partition."
    if code is _E.TOPIC_AUTHORIZATION_FAILED:
        return code, "Topic authorization failed."
    return code, None if code is _E.NONE else code.name
