"""A consumer group as its records add up to it, in any order that compaction leaves them in."""

from __future__ import annotations

import random
import uuid

import pytest
from oncelog.coordinator.groups.consumer.assignors import Place
from oncelog.coordinator.groups.consumer.draft import Draft
from oncelog.coordinator.groups.consumer.state import (
    ConsumerGroup,
    ConsumerGroupState,
    ConsumerMember,
    MemberState,
    from_topics,
    to_topics,
    union,
)
from oncelog.protocol.internal.consumer_groups import (
    ClassicMemberMetadata,
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
)
from oncelog.protocol.internal.group_fields import AssignedTopic
from support.consumer_group import A, B, group_of, member, parts

S = ConsumerGroupState


@pytest.mark.parametrize(
    ("members", "epoch", "assigned", "state"),
    [
        ([], 0, 0, S.EMPTY),
        ([], 7, 5, S.EMPTY),
        ([member()], 6, 5, S.ASSIGNING),
        ([member()], 5, 5, S.STABLE),
        ([member(), member("n", epoch=4)], 5, 5, S.RECONCILING),
        ([member(), member("n", state=MemberState.UNRELEASED_PARTITIONS)], 5, 5, S.RECONCILING),
        ([member(), member("n", state=MemberState.UNREVOKED_PARTITIONS)], 5, 5, S.RECONCILING),
        ([member(epoch=-2)], 5, 5, S.RECONCILING),
    ],
)
def test_the_state_follows_from_the_epochs(members: list[ConsumerMember], epoch: int, assigned: int, state: ConsumerGroupState) -> None:
    assert group_of(*members, epoch=epoch, assigned=assigned).state is state


def test_a_member_is_what_its_two_records_say_in_either_order() -> None:
    classic = ClassicMemberMetadata(9_000, [("range", b"x")])
    whole = ConsumerMember(
        "m", "i", "r", "c", "/h", ("a", "b"), "x.*", 7_000, "range", classic, 6, 5, MemberState.UNREVOKED_PARTITIONS, parts(0), parts(1)
    )
    wants, has = ConsumerGroupMemberMetadataKey("g", "m"), ConsumerGroupCurrentMemberAssignmentKey("g", "m")
    for records in ([(wants, whole.wants()), (has, whole.has())], [(has, whole.has()), (wants, whole.wants())]):
        group = ConsumerGroup("g")
        for key, value in records:
            group.replay(key, value)
        assert group.members == {"m": whole}
        assert group.static_member("i") == whole
        assert group.owners == {Place(A, 0): "m", Place(A, 1): "m"}


def test_a_tombstone_of_the_first_record_removes_the_member_one_of_the_second_only_what_it_has() -> None:
    group = group_of(member(instance_id="i", assigned=parts(0), revoking=parts(1)))
    group.replay(ConsumerGroupCurrentMemberAssignmentKey("g", "m"), None)
    assert group.members == {"m": member(instance_id="i", epoch=0, previous_epoch=0)}
    assert group.owners == {}
    group.replay(ConsumerGroupMemberMetadataKey("g", "m"), None)
    assert (group.members, group.static_members, group.static_member("i")) == ({}, {}, None)
    for key in (ConsumerGroupMemberMetadataKey, ConsumerGroupCurrentMemberAssignmentKey, ConsumerGroupTargetAssignmentMemberKey):
        group.replay(key("g", "nobody"), None)
    assert group.members == {}


def test_an_unknown_state_of_a_member_is_kept_apart() -> None:
    group = group_of(member())
    group.replay(ConsumerGroupCurrentMemberAssignmentKey("g", "m"), ConsumerGroupCurrentMemberAssignmentValue(5, 5, 9, [], []))
    assert group.members["m"].state is MemberState.UNKNOWN
    assert group.state is S.RECONCILING


def test_an_instance_id_belongs_to_its_newest_member() -> None:
    group = group_of(member("old", instance_id="i"), member("new", instance_id="i"))
    assert group.static_members == {"i": "new"}
    group.replay(ConsumerGroupMemberMetadataKey("g", "old"), None)
    assert group.static_members == {"i": "new"}
    draft = Draft(group)
    draft.put_member(member("new", instance_id="j"))
    assert draft.group.static_members == {"j": "new"}


def test_owners_are_those_who_hold_a_partition_or_give_it_up() -> None:
    """A twin: whoever said last that it has a partition, and has not said since that it has not."""
    for seed in range(80):
        chance = random.Random(seed)
        group, twin = ConsumerGroup("g"), dict[Place, str]()
        for _ in range(50):
            name = chance.choice("xyz")
            twin = {place: holder for place, holder in twin.items() if holder != name}
            if chance.random() < 0.2:
                key = chance.choice([ConsumerGroupCurrentMemberAssignmentKey, ConsumerGroupMemberMetadataKey])
                group.replay(key("g", name), None)
            else:
                assigned, revoking = (parts(*(p for p in range(4) if chance.random() < 0.3)) for _ in range(2))
                group.replay(ConsumerGroupCurrentMemberAssignmentKey("g", name), member(name, assigned=assigned, revoking=revoking).has())
                twin |= {Place(A, p): name for p in union(assigned, revoking)[A]}
            assert group.owners == twin, f"seed {seed}"


def test_names_are_those_asked_for_and_those_an_expression_was_resolved_to() -> None:
    group = group_of(member("m", topic_regex="x.*"), member("n", topic_names=("b",), topic_regex=""))
    assert group.subscribed_names(group.members["m"]) == {"a"}
    group.replay(ConsumerGroupRegularExpressionKey("g", "x.*"), ConsumerGroupRegularExpressionValue(["x1", "x2"], 3, 9))
    assert group.subscribed_names(group.members["m"]) == {"a", "x1", "x2"}
    assert group.all_subscribed_names() == {"a", "b", "x1", "x2"}
    assert group.used_regexes() == {"x.*"}
    group.replay(ConsumerGroupRegularExpressionKey("g", "x.*"), None)
    assert group.all_subscribed_names() == {"a", "b"}
    assert ConsumerGroup("g").all_subscribed_names() == frozenset()


@pytest.mark.parametrize(
    ("votes", "chosen"),
    [
        ([], "default"),
        ([None, None], "default"),
        (["range", None], "range"),
        (["uniform", "range"], "range"),
        (["range", "uniform", "uniform"], "uniform"),
    ],
)
def test_the_assignor_that_most_members_ask_for(votes: list[str | None], chosen: str) -> None:
    group = group_of(*(member(f"m{number}", server_assignor=vote) for number, vote in enumerate(votes)))
    assert group.preferred_assignor("default") == chosen


def test_members_of_the_classic_protocol() -> None:
    old = member("old", classic=ClassicMemberMetadata(1, []))
    assert group_of(member(), old).classic_members() == [old]


def test_a_copy_is_changed_alone() -> None:
    group = group_of(member(instance_id="i", assigned=parts(0)), targets={"m": parts(0)})
    group.replay(ConsumerGroupRegularExpressionKey("g", "x"), ConsumerGroupRegularExpressionValue([], 1, 1))
    before, copy = group.copy(), group.copy()
    draft = Draft(copy)
    copy.replay(ConsumerGroupRegularExpressionKey("g", "x"), None)
    copy.replay(ConsumerGroupTargetAssignmentMemberKey("g", "m"), None)
    copy.replay(ConsumerGroupMemberMetadataKey("g", "m"), None)
    draft.put_epoch(9, 9)
    assert group == before
    assert (copy.members, copy.targets, copy.regexes, copy.owners, copy.static_members) == ({}, {}, {}, {}, {})


def test_records_hold_assignments_in_order_and_without_empty_topics() -> None:
    low, high = sorted((A, B))
    assert to_topics({high: frozenset({3, 1}), low: frozenset({2}), uuid.UUID(int=7): frozenset()}) == [
        AssignedTopic(low, [2]),
        AssignedTopic(high, [1, 3]),
    ]
    assert from_topics([AssignedTopic(A, [1, 0]), AssignedTopic(B, [])]) == parts(0, 1)
    assert union(parts(0), {**parts(1), **parts(2, of=B)}) == {**parts(0, 1), **parts(2, of=B)}


@pytest.mark.parametrize("seed", range(20))
def test_what_is_asked_for_is_counted_as_members_come_go_and_change(seed: int) -> None:
    chance, group = random.Random(seed), ConsumerGroup("g")
    for _ in range(60):
        name = chance.choice("xyz")
        if chance.random() < 0.3:
            group.replay(ConsumerGroupMemberMetadataKey("g", name), None)
        else:
            wanted = member(name, topic_names=tuple(sorted(chance.sample("abcd", 2))), topic_regex=chance.choice([None, "", "e.*", "f.*"]))
            group.replay(ConsumerGroupMemberMetadataKey("g", name), wanted.wants())
        if chance.random() < 0.3:
            regex = chance.choice(["e.*", "f.*"])
            found = ConsumerGroupRegularExpressionValue([regex[0] + chance.choice("12")], 1, 1)
            group.replay(ConsumerGroupRegularExpressionKey("g", regex), chance.choice([None, found]))
        everyone = group.members.values()
        assert group.all_subscribed_names() == frozenset().union(*map(group.subscribed_names, everyone)), f"seed {seed}"
        assert group.used_regexes() == {each.topic_regex for each in everyone if each.topic_regex}, f"seed {seed}"
        assert group == group.copy()
