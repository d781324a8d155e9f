"""Everybody has something, nobody much more than another, and what a member has it keeps."""

from __future__ import annotations

import random
import uuid
from collections import Counter

import pytest
from oncelog.coordinator.groups.consumer.assignors import Assignment, Place, Subscriber
from oncelog.coordinator.groups.share.assignor import simple

A, B, C = (uuid.UUID(int=n) for n in (1, 2, 3))


def members(count: int, topics: frozenset[uuid.UUID] = frozenset({A}), current: dict[str, Assignment] | None = None) -> list[Subscriber]:
    return [Subscriber(f"m{n:04}", None, topics, (current or {}).get(f"m{n:04}", {})) for n in range(count)]


def counts(dealt: dict[str, Assignment]) -> list[int]:
    return [sum(map(len, assignment.values())) for assignment in dealt.values()]


def holders(dealt: dict[str, Assignment]) -> Counter[Place]:
    return Counter(Place(topic, p) for assignment in dealt.values() for topic, partitions in assignment.items() for p in partitions)


def test_case_SG06_one_partition_and_two_members() -> None:
    assert simple(members(2), {A: {0}}) == {"m0000": {A: {0}}, "m0001": {A: {0}}}


def test_case_SG07_two_members_share_four_partitions() -> None:
    dealt = simple(members(2), {A: range(4)})
    assert counts(dealt) == [2, 2]
    assert set(holders(dealt).values()) == {1}


def test_case_SG08_three_members_and_two_partitions() -> None:
    dealt = simple(members(3), {A: range(2)})
    assert sorted(counts(dealt)) == [1, 1, 2]
    assert set(holders(dealt).values()) == {2}


def test_nobody_and_nothing() -> None:
    assert simple([], {A: {0}}) == {}
    assert simple(members(2), {}) == {"m0000": {}, "m0001": {}}
    assert simple(members(1, frozenset()), {A: {0}}) == {"m0000": {}}


@pytest.mark.parametrize("seed", range(200))
def test_balanced_complete_and_sticky(seed: int) -> None:
    """From any assignment before, whatever it was."""
    dice = random.Random(seed)
    topics = {A: range(dice.randint(1, 12)), B: range(dice.randint(1, 5))}
    everybody = members(dice.randint(1, 40), frozenset(topics))
    current: dict[str, Assignment] = {
        member.member_id: {topic: frozenset(p for p in range(14) if dice.random() < 0.3) for topic in (A, B, C)} for member in everybody
    }
    dealt = simple(members(len(everybody), frozenset(topics), current), topics)
    places = sum(map(len, topics.values()))
    sharing = -(-len(everybody) // places)
    assert set(holders(dealt).values()) == {sharing}, "each partition is shared by equally many"
    assert len(holders(dealt)) == places, "no partition is left out"
    assert max(counts(dealt)) - min(counts(dealt)) <= 1
    again = simple(members(len(everybody), frozenset(topics), dealt), topics)
    assert again == dealt, "a balanced assignment stays"


def test_a_member_that_joins_takes_no_more_than_its_share() -> None:
    before = simple(members(2), {A: range(9)})
    after = simple(members(3, current=before), {A: range(9)})
    assert counts(after) == [3, 3, 3]
    assert all(after[name][A] <= before[name][A] for name in before)


def test_different_subscriptions_are_dealt_topic_by_topic() -> None:
    both = Subscriber("both", None, frozenset({A, B}))
    only = Subscriber("only", None, frozenset({A}))
    dealt = simple([both, only], {A: range(4), B: range(3), C: range(2)})
    assert (len(dealt["both"][A]), len(dealt["only"][A])) == (2, 2)
    assert dealt["both"][B] == {0, 1, 2}
    assert set(holders(dealt)) == {Place(A, p) for p in range(4)} | {Place(B, p) for p in range(3)}


def test_topics_that_cannot_be_assigned_make_no_different_subscription() -> None:
    """C has no share partition yet: both members stand for the same."""
    dealt = simple([Subscriber("m", None, frozenset({A, B, C})), Subscriber("n", None, frozenset({A, B}))], {A: {0}, B: {0}})
    assert counts(dealt) == [1, 1]
