"""StreamsGroupDescribe: topology, members with what they have and shall have, and groups that are not of this kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from support.group_requests import stable
from support.streams_client import info, part
from support.whole_broker import WholeBroker

pytestmark = pytest.mark.unit
AT_ONCE = {"group.streams.initial.rebalance.delay.ms": "0", "group.streams.assignment.interval.ms": "0"}
NOT_REQUESTED = -(2**31)
PARTS = (
    part("1", repartition_source_topics=[info("r")], state_changelog_topics=[info("c", cleanup_policy="compact")]),
    part("0", "u", "t", repartition_sink_topics=["r"]),
)


@pytest.fixture
def streams(wholes: Callable[..., WholeBroker]) -> WholeBroker:
    return wholes({"t": 2, "u": 1}, {**AT_ONCE, "group.initial.rebalance.delay.ms": "0"})


def join(whole: WholeBroker, member_id: str = "m1", **fields: Any) -> Any:
    first = {
        "group_id": "g",
        "member_id": member_id,
        "member_epoch": 0,
        "rebalance_timeout_ms": 30_000,
        "topology": {"epoch": 4, "subtopologies": list(PARTS)},
        "active_tasks": [],
        "standby_tasks": [],
        "warmup_tasks": [],
        "process_id": member_id,
    }
    answer = whole.ask(ApiKey.STREAMS_GROUP_HEARTBEAT, 0, **{**first, **fields})
    assert answer.error_code == ErrorCode.NONE, answer.error_message
    return answer


def describe(whole: WholeBroker, *groups: str, **fields: Any) -> Any:
    return whole.ask(ApiKey.STREAMS_GROUP_DESCRIBE, 0, group_ids=list(groups), **fields).groups


def tasks(assignment: Any) -> dict[str, list[int]]:
    return {each.subtopology_id: each.partitions for each in assignment.active_tasks}


def test_a_group_and_its_member(streams: WholeBroker) -> None:
    """Case T12: while topics are missing the topology is as it was sent, then with partitions."""
    join(streams, user_endpoint={"host": "h", "port": 9}, client_tags=[{"key": "k", "value": "v"}], rack_id="r")
    streams.ask(ApiKey.STREAMS_GROUP_HEARTBEAT, 0, group_id="g", member_id="m1", member_epoch=2)
    (group,) = describe(streams, "g")
    assert (group.error_code, group.group_state, group.group_epoch, group.assignment_epoch) == (0, "Stable", 3, 3)
    assert group.authorized_operations == NOT_REQUESTED
    assert group.topology.epoch == 4
    first, second = group.topology.subtopologies
    assert (first.subtopology_id, first.source_topics, first.repartition_sink_topics) == ("0", ["t", "u"], ["r"])
    (changelog,) = second.state_changelog_topics
    assert (changelog.name, changelog.partitions) == ("c", 2)
    assert [(each.key, each.value) for each in changelog.topic_configs] == [("cleanup.policy", "compact")]
    assert [(each.name, each.partitions) for each in second.repartition_source_topics] == [("r", 2)]
    (member,) = group.members
    assert (member.member_id, member.member_epoch, member.instance_id, member.rack_id) == ("m1", 3, None, "r")
    assert (member.client_id, member.client_host, member.process_id, member.topology_epoch) == ("client", "/10.0.0.1", "m1", 4)
    assert (member.user_endpoint.host, member.user_endpoint.port) == ("h", 9)
    assert [(tag.key, tag.value) for tag in member.client_tags] == [("k", "v")]
    assert tasks(member.assignment) == tasks(member.target_assignment) == {"0": [0, 1], "1": [0, 1]}
    assert (member.task_offsets, member.task_end_offsets, member.is_classic) == ([], [], False)


def test_topics_that_do_not_fit_leave_the_topology_as_it_was_sent(streams: WholeBroker) -> None:
    streams.logs.create_topic("c", 7)
    join(streams)
    (group,) = describe(streams, "g")
    assert group.group_state == "NotReady"
    assert [each.partitions for each in group.topology.subtopologies[1].state_changelog_topics] == [0]


def test_what_a_member_has_and_shall_have(streams: WholeBroker) -> None:
    join(streams)
    streams.ask(ApiKey.STREAMS_GROUP_HEARTBEAT, 0, group_id="g", member_id="m1", member_epoch=2)
    join(streams, "m2")
    (group,) = describe(streams, "g")
    assert group.group_state == "Reconciling"
    members = {member.member_id: member for member in group.members}
    assert tasks(members["m1"].assignment) == {"0": [0, 1], "1": [0, 1]}
    assert sum(map(len, tasks(members["m1"].target_assignment).values())) == 2
    assert tasks(members["m2"].assignment) == {}
    assert sum(map(len, tasks(members["m2"].target_assignment).values())) == 2


def test_groups_of_another_kind_and_none(streams: WholeBroker) -> None:
    stable(streams, "classic")
    told = [(group.group_id, group.error_code, group.error_message, group.topology) for group in describe(streams, "classic", "none")]
    assert told == [
        ("classic", ErrorCode.GROUP_ID_NOT_FOUND, "Group classic is not a streams group.", None),
        ("none", ErrorCode.GROUP_ID_NOT_FOUND, "Group none not found.", None),
    ]
    assert describe(streams) == []


def test_without_the_group(streams: WholeBroker) -> None:
    """Case A03."""
    join(streams)
    streams.deny(AclOperation.DESCRIBE, ResourceType.GROUP, "g")
    (refused,) = describe(streams, "g")
    assert (refused.error_code, refused.members, refused.topology) == (ErrorCode.GROUP_AUTHORIZATION_FAILED, [], None)


@pytest.mark.parametrize("topic", ["t", "r", "c"])
def test_a_topic_that_may_not_be_described_hides_the_group(streams: WholeBroker, topic: str) -> None:
    """Case A03."""
    join(streams)
    streams.deny(AclOperation.DESCRIBE, ResourceType.TOPIC, topic)
    (group,) = describe(streams, "g")
    assert (group.error_code, group.members, group.topology) == (ErrorCode.TOPIC_AUTHORIZATION_FAILED, [], None)


def test_operations_are_told_to_whom_asks(streams: WholeBroker) -> None:
    join(streams)
    streams.deny(AclOperation.READ, ResourceType.GROUP, "g")
    (group,) = describe(streams, "g", include_authorized_operations=True)
    deletes, describes, describe_configs, alter_configs = 1 << 6, 1 << 8, 1 << 10, 1 << 11
    assert group.authorized_operations == deletes + describes + describe_configs + alter_configs


def test_the_protocol_can_be_switched_off(wholes: Callable[..., WholeBroker]) -> None:
    whole = wholes(settings={"group.streams.enable": "false"})
    assert [group.error_code for group in describe(whole, "g")] == [ErrorCode.UNSUPPORTED_VERSION]
