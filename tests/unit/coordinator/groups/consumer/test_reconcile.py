"""One step of a member towards its target: what it keeps, gives up, gets, and waits for."""

from __future__ import annotations

import random
import uuid
from dataclasses import replace

import pytest
from oncelog.coordinator.groups.consumer.assignors import Assignment, Place
from oncelog.coordinator.groups.consumer.draft import Draft
from oncelog.coordinator.groups.consumer.reconcile import reconcile
from oncelog.coordinator.groups.consumer.state import ConsumerGroup, ConsumerMember, MemberState
from support.consumer_group import A, B, group_of, member, parts

S = MemberState


def everything(_topic_id: uuid.UUID) -> bool:
    return True


def step(
    one: ConsumerMember,
    target: Assignment,
    owned: Assignment | None = None,
    *,
    others: tuple[ConsumerMember, ...] = (),
    gone: frozenset[uuid.UUID] = frozenset(),
) -> tuple[int, MemberState, Assignment, Assignment]:
    """Epoch, state, assigned, revoking after a heartbeat in a group whose target is of epoch 6."""
    group = group_of(one, *others, targets={one.member_id: target}, epoch=6, assigned=6)
    after = reconcile(group, one, owned, lambda topic_id: topic_id not in gone)
    assert after.previous_epoch == (one.epoch if after is not one else one.previous_epoch)
    return after.epoch, after.state, after.assigned, after.revoking


def test_nothing_to_give_up_and_all_of_it_free() -> None:
    assert step(member(), parts(0, 1)) == (6, S.STABLE, parts(0, 1), {})
    assert step(member(assigned=parts(0)), parts(0, 1)) == (6, S.STABLE, parts(0, 1), {})
    assert step(member(), {}) == (6, S.STABLE, {}, {})


@pytest.mark.parametrize("owned", [None, parts(0, 1), parts(1)])
def test_what_it_may_still_have_is_asked_back_first(owned: Assignment | None) -> None:
    """At the old epoch, and without anything new."""
    assert step(member(assigned=parts(0, 1)), {**parts(0), **parts(7, of=B)}, owned) == (5, S.UNREVOKED_PARTITIONS, parts(0), parts(1))


def test_what_it_says_it_does_not_have_need_not_be_asked_back() -> None:
    assert step(member(assigned=parts(0, 1)), parts(0, 2), parts(0)) == (6, S.STABLE, parts(0, 2), {})


@pytest.mark.parametrize(("owned", "waits"), [(None, True), (parts(1), True), (parts(0, 1), True), (parts(0), False), ({}, False)])
def test_given_up_is_what_a_heartbeat_lists_no_more(owned: Assignment | None, waits: bool) -> None:
    giving = member(state=S.UNREVOKED_PARTITIONS, assigned=parts(0), revoking=parts(1))
    expected = (5, S.UNREVOKED_PARTITIONS, parts(0), parts(1)) if waits else (6, S.STABLE, parts(0, 2), {})
    assert step(giving, parts(0, 2), owned) == expected


@pytest.mark.parametrize("holding", ["assigned", "revoking"])
def test_what_others_have_or_give_up_is_waited_for_at_the_new_epoch(holding: str) -> None:
    other = member("other", **{holding: parts(2)})
    assert step(member(assigned=parts(0)), parts(0, 1, 2), others=(other,)) == (6, S.UNRELEASED_PARTITIONS, parts(0, 1), {})
    waiting = member(epoch=6, state=S.UNRELEASED_PARTITIONS, assigned=parts(0, 1))
    assert step(waiting, parts(0, 1, 2), others=(other,)) == (6, S.UNRELEASED_PARTITIONS, parts(0, 1), {})
    assert step(waiting, parts(0, 1, 2)) == (6, S.STABLE, parts(0, 1, 2), {})


def test_what_it_was_giving_up_is_given_back_when_the_target_says_so_again() -> None:
    giving = member(state=S.UNREVOKED_PARTITIONS, assigned=parts(0), revoking=parts(1))
    assert step(giving, parts(0, 1), parts(0)) == (6, S.STABLE, parts(0, 1), {})


def test_a_member_that_has_arrived_is_left_alone() -> None:
    arrived = member(epoch=6, assigned=parts(0))
    group = group_of(arrived, targets={"m": parts(0)}, epoch=6, assigned=6)
    assert reconcile(group, arrived, None, everything) is arrived


@pytest.mark.parametrize(
    ("owned", "expected"),
    [
        (None, (6, S.UNREVOKED_PARTITIONS, parts(0), parts(3, of=B))),
        (parts(3, of=B), (6, S.UNREVOKED_PARTITIONS, parts(0), parts(3, of=B))),
        (parts(0), (6, S.STABLE, parts(0), {})),
    ],
)
def test_a_topic_it_left_is_taken_back_at_once(owned: Assignment | None, expected: tuple[int, MemberState, Assignment, Assignment]) -> None:
    both = {**parts(0), **parts(3, of=B)}
    assert step(member(epoch=6, assigned=both), both, owned, gone=frozenset({B})) == expected


def test_a_topic_it_left_joins_what_it_is_giving_up() -> None:
    giving = member(state=S.UNREVOKED_PARTITIONS, assigned={**parts(0), **parts(3, of=B)}, revoking=parts(1))
    assert step(giving, parts(0), gone=frozenset({B})) == (5, S.UNREVOKED_PARTITIONS, parts(0), {**parts(1), **parts(3, of=B)})


def test_a_topic_it_left_is_not_given_though_the_target_says_so() -> None:
    assert step(member(), {**parts(0), **parts(3, of=B)}, gone=frozenset({B})) == (6, S.STABLE, parts(0), {})


def test_random_groups_give_no_partition_twice_and_arrive() -> None:
    """Members that say at every heartbeat what they have; targets that change on the way."""
    for seed in range(60):
        chance = random.Random(seed)
        group: ConsumerGroup = group_of(*(member(name, epoch=0) for name in "xyz"), epoch=0, assigned=0)
        epoch = 0
        for _ in range(40):
            if chance.random() < 0.2:
                epoch += 1
                dealt: dict[str, set[int]] = {name: set() for name in "xyz"}
                for partition in range(6):
                    dealt[chance.choice("xyz")].add(partition)
                draft = Draft(group)
                for name, partitions in dealt.items():
                    draft.put_target(name, parts(*partitions))
                draft.put_assignment_epoch(epoch, 0)
                group = draft.group
            group = beat(group, chance.choice("xyz"))
        for _ in range(4):
            for name in "xyz":
                group = beat(group, name)
        for name, one in group.members.items():
            assert (one.state, one.epoch, one.assigned) == (S.STABLE, epoch, group.target_of(name)), f"seed {seed}"


def beat(group: ConsumerGroup, name: str) -> ConsumerGroup:
    one = group.members[name]
    draft = Draft(group)
    draft.put_member(reconcile(group, one, one.assigned, everything))
    held = [Place(A, p) for each in draft.group.members.values() for a in (each.assigned, each.revoking) for p in a.get(A, ())]
    assert len(held) == len(set(held))
    return draft.group


def test_the_member_itself_is_not_changed() -> None:
    one = member(assigned=parts(0, 1))
    before = replace(one)
    step(one, parts(0))
    assert one == before
