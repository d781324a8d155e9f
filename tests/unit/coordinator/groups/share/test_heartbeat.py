"""Joining, staying, leaving: epochs, what is answered, what is written."""

from __future__ import annotations

import pytest
from oncelog.coordinator.groups.share import heartbeat
from oncelog.coordinator.groups.share.config import ShareGroupConfig
from oncelog.coordinator.groups.share.draft import Draft
from oncelog.coordinator.groups.share.heartbeat import ShareAnswer, ShareHeartbeat, check
from oncelog.coordinator.groups.share.state import ShareMember
from oncelog.protocol.errors import ErrorCode as E
from oncelog.protocol.errors import KafkaError
from support.group_machine import Machine
from support.share_groups import INTERVAL_MS, beat, group_of, joined, topic_id


def refused(machine: Machine, member: str, epoch: int, *names: str) -> tuple[E, str | None]:
    with pytest.raises(KafkaError) as raised:
        beat(machine, member, epoch, *names)
    return raised.value.code, raised.value.message


def test_case_SG01_the_first_join(machine: Machine) -> None:
    """Only what has a state is assigned; the target is made anew at a later heartbeat, one interval after the first."""
    first = beat(machine, "m", 0, "a")
    assert first == ShareAnswer("m", 2, 5_000, {})
    assert beat(machine, "m", 2) == ShareAnswer("m", 2, 5_000, None)
    machine.after(INTERVAL_MS - 1)
    assert beat(machine, "m", 2).member_epoch == 2
    machine.after(1)
    given = {topic_id(machine): frozenset({0, 1})}
    assert beat(machine, "m", 2) == ShareAnswer("m", 3, 5_000, given)
    assert beat(machine, "m", 3).assignment is None
    assert beat(machine, "m", 3, "a").assignment == given, "a full request is answered in full"


@pytest.mark.parametrize(
    ("request_", "text"),
    [
        (ShareHeartbeat("g", None, 0, None, ("a",)), None),
        (ShareHeartbeat("g", "", 0, None, ("a",)), None),
        (ShareHeartbeat("g", "x" * 37, 0, None, ("a",)), None),
        (ShareHeartbeat("", "", 0, "", ()), None),
        (ShareHeartbeat("", "m", 0, "", ()), "GroupId can't be empty."),
        (ShareHeartbeat("g", "m", 0, "", ()), "RackId can't be empty."),
        (ShareHeartbeat("g", "m", 0), "SubscribedTopicNames must be set in first request."),
        (ShareHeartbeat("g", "m", 0, None, ()), "SubscribedTopicNames must be set in first request."),
        (ShareHeartbeat("g", "m", -2), "MemberEpoch is invalid."),
    ],
)
def test_case_SG02_what_is_wrong_with_a_request(request_: ShareHeartbeat, text: str | None) -> None:
    with pytest.raises(KafkaError) as raised:
        check(request_)
    assert (raised.value.code, raised.value.message) == (E.INVALID_REQUEST, text)
    check(ShareHeartbeat("g", "x" * 36, 0, "r", ("a",)))
    check(ShareHeartbeat("g", "m", -1))


def test_case_SG03_unknown_groups_and_members(machine: Machine) -> None:
    assert refused(machine, "m", 1) == (E.GROUP_ID_NOT_FOUND, "Share group g not found.")
    assert refused(machine, "m", -1) == (E.GROUP_ID_NOT_FOUND, "Group g not found.")
    joined(machine)
    for epoch in (1, -1):
        assert refused(machine, "n", epoch) == (E.UNKNOWN_MEMBER_ID, "Member n is not a member of group g.")


def test_case_SG04_epochs_that_are_not_the_members(machine: Machine) -> None:
    assert joined(machine).member_epoch == 3
    must = "The member must abandon all its partitions and rejoin."
    assert refused(machine, "m", 8) == (
        E.FENCED_MEMBER_EPOCH,
        "The share group member has a greater member epoch (8) than the one known by the group coordinator (3). " + must,
    )
    assert beat(machine, "m", 2) == ShareAnswer("m", 3, 5_000, None), "the one before: its answer may have been lost"
    assert refused(machine, "m", 1) == (
        E.FENCED_MEMBER_EPOCH,
        "The share group member has a smaller member epoch (1) than the one known by the group coordinator (3), and it does not match "
        "the previous member epoch (2). " + must,
    )


def test_case_SG05_leaving(machine: Machine) -> None:
    joined(machine)
    assert beat(machine, "m", -1) == ShareAnswer("m", -1, 0, None)
    group = group_of(machine)
    assert (group.state.value, group.epoch, group.metadata_hash, group.members) == ("Empty", 4, 0, {})
    assert refused(machine, "m", 3)[0] is E.UNKNOWN_MEMBER_ID
    assert beat(machine, "n", 0, "a") == ShareAnswer("n", 3, 5_000, {}), "within the interval no new target is made"
    machine.after(INTERVAL_MS)
    assert beat(machine, "n", 3) == ShareAnswer("n", 5, 5_000, {topic_id(machine): frozenset({0, 1})})


def test_case_SG16_joining_again(machine: Machine) -> None:
    first = joined(machine)
    assert beat(machine, "m", 0, "a") == first
    assert list(group_of(machine).members) == ["m"]


def test_case_SG17_a_full_group() -> None:
    machine = Machine(share=ShareGroupConfig(max_size=2))
    for member in "mn":
        beat(machine, member, 0, "a")
    assert refused(machine, "o", 0, "a") == (E.GROUP_MAX_SIZE_REACHED, "The share group has reached its maximum capacity of 2 members.")
    assert beat(machine, "n", 0, "a").member_id == "n", "who is in it may join again"
    beat(machine, "m", -1)
    assert beat(machine, "o", 0, "a").member_id == "o"


def test_case_SG19_a_topic_that_comes_later(machine: Machine) -> None:
    first = beat(machine, "m", 0, "later")
    assert first.assignment == {}
    machine.after(INTERVAL_MS)
    machine.logs.create_topic("later", 2)
    seen = beat(machine, "m", first.member_epoch)
    assert seen.member_epoch > first.member_epoch
    machine.after(INTERVAL_MS)
    last = beat(machine, "m", seen.member_epoch)
    assert last.assignment == {topic_id(machine, "later"): frozenset({0, 1})}


def test_partitions_that_are_added(machine: Machine) -> None:
    first = joined(machine)
    machine.logs.begin_create_partitions("a", 4, lambda _error: None)
    machine.after(INTERVAL_MS)
    seen = beat(machine, "m", first.member_epoch)
    machine.after(INTERVAL_MS)
    last = beat(machine, "m", seen.member_epoch)
    assert last.assignment == {topic_id(machine): frozenset(range(4))}


def test_case_SG20_another_subscription(machine: Machine) -> None:
    """What is not asked for any more is taken in the same answer, what is asked for comes with the next target."""
    machine.logs.create_topic("b", 1)
    epoch = joined(machine).member_epoch
    assert beat(machine, "m", epoch, "b") == ShareAnswer("m", epoch, 5_000, {})
    machine.after(INTERVAL_MS)
    second = beat(machine, "m", epoch)
    assert second.member_epoch > epoch
    machine.after(INTERVAL_MS)
    third = beat(machine, "m", second.member_epoch)
    given = third if third.assignment is not None else second
    assert given.assignment == {topic_id(machine, "b"): frozenset({0})}
    none = beat(machine, "m", third.member_epoch, renames=True)
    assert none.assignment == {}


def test_a_topic_that_is_deleted(machine: Machine) -> None:
    epoch = joined(machine).member_epoch
    machine.after(INTERVAL_MS)
    machine.logs.begin_delete_topic("a", lambda _error: None)
    after = beat(machine, "m", epoch)
    assert (after.assignment, after.member_epoch > epoch) == ({}, True)


def test_two_members_share(machine: Machine) -> None:
    first = joined(machine)
    other = beat(machine, "n", 0, "a")
    machine.after(INTERVAL_MS)
    theirs = beat(machine, "n", other.member_epoch).assignment
    mine = beat(machine, "m", first.member_epoch).assignment
    assert mine is not None
    assert theirs is not None
    assert mine[topic_id(machine)] | theirs[topic_id(machine)] == {0, 1}
    assert not mine[topic_id(machine)] & theirs[topic_id(machine)]
    beat(machine, "n", -1)
    machine.after(INTERVAL_MS)
    again = beat(machine, "m", group_of(machine).members["m"].epoch)
    assert again.assignment == {topic_id(machine): frozenset({0, 1})}


def test_where_nothing_is_to_be_done_nobody_looks(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """A heartbeat in a group where all is as it should be costs no more for many members and topics than for one."""
    epoch = joined(machine).member_epoch
    beat(machine, "m", epoch)
    looked = []
    monkeypatch.setattr(heartbeat, "hash_of", lambda *_: looked.append(1) or 0)
    assert beat(machine, "m", epoch).assignment is None
    assert not looked
    machine.logs.create_topic("other", 1)
    beat(machine, "m", epoch)
    assert looked


def test_a_draft_that_is_refused_changes_nothing(machine: Machine) -> None:
    joined(machine)
    group = group_of(machine)
    before, draft = group.copy(), Draft(group)
    limits = machine.groups.share.limits("g")
    with pytest.raises(KafkaError):
        heartbeat.heartbeat(draft, ShareHeartbeat("g", "m", 99), machine.logs.topics, limits, 200, 0)
    assert (draft.records, group) == ([], before)


def test_a_clock_that_was_set_back_holds_nothing_up(machine: Machine) -> None:
    joined(machine)
    machine.clock.now_ms -= 3_600_000
    other = beat(machine, "n", 0, "a")
    assert other.assignment != {}


def test_what_a_member_says_of_itself_is_kept(machine: Machine) -> None:
    beat(machine, "m", 0, "b", "a", "a", rack="r")
    member = group_of(machine).members["m"]
    assert member.wants() == ShareMember("m", "r", "client", "/h", ("a", "b")).wants()
    beat(machine, "m", member.epoch)
    assert group_of(machine).members["m"].rack_id == "r"
