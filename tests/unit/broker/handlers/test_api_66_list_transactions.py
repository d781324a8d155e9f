"""ListTransactions: its filters, each alone and all together, and what is left out."""

from __future__ import annotations

from typing import Any

import pytest
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from support.txn_requests import Pair, begun, end, initialised
from support.whole_broker import WholeBroker

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def pairs(whole: WholeBroker) -> dict[str, Pair]:
    made = {"old": begun(whole, "old")}
    whole.advance(10_000)
    made |= {"new": begun(whole, "new", partition=1), "idle": initialised(whole, "idle"), "done": begun(whole, "done")}
    end(whole, made["done"], id="done")
    return made


def listed(whole: WholeBroker, version: int = 2, **filters: Any) -> Any:
    return whole.ask(ApiKey.LIST_TRANSACTIONS, version, **filters)


def names(whole: WholeBroker, **filters: Any) -> list[str]:
    answer = listed(whole, **filters)
    assert answer.error_code == ErrorCode.NONE
    return [each.transactional_id for each in answer.transaction_states]


@pytest.mark.parametrize("version", [0, 1, 2])
def test_all_of_them_in_order(whole: WholeBroker, pairs: dict[str, Pair], version: int) -> None:
    told = [(each.transactional_id, each.producer_id, each.transaction_state) for each in listed(whole, version).transaction_states]
    states = {"done": "CompleteCommit", "idle": "Empty", "new": "Ongoing", "old": "Ongoing"}
    assert told == [(name, pairs[name].producer_id, state) for name, state in states.items()]


def test_by_state(whole: WholeBroker) -> None:
    assert names(whole, state_filters=["Ongoing", "Empty"]) == ["idle", "new", "old"]
    answer = listed(whole, state_filters=["Empty", "ongoing", "NoSuchState"])
    assert [each.transactional_id for each in answer.transaction_states] == ["idle"]
    assert answer.unknown_state_filters == ["ongoing", "NoSuchState"]
    assert names(whole, state_filters=["NoSuchState"]) == []


def test_by_producer_duration_and_pattern(whole: WholeBroker, pairs: dict[str, Pair]) -> None:
    assert names(whole, producer_id_filters=[pairs["new"].producer_id, 5]) == ["new"]
    # one that is idle has no start, and so passes any duration
    assert names(whole, duration_filter=9_999, state_filters=["Ongoing"]) == ["old"]
    assert names(whole, duration_filter=10_001, state_filters=["Ongoing"]) == []
    assert "idle" in names(whole, duration_filter=10_001)
    assert names(whole, transactional_id_pattern=".*e.*") == ["done", "idle", "new"]
    assert names(whole, transactional_id_pattern="ol") == []  # it has to match the whole id
    assert names(whole, transactional_id_pattern="") == ["done", "idle", "new", "old"]


def test_all_filters_must_agree(whole: WholeBroker, pairs: dict[str, Pair]) -> None:
    both = [pairs["new"].producer_id, pairs["old"].producer_id]
    assert names(whole, state_filters=["Ongoing"], producer_id_filters=both, transactional_id_pattern="n.*") == ["new"]


@pytest.mark.parametrize("pattern", ["(", "*", "[a"])
def test_a_pattern_that_is_none(whole: WholeBroker, pattern: str) -> None:
    answer = listed(whole, transactional_id_pattern=pattern)
    assert (answer.error_code, answer.transaction_states) == (ErrorCode.INVALID_REGULAR_EXPRESSION, [])


def test_who_may_not_describe_an_id_is_not_told_of_it(whole: WholeBroker) -> None:
    whole.deny(AclOperation.DESCRIBE, ResourceType.TRANSACTIONAL_ID, "new")
    assert names(whole) == ["done", "idle", "old"]
