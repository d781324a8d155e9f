"""DescribeGroups: classic groups in each state, groups that are not there, and what is kept from whom."""

from __future__ import annotations

from typing import Any

import pytest
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from support.group_requests import SUBSCRIPTION, commit, consumer_member, joined, stable
from support.whole_broker import WholeBroker

pytestmark = pytest.mark.unit
NOT_REQUESTED = -(2**31)


def describe(whole: WholeBroker, version: int, *groups: str, **fields: Any) -> Any:
    return whole.ask(ApiKey.DESCRIBE_GROUPS, version, groups=list(groups), **fields).groups


@pytest.mark.parametrize("version", [0, 4, 6])
def test_a_stable_group_and_its_member(whole: WholeBroker, version: int) -> None:
    member = stable(whole, instance="i")
    (group,) = describe(whole, version, "g")
    assert (group.group_state, group.protocol_type, group.protocol_data) == ("Stable", "consumer", "range")
    (told,) = group.members
    assert (told.member_id, told.client_id, told.client_host) == (member.id, "client", "/10.0.0.1")
    assert (told.member_metadata, told.member_assignment) == (SUBSCRIPTION, b"mine")
    assert told.group_instance_id == ("i" if version >= 4 else None)


def test_until_it_is_agreed_no_protocol_is_told(whole: WholeBroker) -> None:
    joined(whole)
    (group,) = describe(whole, 5, "g")
    assert (group.group_state, group.protocol_data) == ("CompletingRebalance", "")
    assert [(member.member_metadata, member.member_assignment) for member in group.members] == [(b"", b"")]


def test_a_group_of_offsets_alone_is_empty(whole: WholeBroker) -> None:
    commit(whole, "g", 1)
    (group,) = describe(whole, 5, "g")
    assert (group.error_code, group.group_state, group.members) == (ErrorCode.NONE, "Empty", [])


@pytest.mark.parametrize(("version", "error"), [(0, ErrorCode.NONE), (5, ErrorCode.NONE), (6, ErrorCode.GROUP_ID_NOT_FOUND)])
def test_a_group_that_is_not_there_or_not_classic(whole: WholeBroker, version: int, error: ErrorCode) -> None:
    consumer_member(whole, "c")
    groups = describe(whole, version, "none", "c")
    assert [(group.group_id, group.error_code, group.group_state) for group in groups] == [("none", error, "Dead"), ("c", error, "Dead")]
    if error:
        assert [group.error_message for group in groups] == ["Group none not found.", "Group c is not a classic group."]


def test_without_the_group_nothing_is_told_of_it(whole: WholeBroker) -> None:
    stable(whole)
    whole.deny(AclOperation.DESCRIBE, ResourceType.GROUP, "g")
    refused, other = describe(whole, 5, "g", "h", include_authorized_operations=True)
    assert (refused.error_code, refused.group_state, refused.members) == (ErrorCode.GROUP_AUTHORIZATION_FAILED, "", [])
    assert refused.authorized_operations == NOT_REQUESTED
    assert other.error_code == ErrorCode.NONE


def test_operations_are_told_to_whom_asks(whole: WholeBroker) -> None:
    stable(whole)
    whole.deny(AclOperation.DELETE, ResourceType.GROUP, "g")
    asked, unknown = describe(whole, 6, "g", "none", include_authorized_operations=True)
    read, describes, describe_configs, alter_configs = 1 << 3, 1 << 8, 1 << 10, 1 << 11
    assert asked.authorized_operations == read + describes + describe_configs + alter_configs
    assert unknown.authorized_operations == NOT_REQUESTED  # of an error nothing more is told
    (silent,) = describe(whole, 3, "g", include_authorized_operations=False)
    assert silent.authorized_operations == NOT_REQUESTED


def test_nobody_asked_for(whole: WholeBroker) -> None:
    assert describe(whole, 5) == []
