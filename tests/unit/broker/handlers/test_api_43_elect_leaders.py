"""ElectLeaders: who leads is known; only what is not there, or may not be asked, is different."""

from __future__ import annotations

from typing import Any

import pytest
from oncelog.broker.auth.acls import AclOperation
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from support.whole_broker import CLUSTER, WholeBroker

pytestmark = pytest.mark.unit
NEEDLESS = "Leader election not needed for topic partition."


def elect(whole: WholeBroker, topics: list[tuple[str, list[int]]] | None, version: int = 2, election_type: int = 0) -> Any:
    asked = None if topics is None else [{"topic": name, "partitions": numbers} for name, numbers in topics]
    fields = {"topic_partitions": asked, "timeout_ms": 1} | ({"election_type": election_type} if version >= 1 else {})
    return whole.ask(ApiKey.ELECT_LEADERS, version, **fields)


def told(answer: Any) -> dict[str, list[tuple[int, int, str]]]:
    return {
        each.topic: [(p.partition_id, p.error_code, p.error_message) for p in each.partition_result]
        for each in answer.replica_election_results
    }


@pytest.mark.parametrize("version", [0, 1, 2])
def test_no_election_is_needed(whole: WholeBroker, version: int) -> None:
    answer = elect(whole, [("t", [1, 0])], version)
    assert answer.error_code == ErrorCode.NONE
    assert told(answer) == {"t": [(1, ErrorCode.ELECTION_NOT_NEEDED, NEEDLESS), (0, ErrorCode.ELECTION_NOT_NEEDED, NEEDLESS)]}


def test_what_is_not_there(whole: WholeBroker) -> None:
    assert told(elect(whole, [("t", [2]), ("gone", [0])])) == {
        "t": [(2, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "No such partition as t-2")],
        "gone": [(0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "No such topic as gone")],
    }


def test_asked_for_all_it_lists_what_changed(whole: WholeBroker) -> None:
    assert told(elect(whole, None)) == {"t": []}
    assert told(elect(whole, [])) == {}


@pytest.mark.parametrize(("election_type", "known"), [(0, True), (1, True), (2, False), (-1, False)])
def test_election_types(whole: WholeBroker, election_type: int, known: bool) -> None:
    answer = elect(whole, [("t", [0])], election_type=election_type)
    unknown = f"Unknown election type {election_type}"
    assert answer.error_code == (ErrorCode.NONE if known else ErrorCode.INVALID_REQUEST)
    assert told(answer) == {"t": [(0, 84, NEEDLESS) if known else (0, 42, unknown)]}
    assert elect(whole, [], election_type=election_type).error_code == ErrorCode.NONE  # nobody to elect, no type to know


def test_without_the_cluster(whole: WholeBroker) -> None:
    whole.deny(AclOperation.ALTER, *CLUSTER)
    answer = elect(whole, [("t", [0]), ("gone", [3])])
    assert answer.error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    text = "Cluster authorization failed."
    assert told(answer) == {"t": [(0, 31, text)], "gone": [(3, 31, text)]}
    assert elect(whole, None).replica_election_results == []
