"""Classic groups on a real log: whom a moved clock ends."""

from __future__ import annotations

from typing import Any

import pytest
from oncelog.coordinator.deferred import Deferred
from oncelog.coordinator.groups.classic import service
from oncelog.coordinator.groups.classic.requests import SyncGroup
from oncelog.protocol.errors import ErrorCode as E
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


def test_a_large_group_is_answered_in_several_turns(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Joins and syncs that end together, a few a turn, each with its own answer."""
    monkeypatch.setattr(service, "ANSWERS_A_TURN", 2)
    leader = machine.join(new="m0").member_id
    joins = [machine.join(new=f"m{number}") for number in range(1, 5)] + [machine.join(leader)]

    def value(reply: Any) -> Any:
        return reply.result() if isinstance(reply, Deferred) else reply

    def answered(replies: list[Any]) -> list[int]:
        seen = []
        for _turn in range(4):
            seen.append(sum(not isinstance(reply, Deferred) or reply.done for reply in replies))
            machine.after(0)
        return seen

    assert answered(joins) == [2, 4, 5, 5]
    members = {value(reply).member_id for reply in joins}
    assert members == {f"m{number}" for number in range(5)}
    shares = {member: member.encode() for member in members}
    followers = sorted(members - {leader})
    syncs = [machine.groups.sync_group(SyncGroup("g", 2, member, None, None, None, {})) for member in followers]
    syncs.append(machine.groups.sync_group(SyncGroup("g", 2, leader, None, None, None, shares)))
    assert answered(syncs) == [2, 4, 5, 5]
    assert [value(reply).assignment for reply in syncs] == [shares[member] for member in (*followers, leader)]
    assert {value(reply).error for reply in syncs} == {E.NONE}
