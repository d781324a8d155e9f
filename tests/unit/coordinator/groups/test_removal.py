"""Groups and offsets that go: on request, and after their retention."""

from __future__ import annotations

from oncelog.coordinator.groups.classic.requests import LeavingMember
from oncelog.protocol.errors import ErrorCode as E
from support.group_machine import Machine


def test_a_group_is_not_deleted_while_it_has_members(machine: Machine) -> None:
    machine.beat("m1", 0)
    assert machine.groups.removal.delete_groups(["g", "none"]) == {"g": E.NON_EMPTY_GROUP, "none": E.GROUP_ID_NOT_FOUND}
    assert machine.groups.leave_group("g", [LeavingMember("m1"), LeavingMember("zz")]) == (E.NONE, [E.NONE, E.UNKNOWN_MEMBER_ID])
    assert machine.groups.removal.delete_groups(["g"]) == {"g": E.NONE}
    machine.restart()
    assert machine.groups.listing.list() == []


def test_offsets_go_after_their_retention_and_the_group_with_them() -> None:
    machine = Machine(offsets_retention_minutes=1, offsets_retention_check_interval_ms=1_000)
    machine.commit(5)
    machine.after(59_000)
    assert machine.committed().offset == 5
    machine.after(2_000)
    assert machine.committed().offset == -1
    assert machine.groups.listing.list() == []
