"""What a request of one type is told about a group of another: a row of the table for each pairing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from oncelog.coordinator.groups.classic.requests import Heartbeat, LeavingMember, SyncGroup
from oncelog.coordinator.groups.group_type import GroupType, is_not_a, not_found
from oncelog.coordinator.groups.share.draft import Draft
from oncelog.coordinator.groups.share.state import ShareGroup, ShareMember
from oncelog.coordinator.result import Result
from oncelog.protocol.errors import ErrorCode as E
from oncelog.protocol.errors import KafkaError
from support.group_machine import PLACE, Machine


def make_share(machine: Machine, *, members: bool = False) -> None:
    draft = Draft(ShareGroup("g"))
    draft.put_epoch(2, 0)
    if members:
        draft.put_wants(ShareMember("m", topic_names=("a",)))
    machine.groups.runtime.write("g", lambda _shard, _now: Result(None, tuple(draft.records)))


def make_classic(machine: Machine) -> None:
    machine.commit(5)


def make_consumer(machine: Machine) -> None:
    machine.beat("m", 0)


def nothing(_machine: Machine) -> None: ...


def refused(what: Callable[[], Any]) -> KafkaError:
    with pytest.raises(KafkaError) as raised:
        what()
    return raised.value


def test_words() -> None:
    assert (is_not_a("g", GroupType.SHARE).code, is_not_a("g", GroupType.SHARE).message) == (
        E.GROUP_ID_NOT_FOUND,
        "Group g is not a share group.",
    )
    assert not_found("g").message == "Group g not found."
    assert (not_found("g", "Share group").code, not_found("g", "Share group").message) == (
        E.GROUP_ID_NOT_FOUND,
        "Share group g not found.",
    )


@pytest.mark.parametrize(
    ("make", "kind"),
    [(nothing, None), (make_classic, GroupType.CLASSIC), (make_consumer, GroupType.CONSUMER), (make_share, GroupType.SHARE)],
)
def test_the_type_of_a_group(machine: Machine, make: Callable[[Machine], None], kind: GroupType | None) -> None:
    make(machine)
    for _ in range(2):
        shard = machine.groups.runtime.shard_of("g")
        assert shard.type_of("g") is kind
        for wanted in GroupType:
            text = "Group g not found." if kind is None else f"Group g is not a {wanted.value} group."
            assert shard.refusal("g", wanted).message == text
        machine.restart()


@pytest.mark.parametrize("members", [False, True])
def test_case_SG13_the_others_requests_at_a_share_group(machine: Machine, members: bool) -> None:
    make_share(machine, members=members)
    groups = machine.groups
    for member_id in ("", "x"):
        assert machine.join(member_id).error is E.INCONSISTENT_GROUP_PROTOCOL
    assert groups.sync_group(SyncGroup("g", 1, "m", None, "consumer", "range")).error is E.UNKNOWN_MEMBER_ID
    assert groups.heartbeat(Heartbeat("g", 1, "m")) is E.UNKNOWN_MEMBER_ID
    assert groups.leave_group("g", [LeavingMember("m")]) == (E.NONE, [E.UNKNOWN_MEMBER_ID])
    for epoch in (0, 1, -1):
        error = refused(lambda: machine.beat("m", epoch))  # noqa: B023  called at once
        assert (error.code, error.message) == (E.GROUP_ID_NOT_FOUND, "Group g is not a consumer group.")
    assert refused(lambda: groups.consumer_group_describe("g")).message == "Group g is not a consumer group."
    assert groups.listing.describe("g").why == "Group g is not a classic group."


def test_case_SG14_offsets_of_a_share_group(machine: Machine) -> None:
    make_share(machine)
    for version in (8, 9):
        assert machine.commit(5, version=version) is E.GROUP_ID_NOT_FOUND
    assert machine.txn_commit(5, 1) is E.GROUP_ID_NOT_FOUND
    assert machine.committed().offset == -1
    assert machine.groups.offsets.fetch("g", None, require_stable=False, member_id="x", member_epoch=7) == {}
    assert refused(lambda: machine.groups.offsets.delete("g", [PLACE])).code is E.GROUP_ID_NOT_FOUND


def test_a_share_group_is_listed_and_keeps_its_type_without_members() -> None:
    machine = Machine(offsets_retention_minutes=1, offsets_retention_check_interval_ms=1_000)
    make_share(machine)
    machine.after(120_000)
    listed = [(one.protocol_type, one.state, one.kind) for one in machine.groups.listing.list()]
    assert listed == [("share", "Empty", "share")]
    assert machine.groups.listing.list(kinds=["SHARE"], states=["empty"]) != []
    assert machine.groups.listing.list(kinds=["consumer"]) == machine.groups.listing.list(states=["Stable"]) == []


def test_a_share_group_goes_when_nobody_is_in_it(machine: Machine) -> None:
    make_share(machine, members=True)
    assert machine.groups.removal.delete_groups(["g"]) == {"g": E.NON_EMPTY_GROUP}
    machine = Machine()
    make_share(machine)
    assert machine.groups.removal.delete_groups(["g"]) == {"g": E.NONE}
    for _ in range(2):
        assert machine.groups.listing.list() == []
        machine.restart()
