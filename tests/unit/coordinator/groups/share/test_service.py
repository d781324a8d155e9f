"""Share groups at work."""

from __future__ import annotations

from oncelog.coordinator.groups.group_type import Committer
from oncelog.protocol.errors import ErrorCode as E
from support.group_machine import Machine


def test_a_group_that_is_not_there(machine: Machine) -> None:
    share = machine.groups.share
    assert share.find("g") is None
    assert share.tombstones("g") == ()
    assert share.before_deletion("g") is E.NONE
    assert share.validate_commit("g", Committer("m", 1, None, False, 9)) is E.GROUP_ID_NOT_FOUND
