"""What administrators are told of groups, of either protocol and of none."""

from __future__ import annotations

import pytest
from oncelog.coordinator.groups.classic.requests import SyncGroup
from oncelog.coordinator.groups.listing import DescribedGroup, DescribedMember, ListedGroup
from oncelog.coordinator.groups.offsets.state import OffsetToCommit
from oncelog.protocol.errors import ErrorCode as E
from oncelog.protocol.errors import KafkaError
from support.group_machine import PLACE, SUBSCRIPTION, Machine


def test_a_group_that_is_not_there_is_dead(machine: Machine) -> None:
    described = machine.groups.listing.describe("g")
    assert described == DescribedGroup("g", E.GROUP_ID_NOT_FOUND, "Dead", why="Group g not found.")


def test_a_consumer_group_is_no_classic_one(machine: Machine) -> None:
    machine.beat("m1", 0)
    assert machine.groups.listing.describe("g").why == "Group g is not a classic group."
    assert machine.groups.listing.list() == [ListedGroup("g", "consumer", "Stable", "consumer")]


def test_a_group_that_only_has_offsets(machine: Machine) -> None:
    machine.commit(5)
    assert machine.groups.listing.describe("g") == DescribedGroup("g", E.NONE, "Empty")
    assert machine.groups.listing.list() == [ListedGroup("g", "", "Empty", "classic")]


def test_offsets_without_their_group(machine: Machine) -> None:
    machine.commit(5)
    machine.groups.runtime.shard_of("g").groups.clear()
    assert machine.groups.listing.describe("g") == DescribedGroup("g", E.NONE, "Empty")
    assert machine.groups.listing.list() == [ListedGroup("g", "", "Empty", "classic")]


def test_members_are_described_with_what_was_agreed_only(machine: Machine) -> None:
    joined = machine.join()
    during = machine.groups.listing.describe("g")
    assert (during.state, during.protocol_type, during.protocol_name) == ("CompletingRebalance", "consumer", "")
    assert during.members == (DescribedMember(joined.member_id, None, "client", "/h", b"", b""),)
    machine.groups.sync_group(
        SyncGroup("g", joined.generation_id, joined.member_id, None, "consumer", "range", {joined.member_id: b"given"})
    )
    after = machine.groups.listing.describe("g")
    assert (after.error, after.state, after.protocol_name) == (E.NONE, "Stable", "range")
    assert after.members == (DescribedMember(joined.member_id, None, "client", "/h", SUBSCRIPTION, b"given"),)


@pytest.mark.parametrize(
    ("states", "kinds", "found"),
    [
        ((), (), ["g", "h"]),
        (("empty",), (), ["h"]),
        (("STABLE", "Empty"), (), ["g", "h"]),
        (("Dead",), (), []),
        ((), ("Consumer",), ["g"]),
        ((), ("classic", "consumer"), ["g", "h"]),
        (("stable",), ("classic",), []),
        ((), ("share",), []),
    ],
)
def test_filters_ignore_case(machine: Machine, states: tuple[str, ...], kinds: tuple[str, ...], found: list[str]) -> None:
    machine.beat("m1", 0)
    machine.groups.offsets.commit("h", "", -1, None, {PLACE: OffsetToCommit(1, -1, "")}, api_version=9)
    assert sorted(group.group_id for group in machine.groups.listing.list(states, kinds)) == found


def test_nothing_is_told_before_all_is_loaded(machine: Machine) -> None:
    machine.groups.runtime.loading = True
    assert machine.groups.listing.describe("g") == DescribedGroup("g", E.COORDINATOR_LOAD_IN_PROGRESS, "")
    with pytest.raises(KafkaError) as refused:
        machine.groups.listing.list()
    assert refused.value.code is E.COORDINATOR_LOAD_IN_PROGRESS
