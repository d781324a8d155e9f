"""StreamsGroupDescribe (89), v0.

Streams groups (KIP-1071): epochs, the topology, with the partitions of internal topics once topics fit it, members with the tasks they have
and those they shall have. A group that is unknown or of another type is 69.
"""

from __future__ import annotations

from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.topic_access import NOT_REQUESTED, authorized_operations, may_topic
from oncelog.broker.net.dispatch import api
from oncelog.coordinator.groups.streams.draft import required_topics
from oncelog.coordinator.groups.streams.service import DescribedStreamsGroup
from oncelog.coordinator.groups.streams.state import StreamsMember
from oncelog.coordinator.groups.streams.tasks import TaskSets, to_ids
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.internal.streams_topology import TopicInfo

_Group = messages.StreamsGroupDescribeResponse.DescribedGroup
_Member = _Group.Member
_Topology = _Group.Topology
_Subtopology = _Topology.Subtopology


@api(ApiKey.STREAMS_GROUP_DESCRIBE, 0, 0)
def handle(req: messages.StreamsGroupDescribeRequest, ctx: RequestContext) -> messages.StreamsGroupDescribeResponse:
    """One entry a group."""
    return messages.StreamsGroupDescribeResponse(groups=[_group(group_id, req, ctx) for group_id in req.group_ids])


def _group(group_id: str, req: messages.StreamsGroupDescribeRequest, ctx: RequestContext) -> _Group:
    if not ctx.broker.config.group.group_streams_enabled:
        return _refused(group_id, ErrorCode.UNSUPPORTED_VERSION)
    if not ctx.authorize(AclOperation.DESCRIBE, ResourceType.GROUP, group_id):
        return _refused(group_id, ErrorCode.GROUP_AUTHORIZATION_FAILED)
    try:
        found = ctx.broker.groups.streams_group_describe(group_id)
    except KafkaError as error:
        return _refused(group_id, error.code, error.message)
    group = found.group
    if group.topology is not None and not all(may_topic(ctx, AclOperation.DESCRIBE, name) for name in required_topics(group.topology)):
        text = "The described group uses topics that the client is not authorized to describe."
        return _refused(group_id, ErrorCode.TOPIC_AUTHORIZATION_FAILED, text)
    return _Group(
        error_code=ErrorCode.NONE,
        error_message=None,
        group_id=group_id,
        group_state=group.state.value,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        topology=_topology(found),
        members=[_member(member, group.target_of(member.member_id)) for member in group.members.values()],
        authorized_operations=(
            authorized_operations(ctx, ResourceType.GROUP, group_id) if req.include_authorized_operations else NOT_REQUESTED
        ),
    )


def _refused(group_id: str, error: ErrorCode, text: str | None = None) -> _Group:
    return _Group(group_id=group_id, error_code=error, error_message=text, topology=None)


def _topology(found: DescribedStreamsGroup) -> _Topology | None:
    """As the application sent it, until topics fit."""
    sent = found.group.topology
    if sent is None:
        return None
    if found.fitted is not None:
        parts = [
            _subtopology(key, each.source_topics, each.sinks, each.repartitions, each.changelogs)
            for key, each in found.fitted.subtopologies.items()
        ]
    else:
        parts = [_subtopology(each[0], each[1], each[4], each[5], each[3]) for each in sorted(sent.subtopologies)]
    return _Topology(epoch=sent.epoch, subtopologies=parts)


def _subtopology(
    subtopology_id: str,
    sources: tuple[str, ...],
    sinks: tuple[str, ...],
    repartitions: tuple[TopicInfo, ...],
    changelogs: tuple[TopicInfo, ...],
) -> _Subtopology:
    return _Subtopology(
        subtopology_id=subtopology_id,
        source_topics=sorted(sources),
        repartition_sink_topics=sorted(sinks),
        repartition_source_topics=_topics(repartitions),
        state_changelog_topics=_topics(changelogs),
    )


def _topics(infos: tuple[TopicInfo, ...]) -> list[_Subtopology.TopicInfo]:
    kind = _Subtopology.TopicInfo
    return [
        kind(
            name=info.name,
            partitions=info.partitions,
            replication_factor=info.replication_factor,
            topic_configs=[kind.KeyValue(key=pair.key, value=pair.value) for pair in sorted(info.topic_configs)],
        )
        for info in sorted(infos)
    ]


def _member(member: StreamsMember, target: TaskSets) -> _Member:
    endpoint = member.user_endpoint
    return _Member(
        member_id=member.member_id,
        member_epoch=member.epoch,
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        topology_epoch=member.topology_epoch,
        process_id=member.process_id,
        user_endpoint=None if endpoint is None else _Member.Endpoint(host=endpoint.host, port=endpoint.port),
        client_tags=[_Member.KeyValue(key=tag.key, value=tag.value) for tag in member.client_tags],
        task_offsets=[],
        task_end_offsets=[],
        assignment=_assignment(member.assigned.sets()),
        target_assignment=_assignment(target),
        is_classic=False,
    )


def _assignment(tasks: TaskSets) -> _Member.Assignment:
    kind = _Member.Assignment

    def ids(kept: int) -> list[_Member.Assignment.TaskIds]:
        return [kind.TaskIds(subtopology_id=each.subtopology_id, partitions=each.partitions) for each in to_ids(tasks[kept])]

    return kind(active_tasks=ids(0), standby_tasks=ids(1), warmup_tasks=ids(2))
