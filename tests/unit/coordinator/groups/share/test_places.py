"""Share partitions as sets by topic."""

from __future__ import annotations

import uuid

from oncelog.coordinator.groups.share.draft import Draft
from oncelog.coordinator.groups.share.places import (
    assignable,
    common,
    existing,
    keys_of,
    missing,
    of_keys,
    partitions_of,
    with_more,
    without,
)
from oncelog.coordinator.groups.share.state import Places, ShareGroup, ShareMember, ShareTopic
from oncelog.coordinator.share.state import SharePartitionKey
from support.consumer_group import A, B, C, FakeTopics


def topic(name: str, *partitions: int) -> ShareTopic:
    return ShareTopic(name, frozenset(partitions))


def group(initializing: Places, initialized: Places, deleting: dict[uuid.UUID, str] | None = None) -> ShareGroup:
    draft = Draft(ShareGroup("g"))
    draft.put_wants(ShareMember("m", topic_names=("a", "b")))
    draft.put_places(initializing, initialized, deleting or {})
    return draft.group


def topics() -> FakeTopics:
    found = FakeTopics()
    for name, partitions in (("a", 3), ("c", 1)):
        found.put(name, partitions)
    return found


def test_what_may_be_assigned_is_subscribed_has_a_state_and_is_there() -> None:
    assert assignable(group({}, {A: topic("a", 0, 1), B: topic("b", 0), C: topic("c", 0)}), topics()) == {A: frozenset({0, 1})}
    assert assignable(group({A: topic("a", 0)}, {}), topics()) == {}


def test_what_is_missing_is_subscribed_and_in_no_list() -> None:
    assert missing(group({}, {}), topics()) == {A: topic("a", 0, 1, 2)}
    assert missing(group({A: topic("a", 0)}, {A: topic("a", 2)}), topics()) == {A: topic("a", 1)}
    assert missing(group({A: topic("a", 0, 1)}, {A: topic("a", 2)}), topics()) == {}
    assert missing(group({}, {}, {A: "a"}), topics()) == {}, "until a deletion is over"


def test_sets() -> None:
    one, other = {A: topic("a", 0, 1), B: topic("b", 0)}, {A: topic("a", 1, 2)}
    assert partitions_of(one, A) == {0, 1}
    assert partitions_of(one, C) == frozenset()
    assert with_more(one, other) == {A: topic("a", 0, 1, 2), B: topic("b", 0)}
    assert without(one, other) == {A: topic("a", 0), B: topic("b", 0)}
    assert without(other, other) == {}
    assert common(one, other) == {A: topic("a", 1)}
    assert existing(one, topics()) == {A: topic("a", 0, 1)}


def test_keys_and_back_again() -> None:
    places = {B: topic("b", 0), A: topic("a", 1, 0)}
    keys = keys_of("g", places)
    assert sorted(keys) == keys == sorted([SharePartitionKey("g", A, 0), SharePartitionKey("g", A, 1), SharePartitionKey("g", B, 0)])
    assert of_keys(keys, places) == places
    assert of_keys(keys[:1], places) == {keys[0].topic_id: topic(places[keys[0].topic_id].name, keys[0].partition)}
