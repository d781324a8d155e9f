"""DeleteGroups: groups without members go, with their offsets."""

from __future__ import annotations

import pytest
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import TopicPartition
from support.group_requests import commit, consumer_member, joining, stable
from support.whole_broker import WholeBroker

pytestmark = pytest.mark.unit


def delete(whole: WholeBroker, *groups: str, version: int = 2) -> list[tuple[str, int]]:
    answer = whole.ask(ApiKey.DELETE_GROUPS, version, groups_names=list(groups))
    return [(each.group_id, each.error_code) for each in answer.results]


def offset(whole: WholeBroker, group: str) -> int:
    place = TopicPartition("t", 0)
    found = whole.context.groups.offsets.fetch(group, [place], require_stable=False)
    assert isinstance(found, dict)
    return found[place].offset


@pytest.mark.parametrize("version", [0, 1, 2])
def test_offsets_go_with_their_group(whole: WholeBroker, version: int) -> None:
    commit(whole, "g", 7)
    assert delete(whole, "g", version=version) == [("g", ErrorCode.NONE)]
    assert offset(whole, "g") == -1
    assert delete(whole, "g", version=version) == [("g", ErrorCode.GROUP_ID_NOT_FOUND)]


def test_each_group_has_its_verdict_once(whole: WholeBroker) -> None:
    stable(whole, "classic")
    consumer_member(whole, "consumer")
    commit(whole, "offsets", 1)
    told = delete(whole, "classic", "unknown", "offsets", "consumer", "unknown", "")
    assert told == [("classic", 68), ("unknown", 69), ("offsets", 0), ("consumer", 68), ("", 69)]
    assert delete(whole) == []


def test_a_group_that_everybody_left(whole: WholeBroker) -> None:
    member = stable(whole)
    whole.ask(ApiKey.LEAVE_GROUP, 2, group_id="g", member_id=member.id)
    assert delete(whole, "g") == [("g", ErrorCode.NONE)]
    assert joining(whole, member=member.id).answer().error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_without_the_group(whole: WholeBroker) -> None:
    commit(whole, "mine", 1)
    commit(whole, "theirs", 2)
    whole.deny(AclOperation.DELETE, ResourceType.GROUP, "theirs")
    assert delete(whole, "theirs", "mine") == [("theirs", ErrorCode.GROUP_AUTHORIZATION_FAILED), ("mine", ErrorCode.NONE)]
    assert (offset(whole, "theirs"), offset(whole, "mine")) == (2, -1)
