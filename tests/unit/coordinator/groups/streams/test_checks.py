"""Case T03: what a StreamsGroupHeartbeat must be; the texts are Kafka's, as recorded."""

from __future__ import annotations

from typing import Any

import pytest
from oncelog.coordinator.groups.streams.checks import MAX_NAMED, StreamsHeartbeat, check, check_tasks, size_of
from oncelog.coordinator.groups.streams.tasks import TaskSets
from oncelog.coordinator.groups.streams.topology import fit
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.internal.streams_topology import CopartitionGroup, Subtopology, TopicInfo
from support.streams_group import joining, staying, tasks, topology


def refused(request: StreamsHeartbeat) -> tuple[ErrorCode, str | None]:
    with pytest.raises(KafkaError) as caught:
        check(request)
    return caught.value.code, caught.value.message


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"member_id": ""}, "MemberId can't be empty."),
        ({"group_id": " "}, "GroupId can't be empty."),
        ({"rack_id": ""}, "RackId can't be empty."),
        ({"instance_id": "i"}, "Static membership is not yet supported."),
        ({"has_task_offsets": True}, "TaskOffsets are not supported yet."),
        ({"has_task_end_offsets": True}, "TaskEndOffsets are not supported yet."),
        ({"warmup": tasks(0)}, "WarmupTasks are not supported yet."),
        (
            {"topology": topology(Subtopology("0", source_topic_regex=("a.*",)))},
            "Regular expressions for source topics are not supported yet.",
        ),
        ({"rebalance_timeout_ms": -1}, "RebalanceTimeoutMs must be provided in first request."),
        ({"active": tasks(0)}, "ActiveTasks must be empty when (re-)joining."),
        ({"standby": None}, "StandbyTasks must be empty when (re-)joining."),
        ({"warmup": None}, "WarmupTasks must be empty when (re-)joining."),
        ({"topology": None}, "Topology must be non-null when (re-)joining."),
    ],
)
def test_joining(fields: dict[str, Any], text: str) -> None:
    check(joining())
    assert refused(joining(**fields)) == (ErrorCode.INVALID_REQUEST, text)


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        (staying("m", 1, topology=topology()), "Topology can only be provided when (re-)joining."),
        (staying("m", 1, active={}), "If one task-type is non-null, all must be non-null."),
        (staying("m", -2), "InstanceId can't be null."),
        (staying("m", -3), "MemberEpoch is -3, but must be greater than or equal to -2."),
    ],
)
def test_staying(request_: StreamsHeartbeat, text: str) -> None:
    assert refused(request_) == (ErrorCode.INVALID_REQUEST, text)


def test_a_changelog_has_no_partitions_of_its_own() -> None:
    wrong = topology(Subtopology("0", ("a",), state_changelog_topics=(TopicInfo("c", 2),)))
    text = "Changelog topic c must have an undefined partition count, but it is set to 2."
    assert refused(joining(topology=wrong)) == (ErrorCode.STREAMS_INVALID_TOPOLOGY, text)


@pytest.mark.parametrize(
    ("owned", "text"),
    [
        (TaskSets(tasks(0, of="9")), "Subtopology 9 does not exist in the topology."),
        (TaskSets(standby=tasks(1, 2, 7)), "Task 2 for subtopology 0 is invalid. Number of tasks for this subtopology: 2"),
        (TaskSets(tasks(-1)), "Task -1 for subtopology 0 is invalid. Number of tasks for this subtopology: 2"),
    ],
)
def test_tasks_are_of_the_topology(owned: TaskSets, text: str) -> None:
    """Case T24."""
    fitted = fit(topology(), {"a": 2}.get)
    check_tasks(fitted, TaskSets(tasks(0, 1)))
    with pytest.raises(KafkaError) as caught:
        check_tasks(fitted, owned)
    assert (caught.value.code, caught.value.message) == (ErrorCode.INVALID_REQUEST, text)


def test_a_topology_is_bounded() -> None:
    """Whoever joins has it looked at, and it is looked at again whenever topics change."""
    group = CopartitionGroup((0, 1), (), (0,))
    most = (MAX_NAMED - 8) // 2
    large = Subtopology("0", ("a",) * most, (), (TopicInfo("c"),) * most, ("r",) * 2, (TopicInfo("r"),) * 2, (group,))
    assert size_of(topology(large)) == MAX_NAMED
    check(joining(topology=topology(large)))
    assert refused(joining(topology=topology(large, Subtopology("1"))))[0] is ErrorCode.STREAMS_INVALID_TOPOLOGY
