"""What a StreamsGroupHeartbeat must be, whatever the group is (Kafka's `GroupCoordinatorService.streamsGroupHeartbeat`)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from oncelog.coordinator.groups.streams.tasks import TaskSets
from oncelog.coordinator.groups.streams.topology import FittedTopology
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.internal.streams_groups import Endpoint
from oncelog.protocol.internal.streams_topology import KeyValue, StreamsGroupTopologyValue

LEAVE_EPOCH = -1
STATIC_LEAVE_EPOCH = -2
_E = ErrorCode
MAX_NAMED = 4_000  # topics and their like in one topology: each costs the loop 3 us when topics change


@dataclass(frozen=True, slots=True)
class StreamsHeartbeat:
    """A StreamsGroupHeartbeat request; None and -1 stand for "as before". Tasks are by subtopology, as the member says it has them."""

    group_id: str
    member_id: str
    member_epoch: int
    endpoint_epoch: int = 0
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    topology: StreamsGroupTopologyValue | None = None
    active: dict[str, frozenset[int]] | None = None
    standby: dict[str, frozenset[int]] | None = None
    warmup: dict[str, frozenset[int]] | None = None
    process_id: str | None = None
    user_endpoint: Endpoint | None = None
    client_tags: tuple[KeyValue, ...] | None = None
    has_task_offsets: bool = False
    has_task_end_offsets: bool = False
    shutdown_application: bool = False
    client_id: str = ""
    client_host: str = ""

    def owned(self) -> TaskSets | None:
        """What it says it has; None when it does not say."""
        if self.active is None or self.standby is None or self.warmup is None:
            return None
        return TaskSets(self.active, self.standby, self.warmup)


def check(request: StreamsHeartbeat) -> None:
    """What can be said without looking at the group. Raises KafkaError 42, 130."""
    _check_supported(request)
    _need(not _is_blank(request.member_id), "MemberId can't be empty.")
    _need(not _is_blank(request.group_id), "GroupId can't be empty.")
    _need(not _is_blank(request.instance_id), "InstanceId can't be empty.")
    _need(not _is_blank(request.rack_id), "RackId can't be empty.")
    if request.member_epoch == 0:
        _need(request.rebalance_timeout_ms != -1, "RebalanceTimeoutMs must be provided in first request.")
        _need(request.active is not None and not request.active, "ActiveTasks must be empty when (re-)joining.")
        _need(request.standby is not None and not request.standby, "StandbyTasks must be empty when (re-)joining.")
        _need(request.warmup is not None and not request.warmup, "WarmupTasks must be empty when (re-)joining.")
        _need(request.topology is not None, "Topology must be non-null when (re-)joining.")
        assert request.topology is not None
        _check_changelogs(request.topology)
    elif request.member_epoch == STATIC_LEAVE_EPOCH:
        _need(request.instance_id is not None, "InstanceId can't be null.")
    else:
        text = f"MemberEpoch is {request.member_epoch}, but must be greater than or equal to -2."
        _need(request.member_epoch >= STATIC_LEAVE_EPOCH, text)
    lists = (request.active, request.standby, request.warmup)
    _need(len({tasks is None for tasks in lists}) == 1, "If one task-type is non-null, all must be non-null.")
    _need(request.member_epoch == 0 or request.topology is None, "Topology can only be provided when (re-)joining.")


def _check_supported(request: StreamsHeartbeat) -> None:
    """Fields of the request that Kafka 4.3 knows and does not serve yet."""
    _need(request.instance_id is None, "Static membership is not yet supported.")
    _need(not request.has_task_offsets, "TaskOffsets are not supported yet.")
    _need(not request.has_task_end_offsets, "TaskEndOffsets are not supported yet.")
    _need(not request.warmup, "WarmupTasks are not supported yet.")
    patterns = request.topology is not None and any(each.source_topic_regex for each in request.topology.subtopologies)
    _need(not patterns, "Regular expressions for source topics are not supported yet.")
    if request.topology is not None and size_of(request.topology) > MAX_NAMED:
        raise KafkaError(_E.STREAMS_INVALID_TOPOLOGY, f"The topology names more than {MAX_NAMED} topics.")


def size_of(topology: StreamsGroupTopologyValue) -> int:
    """Subtopologies, and what they name."""
    return sum(
        1
        + len(each.source_topics)
        + len(each.repartition_sink_topics)
        + len(each.repartition_source_topics)
        + len(each.state_changelog_topics)
        + sum(len(group.source_topics) + len(group.repartition_source_topics) for group in each.copartition_groups)
        for each in topology.subtopologies
    )


def _check_changelogs(topology: StreamsGroupTopologyValue) -> None:
    for subtopology in topology.subtopologies:
        for topic in subtopology.state_changelog_topics:
            if topic.partitions:
                text = f"Changelog topic {topic.name} must have an undefined partition count, but it is set to {topic.partitions}."
                raise KafkaError(_E.STREAMS_INVALID_TOPOLOGY, text)


def check_tasks(fitted: FittedTopology, owned: TaskSets) -> None:
    """What a member says it has must be tasks of the application. Raises KafkaError 42."""
    for tasks in owned:
        for subtopology_id, partitions in tasks.items():
            subtopology = fitted.subtopologies.get(subtopology_id)
            if subtopology is None:
                raise KafkaError(_E.INVALID_REQUEST, f"Subtopology {subtopology_id} does not exist in the topology.")
            bad = _first_outside(partitions, subtopology.tasks)
            if bad is not None:
                text = f"Task {bad} for subtopology {subtopology_id} is invalid. Number of tasks for this subtopology: {subtopology.tasks}"
                raise KafkaError(_E.INVALID_REQUEST, text)


def _first_outside(partitions: Iterable[int], count: int) -> int | None:
    return min((partition for partition in partitions if not 0 <= partition < count), default=None)


def _is_blank(text: str | None) -> bool:
    """Nothing but spaces, as Java's trim() has it."""
    return text is not None and all(char <= " " for char in text)


def _need(condition: bool, message: str) -> None:
    if not condition:
        raise KafkaError(_E.INVALID_REQUEST, message)
