"""Classic groups on a real log: whom a moved clock ends."""

from __future__ import annotations

from oncelog.coordinator.groups.classic.requests import SyncGroup
from support.group_machine import Machine


def test_a_silent_classic_member_goes(machine: Machine) -> None:
    joined = machine.join()
    machine.groups.sync_group(SyncGroup("g", 1, joined.member_id, None, None, None, {}))
    machine.after(9_999)
    assert machine.groups.listing.describe("g").state == "Stable"
    machine.after(2)
    assert machine.groups.listing.describe("g").state == "Empty"


def test_a_member_that_never_syncs_goes(machine: Machine) -> None:
    machine.join()
    machine.after(5_001)
    assert machine.groups.listing.describe("g").state == "Empty"
