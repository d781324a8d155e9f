"""StreamsGroupHeartbeat: join, stay, leave; who may, and who makes internal topics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from oncelog.broker.auth.acls import CLUSTER_NAME, AclOperation, ResourceType
from oncelog.broker.handlers.api_88_streams_group_heartbeat import TOPICS_A_TURN
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from support.streams_client import info, part
from support.whole_broker import WholeBroker

pytestmark = pytest.mark.unit
AT_ONCE = {"group.streams.initial.rebalance.delay.ms": "0", "group.streams.assignment.interval.ms": "0"}


@pytest.fixture
def streams(wholes: Callable[..., WholeBroker]) -> WholeBroker:
    return wholes({"t": 2}, AT_ONCE)


def join(whole: WholeBroker, *parts: dict[str, Any], **fields: Any) -> Any:
    first = {
        "group_id": "g",
        "member_id": "m1",
        "member_epoch": 0,
        "rebalance_timeout_ms": 30_000,
        "topology": {"epoch": 0, "subtopologies": list(parts or (part("0", "t"),))},
        "active_tasks": [],
        "standby_tasks": [],
        "warmup_tasks": [],
        "process_id": "p1",
    }
    return whole.ask(ApiKey.STREAMS_GROUP_HEARTBEAT, 0, **{**first, **fields})


def stay(whole: WholeBroker, epoch: int, **fields: Any) -> Any:
    return whole.ask(ApiKey.STREAMS_GROUP_HEARTBEAT, 0, group_id="g", member_id="m1", member_epoch=epoch, **fields)


def tasks(listed: Any) -> dict[str, list[int]] | None:
    return None if listed is None else {each.subtopology_id: each.partitions for each in listed}


def told(answer: Any) -> list[tuple[int, str]]:
    return [(status.status_code, status.status_detail) for status in answer.status]


def test_join_stay_and_leave(streams: WholeBroker) -> None:
    joined = join(streams)
    assert (joined.error_code, joined.member_id, joined.member_epoch, joined.heartbeat_interval_ms) == (0, "m1", 2, 5_000)
    assert (tasks(joined.active_tasks), tasks(joined.standby_tasks), tasks(joined.warmup_tasks)) == ({"0": [0, 1]}, {}, {})
    assert (joined.status, joined.partitions_by_user_endpoint) == ([], None)
    stayed = stay(streams, 2, active_tasks=[{"subtopology_id": "0", "partitions": [1, 0]}], standby_tasks=[], warmup_tasks=[])
    assert (stayed.error_code, stayed.member_epoch, stayed.active_tasks) == (0, 2, None)
    left = stay(streams, -1)
    assert (left.error_code, left.member_epoch, left.heartbeat_interval_ms, left.active_tasks) == (0, -1, 0, None)
    assert stay(streams, 2).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_everything_a_request_carries_is_kept(streams: WholeBroker) -> None:
    join(
        streams,
        rack_id="r",
        user_endpoint={"host": "h", "port": 50_000},
        client_tags=[{"key": "b", "value": "2"}, {"key": "a", "value": "1"}],
    )
    group = streams.context.groups.streams.find("g")
    assert group is not None
    member = group.members["m1"]
    assert (member.rack_id, member.process_id, member.client_id, member.client_host) == ("r", "p1", "client", "/10.0.0.1")
    assert member.user_endpoint == ("h", 50_000)
    assert member.client_tags == (("a", "1"), ("b", "2"))
    assert member.rebalance_timeout_ms == 30_000


def test_endpoints_are_answered(streams: WholeBroker) -> None:
    """Case T18."""
    (found,) = join(streams, user_endpoint={"host": "h", "port": 1}).partitions_by_user_endpoint
    assert (found.user_endpoint.host, found.user_endpoint.port) == ("h", 1)
    assert [(each.topic, each.partitions) for each in found.active_partitions] == [("t", [0, 1])]
    assert found.standby_partitions == []


@pytest.mark.parametrize(
    ("fields", "error", "text"),
    [
        ({"member_id": ""}, ErrorCode.INVALID_REQUEST, "MemberId can't be empty."),
        ({"task_offsets": []}, ErrorCode.INVALID_REQUEST, "TaskOffsets are not supported yet."),
        ({"task_end_offsets": []}, ErrorCode.INVALID_REQUEST, "TaskEndOffsets are not supported yet."),
        ({"member_epoch": 4, "topology": None}, ErrorCode.GROUP_ID_NOT_FOUND, "Streams group g not found."),
    ],
)
def test_refusals(streams: WholeBroker, fields: dict[str, Any], error: ErrorCode, text: str) -> None:
    """Case T03; statuses are an empty list even then, tasks are null."""
    answer = join(streams, **fields)
    assert (answer.error_code, answer.error_message, answer.member_id) == (error, text, "")
    assert (answer.status, answer.active_tasks) == ([], None)


def test_names_that_no_topic_of_a_topology_has(streams: WholeBroker) -> None:
    """Case T29."""
    answer = join(streams, part("0", "t", repartition_sink_topics=["__transaction_state"]))
    text = "Use of Kafka internal topics __transaction_state in a Kafka Streams topology is prohibited."
    assert (answer.error_code, answer.error_message) == (ErrorCode.STREAMS_INVALID_TOPOLOGY, text)
    answer = join(streams, part("0", "t", state_changelog_topics=[info("a/b")]))
    assert (answer.error_code, answer.error_message) == (
        ErrorCode.STREAMS_INVALID_TOPOLOGY,
        "Topic names a/b are not valid topic names.",
    )


def test_without_the_group_or_a_topic(streams: WholeBroker) -> None:
    """Case A03."""
    streams.deny(AclOperation.DESCRIBE, ResourceType.TOPIC, "gone")
    for topics in (part("0", "t", "gone"), part("0", "t", state_changelog_topics=[info("gone")])):
        assert join(streams, topics).error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    streams.deny(AclOperation.READ, ResourceType.GROUP, "g")
    assert join(streams).error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
    assert streams.context.groups.listing.list() == []


def test_internal_topics_are_made(streams: WholeBroker) -> None:
    """Case T07: partitions, settings; the answer says that they were missing."""
    answer = join(streams, part("0", "t", state_changelog_topics=[info("c", cleanup_policy="compact"), info("d")]))
    assert told(answer) == [(3, "Internal topics are missing: c, d")]
    made = streams.logs.topics.get("c")
    assert made is not None
    assert (made.partitions, made.configs) == (2, {"cleanup.policy": "compact"})
    assert tasks(stay(streams, 2).active_tasks) == {"0": [0, 1]}


def test_who_may_not_make_topics_is_told_so(streams: WholeBroker) -> None:
    """Case A03: a right on the cluster is enough, else each topic needs one."""
    changelogs = part("0", "t", state_changelog_topics=[info("c"), info("d")])
    streams.deny(AclOperation.CREATE, ResourceType.CLUSTER, CLUSTER_NAME)
    streams.deny(AclOperation.CREATE, ResourceType.TOPIC, "d")
    text = "Internal topics are missing: c, d; Unauthorized to CREATE on topics d."
    assert told(join(streams, changelogs)) == [(3, text)]
    assert streams.logs.topics.get("c") is None


def test_what_cannot_be_made_is_told(streams: WholeBroker) -> None:
    streams.logs.create_topic("c.x", 2)
    wrong = [info("c_x"), info("d", retention_ms="soon"), info("e")]
    ((code, text),) = told(join(streams, part("0", "t", state_changelog_topics=wrong)))
    assert code == 3
    assert text.startswith(
        "Internal topics are missing: c_x, d, e; Creation failed: c_x (Topic 'c_x' collides with existing topic: c.x), d ("
    )
    assert streams.logs.topics.get("e") is not None


def test_too_many_partitions_for_one_request(streams: WholeBroker) -> None:
    parts = part("1", repartition_source_topics=[info("r", 10_001)]), part("0", "t", repartition_sink_topics=["r"])
    ((_code, text),) = told(join(streams, *parts))
    assert text == "Internal topics are missing: r; Creation failed: r (Excessively large number of partitions per request.)."


def test_many_topics_are_made_in_turns(streams: WholeBroker) -> None:
    names = [f"c{n:03}" for n in range(TOPICS_A_TURN + 1)]
    answer = join(streams, part("0", "t", state_changelog_topics=[info(name) for name in names]))
    assert [code for code, _text in told(answer)] == [3]
    assert all(streams.logs.topics.get(name) is not None for name in names)


def test_the_protocol_can_be_switched_off(wholes: Callable[..., WholeBroker]) -> None:
    whole = wholes({"t": 1}, {"group.streams.enable": "false"})
    assert join(whole).error_code == ErrorCode.UNSUPPORTED_VERSION
