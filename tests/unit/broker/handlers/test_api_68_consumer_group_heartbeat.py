"""ConsumerGroupHeartbeat: join, stay, leave; what the request carries in each version, and who may."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from support.whole_broker import WholeBroker

pytestmark = pytest.mark.unit
JOIN = {
    "group_id": "g",
    "member_id": "m1",
    "member_epoch": 0,
    "rebalance_timeout_ms": 30_000,
    "subscribed_topic_names": ["t"],
    "topic_partitions": [],
}


def beat(whole: WholeBroker, version: int = 1, **fields: Any) -> Any:
    return whole.ask(ApiKey.CONSUMER_GROUP_HEARTBEAT, version, **fields)


def assigned(answer: Any) -> dict[uuid.UUID, list[int]] | None:
    if answer.assignment is None:
        return None
    return {each.topic_id: each.partitions for each in answer.assignment.topic_partitions}


@pytest.mark.parametrize("version", [0, 1])
def test_join_stay_and_leave(whole: WholeBroker, version: int) -> None:
    joined = beat(whole, version, **JOIN)
    assert (joined.error_code, joined.member_id, joined.heartbeat_interval_ms) == (ErrorCode.NONE, "m1", 5_000)
    assert assigned(joined) == {whole.topic_id("t"): [0, 1]}
    stay = {"group_id": "g", "member_id": "m1", "member_epoch": joined.member_epoch}
    stayed = beat(whole, version, **stay)
    assert (stayed.error_code, stayed.member_epoch, assigned(stayed)) == (ErrorCode.NONE, joined.member_epoch, None)
    left = beat(whole, version, **{**stay, "member_epoch": -1})
    assert (left.error_code, left.member_epoch) == (ErrorCode.NONE, -1)
    assert beat(whole, version, **stay).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_version_0_gives_the_member_its_id(whole: WholeBroker) -> None:
    nameless = {**JOIN, "member_id": ""}
    given = beat(whole, 0, **nameless)
    assert given.error_code == ErrorCode.NONE
    assert given.member_id
    refused = beat(whole, 1, **nameless)
    assert (refused.error_code, refused.error_message) == (ErrorCode.INVALID_REQUEST, "MemberId can't be empty.")


def test_what_a_member_owns_is_given_up_before_others_get_it(whole: WholeBroker) -> None:
    first = beat(whole, **JOIN)
    second = beat(whole, **{**JOIN, "member_id": "m2"})
    assert assigned(second) == {}
    whole.advance(1_000)  # a group gets no new target sooner
    topic = whole.topic_id("t")
    stay = {"group_id": "g", "member_id": "m1", "member_epoch": first.member_epoch}
    kept = assigned(beat(whole, **stay, topic_partitions=[{"topic_id": topic, "partitions": [0, 1]}]))
    assert kept is not None
    assert [len(numbers) for numbers in kept.values()] == [1]
    waits = beat(whole, group_id="g", member_id="m2", member_epoch=second.member_epoch)
    assert not assigned(waits)
    done = beat(whole, **stay, topic_partitions=[{"topic_id": topic, "partitions": kept[topic]}])
    assert done.member_epoch > first.member_epoch
    after = assigned(beat(whole, group_id="g", member_id="m2", member_epoch=waits.member_epoch))
    assert after == {topic: [1 - kept[topic][0]]}


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"group_id": ""}, ErrorCode.INVALID_REQUEST),
        ({"member_epoch": -3}, ErrorCode.INVALID_REQUEST),
        ({"member_epoch": -2}, ErrorCode.INVALID_REQUEST),  # only static members go for a while
        ({"rebalance_timeout_ms": -1}, ErrorCode.INVALID_REQUEST),
        ({"subscribed_topic_names": None}, ErrorCode.INVALID_REQUEST),
        ({"topic_partitions": None}, ErrorCode.INVALID_REQUEST),
        ({"topic_partitions": [{"topic_id": uuid.UUID(int=1), "partitions": [0]}]}, ErrorCode.INVALID_REQUEST),
        ({"server_assignor": "sticky"}, ErrorCode.UNSUPPORTED_ASSIGNOR),
        ({"member_epoch": 5}, ErrorCode.GROUP_ID_NOT_FOUND),
        ({"subscribed_topic_names": None, "subscribed_topic_regex": "("}, ErrorCode.INVALID_REGULAR_EXPRESSION),
        ({"subscribed_topic_names": []}, ErrorCode.NONE),
    ],
    ids=str,
)
def test_refusals(whole: WholeBroker, fields: dict[str, Any], error: ErrorCode) -> None:
    answer = beat(whole, **{**JOIN, **fields})
    assert (answer.error_code, bool(answer.error_message)) == (error, error is not ErrorCode.NONE)


def test_a_regular_expression_finds_the_topics_that_may_be_seen(whole: WholeBroker) -> None:
    whole.logs.create_topic("tx", 1)
    whole.logs.create_topic("ty", 1)
    whole.deny(AclOperation.DESCRIBE, ResourceType.TOPIC, "ty")
    joined = beat(whole, **{**JOIN, "subscribed_topic_names": None, "subscribed_topic_regex": "t.*"})
    assert joined.error_code == ErrorCode.NONE
    whole.advance(1_000)
    found = assigned(joined) or assigned(beat(whole, group_id="g", member_id="m1", member_epoch=joined.member_epoch))
    assert found == {whole.topic_id("t"): [0, 1], whole.topic_id("tx"): [0]}


def test_without_the_group_or_a_topic(whole: WholeBroker) -> None:
    whole.deny(AclOperation.DESCRIBE, ResourceType.TOPIC, "gone")
    answer = beat(whole, **{**JOIN, "subscribed_topic_names": ["t", "gone"]})
    assert answer.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    whole.deny(AclOperation.READ, ResourceType.GROUP, "g")
    assert beat(whole, **JOIN).error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
    assert whole.context.groups.listing.list() == []


def test_the_protocol_can_be_switched_off(wholes: Callable[..., WholeBroker]) -> None:
    whole = wholes({"t": 1}, {"group.consumer.enable": "false"})
    assert beat(whole, **JOIN).error_code == ErrorCode.UNSUPPORTED_VERSION


def test_a_static_member_comes_back_to_its_partitions(whole: WholeBroker) -> None:
    static = {**JOIN, "instance_id": "i"}
    joined = beat(whole, **static)
    away = beat(whole, group_id="g", member_id="m1", instance_id="i", member_epoch=-2)
    assert (away.error_code, away.member_epoch) == (ErrorCode.NONE, -2)
    returned = beat(whole, **{**static, "member_id": "m2"})
    assert (returned.error_code, assigned(returned)) == (ErrorCode.NONE, assigned(joined))
