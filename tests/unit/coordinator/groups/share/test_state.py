"""A share group as its records add up to it, in any order that compaction leaves them in."""

from __future__ import annotations

import random
import uuid

from oncelog.coordinator.groups.shard import GroupShard
from oncelog.coordinator.groups.share.draft import Draft
from oncelog.coordinator.groups.share.state import ShareGroup, ShareGroupState, ShareMember, ShareTopic, to_named
from oncelog.coordinator.result import CoordinatorRecord
from oncelog.protocol.internal.share_groups import NamedTopic, ShareGroupStatePartitionMetadataKey

A, B = uuid.UUID(int=1), uuid.UUID(int=2)


def whole() -> Draft:
    draft = Draft(ShareGroup("g"))
    for name in "mn":
        member = ShareMember(name, "r", "c", "/h", ("a", "b"), 5, 4, {A: frozenset({0})})
        draft.put_wants(member)
        draft.put_has(member)
        draft.put_target(name, {A: frozenset({0}), B: frozenset({int(name == "m")})})
    draft.put_epoch(6, 77)
    draft.put_assignment_epoch(5, 99)
    draft.put_places({B: ShareTopic("b", frozenset({2}))}, {A: ShareTopic("a", frozenset({0, 1}))}, {uuid.UUID(int=3): "c"})
    return draft


def replayed(records: list[CoordinatorRecord]) -> ShareGroup | None:
    shard = GroupShard(0)
    for record in records:
        shard.replay(record.key, record.value, offset=0, producer_id=-1, producer_epoch=-1, timestamp_ms=1)
    return shard.share_groups.get("g")


def test_a_group_is_what_its_records_say_in_any_order() -> None:
    draft = whole()
    group = draft.group
    assert (group.epoch, group.metadata_hash, group.assignment_epoch, group.assignment_timestamp_ms) == (6, 77, 5, 99)
    assert group.members["m"] == ShareMember("m", "r", "c", "/h", ("a", "b"), 5, 4, {A: frozenset({0})})
    assert group.assigned_partitions() == {A: frozenset({0}), B: frozenset({0, 1})}
    assert group.all_subscribed_names() == {"a", "b"}
    assert group.state is ShareGroupState.STABLE
    for seed in range(20):
        shuffled = random.Random(seed).sample(draft.records, len(draft.records))
        assert replayed(shuffled) == group, f"seed {seed}"


def test_members_that_leave() -> None:
    draft = whole()
    draft.remove_member("m")
    assert list(draft.group.members) == ["n"] == list(draft.group.targets)
    draft.remove_member("n")
    assert draft.group.state is ShareGroupState.EMPTY
    assert replayed(draft.records) == draft.group
    # compaction may have taken the member's other record
    assert replayed([record for record in draft.records if record.value is None]) is None


def test_a_tombstone_of_what_a_member_has_leaves_what_it_wants() -> None:
    draft = whole()
    current = draft.records[1]
    group = replayed([*draft.records, CoordinatorRecord(current.key, None)])
    assert group is not None
    assert group.members["m"] == ShareMember("m", "r", "c", "/h", ("a", "b"))


def test_share_partitions_are_forgotten_with_their_record() -> None:
    draft = whole()
    draft.write(ShareGroupStatePartitionMetadataKey("g"), None)
    assert (draft.group.initializing, draft.group.initialized, draft.group.deleting) == ({}, {}, {})


def test_share_partitions_are_written_in_order_and_without_empty_topics() -> None:
    places = {B: ShareTopic("b", frozenset({2, 0})), A: ShareTopic("a", frozenset({1})), uuid.UUID(int=3): ShareTopic("c", frozenset())}
    assert to_named(places) == [NamedTopic(A, "a", [1]), NamedTopic(B, "b", [0, 2])]


def test_a_copy_can_change_alone() -> None:
    draft = whole()
    copied = draft.group.copy()
    copied.members.clear()
    copied.targets.clear()
    assert draft.group.members
    assert draft.group.targets
