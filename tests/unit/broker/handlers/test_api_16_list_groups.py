"""ListGroups: groups of both kinds, its two filters, and what may be seen."""

from __future__ import annotations

import pytest
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from support.group_requests import commit, consumer_member, joined, stable
from support.whole_broker import CLUSTER, WholeBroker

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def groups(whole: WholeBroker) -> None:
    stable(whole, "classic")
    joined(whole, "joining")
    commit(whole, "offsets", 1)
    consumer_member(whole, "consumer")


def listed(whole: WholeBroker, version: int = 5, **filters: list[str]) -> dict[str, tuple[str, str, str]]:
    answer = whole.ask(ApiKey.LIST_GROUPS, version, **filters)
    assert answer.error_code == ErrorCode.NONE
    return {group.group_id: (group.protocol_type, group.group_state, group.group_type) for group in answer.groups}


def test_groups_of_both_kinds_with_their_states(whole: WholeBroker) -> None:
    assert listed(whole) == {
        "classic": ("consumer", "Stable", "classic"),
        "joining": ("consumer", "CompletingRebalance", "classic"),
        "offsets": ("", "Empty", "classic"),
        "consumer": ("consumer", "Stable", "consumer"),
    }


@pytest.mark.parametrize(("version", "told"), [(0, ("consumer", "", "")), (3, ("consumer", "", "")), (4, ("consumer", "Stable", ""))])
def test_what_versions_tell(whole: WholeBroker, version: int, told: tuple[str, str, str]) -> None:
    assert listed(whole, version)["classic"] == told


@pytest.mark.parametrize(
    ("filters", "left"),
    [
        ({"states_filter": ["stable"]}, {"classic", "consumer"}),
        ({"states_filter": ["EMPTY", "CompletingRebalance"]}, {"offsets", "joining"}),
        ({"states_filter": ["NoSuchState"]}, set()),
        ({"types_filter": ["Consumer"]}, {"consumer"}),
        ({"types_filter": ["classic"], "states_filter": ["Stable"]}, {"classic"}),
        ({"types_filter": ["share"]}, set()),
    ],
    ids=str,
)
def test_filters_ignore_case(whole: WholeBroker, filters: dict[str, list[str]], left: set[str]) -> None:
    assert listed(whole, **filters).keys() == left


def test_without_the_cluster_the_groups_that_may_be_described(whole: WholeBroker) -> None:
    whole.deny(AclOperation.DESCRIBE, ResourceType.GROUP, "classic")
    assert len(listed(whole)) == 4  # who may describe the cluster sees all
    whole.deny(AclOperation.DESCRIBE, *CLUSTER)
    assert listed(whole).keys() == {"joining", "offsets", "consumer"}
