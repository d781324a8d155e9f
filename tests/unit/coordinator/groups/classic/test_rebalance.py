"""Whom a rebalance waits for."""

from __future__ import annotations

from dataclasses import replace

import pytest
from oncelog.coordinator.groups.classic.join import join
from oncelog.coordinator.groups.classic.rebalance import expire
from oncelog.coordinator.groups.classic.state import ClassicGroup
from oncelog.coordinator.groups.config import GroupConfig
from oncelog.protocol.errors import ErrorCode
from support.classic_group import CONFIG, FOLLOWER, LEADER, NOW_MS, PATIENT, STATIC, S, group_in, request


def hand_out(group: ClassicGroup, member_id: str, config: GroupConfig) -> None:
    """A member id for somebody who will never be heard of again."""
    result = join(group, replace(request("", new=member_id), requires_known_member_id=True), config, NOW_MS)
    assert result is not None
    assert result.error is ErrorCode.MEMBER_ID_REQUIRED


@pytest.mark.parametrize("config", [CONFIG, PATIENT])
def test_the_first_rebalance_does_not_wait_for_unused_member_ids(config: GroupConfig) -> None:
    group = ClassicGroup("g")
    hand_out(group, "silent", config)
    assert join(group, request(""), config, NOW_MS) is None
    expire(group, NOW_MS + config.group_initial_rebalance_delay_ms)
    (told,) = group.take()
    assert (told.member_id, told.result.error) == ("newcomer", ErrorCode.NONE)


def test_later_rebalances_wait_for_unused_member_ids_as_long_as_their_session() -> None:
    group = group_in(S.STABLE)
    hand_out(group, "silent", CONFIG)
    for member_id, instance in ((LEADER, None), (FOLLOWER, None), (STATIC, "i")):
        assert join(group, request(member_id, instance=instance, metadata=b"2"), CONFIG, NOW_MS) is None
    assert not group.take()
    expire(group, NOW_MS + 10_000)
    assert [told.result.error for told in group.take()] == [ErrorCode.NONE] * 3
