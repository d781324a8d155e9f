"""ConsumerGroupDescribe (69), v0-1.

Consumer groups with epochs, members, what these have and what they shall have. A classic or unknown group is 69, which makes clients ask
DescribeGroups. v1: which protocol a member speaks.
"""

from __future__ import annotations

from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.topic_access import NOT_REQUESTED, authorized_operations, may_topic
from oncelog.broker.net.dispatch import api
from oncelog.coordinator.groups.consumer.assignors import Assignment
from oncelog.coordinator.groups.consumer.state import ConsumerGroup, ConsumerMember, union
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError

_Group = messages.ConsumerGroupDescribeResponse.DescribedGroup
_CLASSIC, _CONSUMER = 0, 1  # member types


@api(ApiKey.CONSUMER_GROUP_DESCRIBE, 0, 1)
def handle(req: messages.ConsumerGroupDescribeRequest, ctx: RequestContext) -> messages.ConsumerGroupDescribeResponse:
    """One entry a group."""
    return messages.ConsumerGroupDescribeResponse(groups=[_group(group_id, req, ctx) for group_id in req.group_ids])


def _group(group_id: str, req: messages.ConsumerGroupDescribeRequest, ctx: RequestContext) -> _Group:
    if not ctx.broker.config.group.group_consumer_enabled:
        return _Group(group_id=group_id, error_code=ErrorCode.UNSUPPORTED_VERSION)
    if not ctx.authorize(AclOperation.DESCRIBE, ResourceType.GROUP, group_id):
        return _Group(group_id=group_id, error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)
    try:
        found = ctx.broker.groups.consumer_group_describe(group_id)
    except KafkaError as error:
        return _Group(group_id=group_id, error_code=error.code, error_message=error.message)
    if not all(may_topic(ctx, AclOperation.DESCRIBE, name) for name in found.group.all_subscribed_names()):
        text = "The group has described topic(s) that the client is not authorized to describe."
        return _Group(group_id=group_id, error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED, error_message=text)
    return _Group(
        group_id=group_id,
        error_code=ErrorCode.NONE,
        group_state=found.state,
        group_epoch=found.group.epoch,
        assignment_epoch=found.group.assignment_epoch,
        assignor_name=found.assignor,
        members=[_member(found.group, member, ctx) for member in found.group.members.values()],
        authorized_operations=(
            authorized_operations(ctx, ResourceType.GROUP, group_id) if req.include_authorized_operations else NOT_REQUESTED
        ),
    )


def _member(group: ConsumerGroup, member: ConsumerMember, ctx: RequestContext) -> _Group.Member:
    """What the member must give up counts as its own until it has done so."""
    return _Group.Member(
        member_id=member.member_id,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        member_epoch=member.epoch,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topic_names),
        subscribed_topic_regex=member.topic_regex or "",
        assignment=_assignment(union(member.assigned, member.revoking), ctx),
        target_assignment=_assignment(group.target_of(member.member_id), ctx),
        member_type=_CONSUMER if member.classic is None else _CLASSIC,
    )


def _assignment(assignment: Assignment, ctx: RequestContext) -> _Group.Member.Assignment:
    kind = _Group.Member.Assignment
    topics = sorted((topic.name, topic_id) for topic_id in assignment if (topic := ctx.broker.logs.topics.by_id(topic_id)) is not None)
    places = [kind.TopicPartitions(topic_id=each, topic_name=name, partitions=sorted(assignment[each])) for name, each in topics]
    return kind(topic_partitions=places)
