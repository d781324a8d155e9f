"""CreatePartitions: topics grow, and never shrink."""

from __future__ import annotations

from typing import Any

import pytest
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from support.whole_broker import WholeBroker

pytestmark = pytest.mark.unit


def topic(name: str, count: int, assignments: list[list[int]] | None = None) -> dict[str, Any]:
    placed = None if assignments is None else [{"broker_ids": brokers} for brokers in assignments]
    return {"name": name, "count": count, "assignments": placed}


def grow(whole: WholeBroker, *topics: dict[str, Any], version: int = 3, validate_only: bool = False) -> dict[str, tuple[int, str | None]]:
    answer = whole.ask(ApiKey.CREATE_PARTITIONS, version, topics=list(topics), timeout_ms=1000, validate_only=validate_only)
    return {each.name: (each.error_code, each.error_message) for each in answer.results}


def partitions(whole: WholeBroker, name: str = "t") -> int:
    found = whole.logs.topics.get(name)
    assert found is not None
    return found.partitions


@pytest.mark.parametrize("version", range(4))
def test_it_grows_and_its_new_partitions_are_there(whole: WholeBroker, version: int) -> None:
    assert grow(whole, topic("t", 5), version=version) == {"t": (ErrorCode.NONE, None)}
    assert partitions(whole) == 5
    assert whole.log("t", 4).log_end_offset == 0


@pytest.mark.parametrize(
    ("count", "why"),
    [
        (2, "Topic already has 2 partition(s)."),
        (1, "The topic t currently has 2 partition(s); 1 would not be an increase."),
        (0, "The topic t currently has 2 partition(s); 0 would not be an increase."),
        (-1, "The topic t currently has 2 partition(s); -1 would not be an increase."),
    ],
)
def test_it_does_not_shrink(whole: WholeBroker, count: int, why: str) -> None:
    assert grow(whole, topic("t", count)) == {"t": (ErrorCode.INVALID_PARTITIONS, why)}
    assert partitions(whole) == 2


@pytest.mark.parametrize(
    ("assignments", "error"),
    [
        ([[1], [1]], ErrorCode.NONE),
        ([[1]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([[1], [1], [1]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([[1], []], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([[1], [2]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([[1], [1, 1]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
    ids=str,
)
def test_assignments_name_this_broker_for_each_new_one(whole: WholeBroker, assignments: list[list[int]], error: ErrorCode) -> None:
    assert whole.context.node_id == 1
    assert grow(whole, topic("t", 4, assignments))["t"][0] == error
    assert partitions(whole) == (4 if error is ErrorCode.NONE else 2)


def test_the_most_that_one_request_makes(whole: WholeBroker) -> None:
    assert grow(whole, topic("t", 10_003))["t"][0] == ErrorCode.POLICY_VIOLATION
    assert grow(whole, topic("t", 10_002), validate_only=True)["t"][0] == ErrorCode.NONE
    assert partitions(whole) == 2


def test_each_topic_for_itself_and_none_twice(whole: WholeBroker) -> None:
    whole.logs.create_topic("u", 1)
    told = grow(whole, topic("u", 2), topic("t", 3), topic("gone", 2), topic("t", 4))
    assert told == {
        "u": (ErrorCode.NONE, None),
        "gone": (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, told["gone"][1]),
        "t": (ErrorCode.INVALID_REQUEST, "Duplicate topic name."),
    }
    assert (partitions(whole), partitions(whole, "u")) == (2, 2)
    assert grow(whole) == {}


def test_without_the_topic(whole: WholeBroker) -> None:
    whole.deny(AclOperation.ALTER, ResourceType.TOPIC, "t")
    whole.deny(AclOperation.ALTER, ResourceType.TOPIC, "gone")  # whether it exists is not told
    assert [code for code, _ in grow(whole, topic("t", 3), topic("gone", 3)).values()] == [ErrorCode.TOPIC_AUTHORIZATION_FAILED] * 2
    assert partitions(whole) == 2


def test_a_disk_that_refuses(whole: WholeBroker) -> None:
    whole.fs.fail(1, only=("pwrite", "create", "datasync", "rename"))
    assert grow(whole, topic("t", 3))["t"][0] == ErrorCode.KAFKA_STORAGE_ERROR
    assert partitions(whole) == 2
