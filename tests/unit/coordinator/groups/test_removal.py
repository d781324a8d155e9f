"""Groups and offsets that go: on request, and after their retention."""

from __future__ import annotations

import itertools

import pytest
from oncelog.coordinator.deferred import Deferred
from oncelog.coordinator.groups import removal
from oncelog.coordinator.groups.classic.requests import LeavingMember
from oncelog.protocol.errors import ErrorCode as E
from oncelog.protocol.names import TopicPartition
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


def many(machine: Machine, count: int) -> None:
    for number in range(count):
        assert machine.commit(number, place=TopicPartition("t", number)) is E.NONE


@pytest.mark.parametrize("ends", ["deleted", "expired", "topic deleted"])
def test_very_many_offsets_go_in_several_turns(ends: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No turn takes more than its share, all are gone in the end, and a deletion is answered then."""
    monkeypatch.setattr(removal, "SWEPT_A_TURN", 10)
    machine = Machine(offsets_retention_minutes=1, offsets_retention_check_interval_ms=1_000)
    many(machine, 45)
    shard = machine.groups.runtime.shard_of("g")

    def left() -> int:
        return len(shard.offsets.places_of("g"))

    answer = None
    if ends == "deleted":
        answer = machine.groups.removal.delete_groups(["g"])["g"]
    elif ends == "expired":
        machine.after(61_000)
    else:
        machine.groups.removal.on_topic_deleted("t")
    seen = [45, left()]
    while seen[-1] and len(seen) < 20:
        machine.after(1)
        seen.append(left())
    assert seen[-1] == 0
    assert all(0 <= before - after <= 10 for before, after in itertools.pairwise(seen))
    assert len(seen) >= 6
    if answer is not None:
        assert isinstance(answer, Deferred)
        assert answer.result() is E.NONE


def test_what_is_committed_to_a_new_topic_of_the_name_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(removal, "SWEPT_A_TURN", 10)
    machine = Machine()
    many(machine, 25)
    machine.groups.removal.on_topic_deleted("t")
    machine.commit(77, place=TopicPartition("t", 24))
    for _ in range(5):
        machine.after(1)
    places = machine.groups.runtime.shard_of("g").offsets.of("g")
    assert {place.partition: offset.offset for place, offset in places.items()} == {24: 77}
