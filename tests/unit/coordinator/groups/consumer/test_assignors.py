"""Server-side assignors: everything is dealt out once, evenly, and as much as possible stays where it is."""

from __future__ import annotations

import random
import uuid
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oncelog.coordinator.groups.consumer.assignors import ASSIGNORS, Assignment, Place, Subscriber, range_assign, uniform

pytestmark = pytest.mark.unit
A, B, C = (uuid.UUID(int=number) for number in (1, 2, 3))


def sizes(given_: Mapping[str, Assignment]) -> dict[str, int]:
    return {member: sum(map(len, topics.values())) for member, topics in given_.items()}


def places(assignment: Assignment) -> set[Place]:
    return {Place(topic_id, partition) for topic_id, partitions in assignment.items() for partition in partitions}


@given(
    st.dictionaries(st.sampled_from([A, B, C]), st.integers(1, 7)),
    st.lists(st.frozensets(st.sampled_from([A, B, C])), min_size=1, max_size=5),
    st.sampled_from(sorted(ASSIGNORS)),
)
def test_each_partition_that_is_wanted_is_given_once(
    partitions: dict[uuid.UUID, int], subscriptions: list[frozenset[uuid.UUID]], name: str
) -> None:
    members = [Subscriber(f"m{number}", None, topics) for number, topics in enumerate(subscriptions)]
    answer = ASSIGNORS[name](members, partitions)
    assert set(answer) == {member.member_id for member in members}
    given_ = [place for assignment in answer.values() for place in places(assignment)]
    wanted = {Place(t, p) for t, count in partitions.items() if any(t in topics for topics in subscriptions) for p in range(count)}
    assert len(given_) == len(set(given_))
    assert set(given_) == wanted
    assert all(set(answer[member.member_id]) <= member.topic_ids for member in members)


@given(st.integers(1, 30), st.integers(1, 7))
def test_uniform_is_even_and_keeps_what_there_was(count: int, size: int) -> None:
    members = [Subscriber(f"m{number}", None, frozenset({A, B})) for number in range(size)]
    partitions = {A: count, B: count + 1}
    answer = uniform(members, partitions)
    assert max(sizes(answer).values()) - min(sizes(answer).values()) <= 1
    again = [Subscriber(member.member_id, None, member.topic_ids, answer[member.member_id]) for member in members]
    assert uniform(again[::-1], partitions) == answer
    joined = uniform([*again, Subscriber("new", None, frozenset({A, B}))], partitions)
    assert max(sizes(joined).values()) - min(sizes(joined).values()) <= 1
    for member in members:
        assert places(joined[member.member_id]) <= places(answer[member.member_id]), "nothing moves between those who stay"


def test_uniform_levels_what_subscriptions_made_uneven() -> None:
    members = [Subscriber("both", None, frozenset({A, B}), {A: frozenset(range(6))}), Subscriber("a", None, frozenset({A}))]
    answer = uniform(members, {A: 6, B: 2})
    assert sizes(answer) == {"both": 4, "a": 4}
    assert answer["both"][B] == frozenset({0, 1})


def test_uniform_gives_back_nothing_that_is_gone_or_unsubscribed() -> None:
    had = {A: frozenset({0, 1, 9}), B: frozenset({0}), C: frozenset({0})}
    assert uniform([Subscriber("m", None, frozenset({A, C}), had)], {A: 2, B: 1}) == {"m": {A: frozenset({0, 1})}}


def test_range_gives_neighbouring_partitions_of_all_topics_alike() -> None:
    members = [Subscriber(name, None, frozenset({A, B})) for name in ("m2", "m1", "m3")]
    first, second, third = frozenset({0, 1}), frozenset({2, 3}), frozenset({4})
    assert range_assign(members, {A: 5, B: 5}) == {"m1": {A: first, B: first}, "m2": {A: second, B: second}, "m3": {A: third, B: third}}


def test_range_orders_static_members_by_instance() -> None:
    def ask(id_of_i1: str) -> dict[str, Assignment]:
        members = [Subscriber("a", None, frozenset({A})), Subscriber(id_of_i1, "i1", frozenset({A})), Subscriber("c", "i2", frozenset({A}))]
        return range_assign(members, {A: 3})

    assert ask("z")["z"] == ask("b")["b"] == {A: frozenset({0})}
    assert ask("z")["a"] == {A: frozenset({2})}


def test_more_members_than_partitions() -> None:
    members = [Subscriber(name, None, frozenset({A})) for name in ("m1", "m2")]
    assert range_assign(members, {A: 1}) == {"m1": {A: frozenset({0})}, "m2": {}}
    assert sorted(sizes(uniform(members, {A: 1})).values()) == [0, 1]


@given(st.randoms(use_true_random=False), st.integers(1, 8), st.integers(1, 4))
def test_uniform_leaves_nobody_two_behind_who_could_have_had_more(chance: random.Random, size: int, classes: int) -> None:
    """Whatever members had before, and whoever wants what."""
    partitions = {topic_id: chance.randint(0, 9) for topic_id in (A, B, C)}
    wanted = [frozenset(chance.sample([A, B, C], chance.randint(0, 3))) for _ in range(classes)]
    had = [{topic_id: frozenset(chance.sample(range(12), chance.randint(0, 6))) for topic_id in (A, B, C)} for _ in range(size)]
    members = [Subscriber(f"m{number}", None, chance.choice(wanted), had[number]) for number in range(size)]
    answer = uniform(members, partitions)
    count = sizes(answer)
    for member in members:
        for topic_id in answer[member.member_id]:
            others = [count[other.member_id] for other in members if topic_id in other.topic_ids]
            assert count[member.member_id] <= min(others) + 1
