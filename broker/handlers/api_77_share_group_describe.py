"""ShareGroupDescribe (77), v1.

Share groups with epochs, members and what these have. A group of another type, or none: 69.
"""

from __future__ import annotations

import uuid

from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.topic_access import NOT_REQUESTED, authorized_operations, may_topic
from oncelog.broker.net.dispatch import api
from oncelog.coordinator.groups.share.state import ShareMember
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError

_Group = messages.ShareGroupDescribeResponse.DescribedGroup


@api(ApiKey.SHARE_GROUP_DESCRIBE, 1, 1)
def handle(req: messages.ShareGroupDescribeRequest, ctx: RequestContext) -> messages.ShareGroupDescribeResponse:
    """One entry a group."""
    return messages.ShareGroupDescribeResponse(groups=[_group(group_id, req, ctx) for group_id in req.group_ids])


def _group(group_id: str, req: messages.ShareGroupDescribeRequest, ctx: RequestContext) -> _Group:
    if not ctx.broker.config.share_group.enabled:
        return _Group(group_id=group_id, error_code=ErrorCode.UNSUPPORTED_VERSION)
    if not ctx.authorize(AclOperation.DESCRIBE, ResourceType.GROUP, group_id):
        return _Group(group_id=group_id, error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    try:
        found = ctx.broker.groups.share_group_describe(group_id)
    except KafkaError as error:
        return _Group(group_id=group_id, error_code=error.code, error_message=error.message)
    topics = ctx.broker.logs.topics
    named = {topic_id: topic.name for topic_id in found.group.given() if (topic := topics.by_id(topic_id)) is not None}
    if not all(may_topic(ctx, AclOperation.DESCRIBE, name) for name in named.values()):
        text = "The group has described topic(s) that the client is not authorized to describe."
        return _Group(group_id=group_id, error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED, error_message=text)
    return _Group(
        group_id=group_id,
        group_state=found.state,
        group_epoch=found.group.epoch,
        assignment_epoch=found.group.assignment_epoch,
        assignor_name=found.assignor,
        members=[_member(member, named) for member in found.group.members.values()],
        authorized_operations=(
            authorized_operations(ctx, ResourceType.GROUP, group_id) if req.include_authorized_operations else NOT_REQUESTED
        ),
    )


def _member(member: ShareMember, named: dict[uuid.UUID, str]) -> _Group.Member:
    kind = _Group.Member.Assignment
    topics = sorted((named[topic_id], topic_id) for topic_id in member.assigned if topic_id in named)
    places = [kind.TopicPartitions(topic_id=each, topic_name=name, partitions=sorted(member.assigned[each])) for name, each in topics]
    return _Group.Member(
        member_id=member.member_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topic_names),
        assignment=kind(topic_partitions=places),
    )
