"""What members send between joins."""

from __future__ import annotations

from oncelog.coordinator.groups.classic.requests import LeavingMember, leave
from oncelog.protocol.errors import ErrorCode
from support.classic_group import NOW_MS, S, group_in


def test_giving_back_an_unused_member_id_disturbs_nobody() -> None:
    group = group_in(S.STABLE)
    group.pending_members["unused"] = 9_000.0
    assert leave(group, [LeavingMember("unused")], NOW_MS) == [ErrorCode.NONE]
    assert group.state is S.STABLE
    assert not group.pending_members
