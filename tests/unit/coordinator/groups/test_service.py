"""Groups that change from one protocol to the other, with their offsets."""

from __future__ import annotations

from oncelog.coordinator.groups.classic.requests import Heartbeat, SyncGroup
from oncelog.coordinator.groups.classic.state import JoinGroupResult
from oncelog.protocol.errors import ErrorCode as E
from support.group_machine import Machine


def test_an_empty_consumer_group_becomes_classic_and_keeps_its_offsets(machine: Machine) -> None:
    machine.beat("m1", 0)
    machine.commit(5, "m1", 2)
    machine.beat("m1", -1)
    joined = machine.join()
    assert isinstance(joined, JoinGroupResult)
    assert (joined.error, joined.generation_id) == (E.NONE, 1)
    assert machine.committed().offset == 5
    assert [group.kind for group in machine.groups.listing.list()] == ["classic"]
    machine.restart()
    assert machine.committed().offset == 5
    assert machine.groups.listing.describe("g").state == "Empty"


def test_up_and_down_again(machine: Machine) -> None:
    joined = machine.join()
    given = bytes.fromhex("0001000000010001") + b"a" + bytes.fromhex("000000020000000000000001ffffffff")
    machine.groups.sync_group(SyncGroup("g", joined.generation_id, joined.member_id, None, "consumer", "range", {joined.member_id: given}))
    answer = machine.beat("m1", 0)
    assert (answer.error, answer.assignment) == (E.NONE, {})  # the classic member has both
    assert [group.kind for group in machine.groups.listing.list()] == ["consumer"]
    assert machine.groups.heartbeat(Heartbeat("g", joined.generation_id, joined.member_id)) is E.REBALANCE_IN_PROGRESS
    again = machine.join(joined.member_id)
    assert (again.error, again.leader) == (E.NONE, "")
    synced = machine.groups.sync_group(SyncGroup("g", again.generation_id, joined.member_id, None, "consumer", "range"))
    assert synced.error is E.NONE
    assert synced.assignment[:2] == b"\x00\x01"
    assert machine.beat("m1", answer.member_epoch, owned={}).assignment
    machine.beat("m1", -1)
    assert [group.kind for group in machine.groups.listing.list()] == ["classic"]
    assert machine.groups.heartbeat(Heartbeat("g", 3, joined.member_id)) is E.REBALANCE_IN_PROGRESS
    machine.restart()
    assert [group.kind for group in machine.groups.listing.list()] == ["classic"]
