"""Drafts write no more than what is new; group epochs and targets change when they must, and not otherwise."""

from __future__ import annotations

import pytest
from oncelog.coordinator.groups.consumer.draft import Draft, GroupLimits, group_tombstones, metadata_hash, same, update_epoch, update_target
from oncelog.coordinator.groups.consumer.state import ConsumerGroup
from oncelog.coordinator.groups.shard import GroupShard
from oncelog.coordinator.result import CoordinatorRecord
from oncelog.protocol.internal.consumer_groups import ConsumerGroupRegularExpressionKey, ConsumerGroupRegularExpressionValue
from oncelog.protocol.internal.records import decode_key, decode_value
from oncelog.protocol.names import CONSUMER_OFFSETS
from oncelog.protocol.topics import Topic
from support.consumer_group import LIMITS, A, B, FakeTopics, group_of, member, parts


def kinds(records: list[CoordinatorRecord]) -> list[str]:
    """What the records are about; `-` in front of tombstones."""
    names = [
        type(decode_key(CONSUMER_OFFSETS, record.key)).__name__.removeprefix("ConsumerGroup").removesuffix("Key") for record in records
    ]
    return [name if record.value is not None else f"-{name}" for name, record in zip(names, records, strict=True)]


def topics(**partitions: int) -> FakeTopics:
    made = FakeTopics()
    for name, count in partitions.items():
        made.put(name, count)
    return made


def test_only_what_is_new_of_a_member_is_written() -> None:
    group = group_of(member(assigned=parts(0)))
    for changed, expected in (
        (member(assigned=parts(0)), []),
        (member(assigned=parts(0), client_id="c"), ["MemberMetadata"]),
        (member(assigned=parts(1)), ["CurrentMemberAssignment"]),
        (member(assigned=parts(0), previous_epoch=4), ["CurrentMemberAssignment"]),
        (member("new"), ["MemberMetadata", "CurrentMemberAssignment"]),
    ):
        draft = Draft(group)
        draft.put_member(changed)
        assert kinds(draft.records) == expected
        assert draft.group.members[changed.member_id] == changed
        assert (draft.group is group) == (not expected)


def test_a_draft_is_what_the_group_becomes_and_leaves_it_alone() -> None:
    group = group_of(member(assigned=parts(0)), targets={"m": parts(0)})
    before, draft = group.copy(), Draft(group)
    draft.put_member(member("n", instance_id="i", assigned=parts(1)))
    draft.put_target("n", parts(1))
    draft.put_epoch(6, -7)
    draft.put_assignment_epoch(6, 123)
    draft.remove_member("m")
    assert group == before
    for record in draft.records:
        key = decode_key(CONSUMER_OFFSETS, record.key)
        group.replay(key, decode_value(key, record.value))
    assert group == draft.group
    assert kinds(draft.records)[-3:] == ["-CurrentMemberAssignment", "-TargetAssignmentMember", "-MemberMetadata"]


def test_a_member_without_target_leaves_without_its_tombstone() -> None:
    draft = Draft(group_of(member()))
    draft.remove_member("m")
    assert kinds(draft.records) == ["-CurrentMemberAssignment", "-MemberMetadata"]


def test_the_hash_changes_with_subscribed_topics_only() -> None:
    group = group_of(member(topic_names=("a", "b", "gone")))
    plain = metadata_hash(group, topics(a=2, b=1))
    assert plain != 0
    assert plain == metadata_hash(group, topics(b=1, a=2, c=9))
    assert (
        len(
            {
                plain,
                metadata_hash(group, topics(a=3, b=1)),
                metadata_hash(group, topics(a=2)),
                metadata_hash(group, topics(a=2, b=1, gone=1)),
            }
        )
        == 4
    )
    again = topics(a=2, b=1)
    again.topics["a"] = again.topics["a"].__class__("a", B, 2)  # deleted and made again
    assert metadata_hash(group, again) != plain
    assert metadata_hash(group, topics(c=1)) == metadata_hash(ConsumerGroup("g"), topics(a=1)) == 0


def test_topics_are_looked_at_again_when_names_or_topics_change_only() -> None:
    """Not for each heartbeat of a thousand members."""
    there, asked = topics(a=2, b=1), 0

    class Counting(FakeTopics):
        def get(self, name: str) -> Topic | None:
            nonlocal asked
            asked += 1
            return there.get(name)

    counting, group = Counting(), group_of(member(topic_names=("a", "b")), member("n"))
    plain = metadata_hash(group, counting)
    for _ in range(3):
        draft = Draft(group)
        draft.put_member(member("o"))
        draft.remove_member("n")
        assert metadata_hash(draft.group, counting) == metadata_hash(group, counting) == plain
    assert asked == 2
    counting.generation += 1
    assert metadata_hash(group, counting) == plain
    assert asked == 4
    draft = Draft(group)
    draft.remove_member("m")
    assert metadata_hash(draft.group, counting) != plain
    assert asked == 5


@pytest.mark.parametrize(
    ("epoch", "changed", "other_topics", "expected"),
    [
        (0, False, False, 1),  # nobody has subscribed in it yet
        (0, True, False, 2),
        (5, False, False, None),
        (5, True, False, 6),
        (5, False, True, 6),
        (5, True, True, 6),
    ],
)
def test_when_the_group_epoch_rises(epoch: int, changed: bool, other_topics: bool, expected: int | None) -> None:
    draft = Draft(group_of(member(), epoch=epoch, assigned=epoch))
    draft.put_epoch(epoch, metadata_hash(draft.group, topics(a=2)))
    before = len(draft.records)
    update_epoch(draft, topics(a=3 if other_topics else 2), changed=changed)
    assert len(draft.records) - before == (expected is not None)
    assert draft.group.epoch == (epoch if expected is None else expected)
    assert (draft.group.metadata_hash == metadata_hash(draft.group, topics(a=3))) == other_topics


def test_a_target_is_made_once_for_an_epoch() -> None:
    draft = Draft(group_of(member("m"), member("n"), epoch=6, assigned=5))
    update_target(draft, topics(a=2), LIMITS, 10_000)
    assert (draft.group.assignment_epoch, draft.group.assignment_timestamp_ms) == (6, 10_000)
    assert sorted(draft.group.targets) == ["m", "n"]
    written = len(draft.records)
    update_target(draft, topics(a=4), LIMITS, 99_000)
    assert len(draft.records) == written


@pytest.mark.parametrize(("assigned", "since_ms", "due"), [(5, 999, False), (5, 0, False), (5, 1_000, True), (5, -1, True), (0, 0, True)])
def test_targets_are_an_interval_apart(assigned: int, since_ms: int, due: bool) -> None:
    """The first one is not kept waiting, and neither is any by a clock that went back."""
    draft = Draft(group_of(member(), epoch=6, assigned=assigned))
    draft.put_assignment_epoch(assigned, 50_000)
    update_target(draft, topics(a=1), LIMITS, 50_000 + since_ms)
    assert (draft.group.assignment_epoch == 6) == due


def test_targets_that_stay_are_not_written_again() -> None:
    group = group_of(member("m"), member("n"), targets={"m": parts(0), "n": parts(1)}, epoch=6)
    draft = Draft(group)
    update_target(draft, topics(a=2), LIMITS, 10_000)
    assert kinds(draft.records) == ["TargetAssignmentMetadata"]
    draft = Draft(group)
    update_target(draft, topics(a=3), LIMITS, 10_000)
    assert kinds(draft.records) == ["TargetAssignmentMember", "TargetAssignmentMetadata"]


def test_a_member_without_partitions_gets_an_empty_target_once() -> None:
    draft = Draft(group_of(member("m"), member("n"), targets={"m": parts(0)}, epoch=6))
    update_target(draft, topics(a=1), LIMITS, 10_000)
    assert draft.group.targets == {"m": parts(0), "n": {}}
    draft.put_epoch(7, 0)
    written = len(draft.records)
    update_target(draft, topics(a=1), LIMITS, 20_000)
    assert kinds(draft.records[written:]) == ["TargetAssignmentMetadata"]


def test_the_assignor_is_the_members_or_the_first_of_the_settings() -> None:
    def dealt(*members: object, assignors: tuple[str, ...] = ("uniform", "range")) -> list[dict[object, frozenset[int]]]:
        draft = Draft(group_of(*members, epoch=6))  # type: ignore[arg-type]
        update_target(draft, topics(a=1, b=1), GroupLimits(1, 1, 0, 9, assignors), 10_000)
        return [dict(draft.group.targets[name]) for name in ("m", "n")]

    both = ("a", "b")
    everything = [{A: frozenset({0}), B: frozenset({0})}, {}]
    assert dealt(member("m", topic_names=both), member("n", topic_names=both), assignors=("range", "uniform")) == everything
    assert dealt(member("m", topic_names=both, server_assignor="range"), member("n", topic_names=both)) == everything
    assert [len(one) for one in dealt(member("m", topic_names=both), member("n", topic_names=both))] == [1, 1]


def test_equal_but_for_empty_topics() -> None:
    assert same(parts(0), {**parts(0), B: frozenset()})
    assert same({}, {A: frozenset()})
    assert not same(parts(0), parts(0, 1))
    assert not same(parts(0), parts(0, of=B))


def test_tombstones_leave_nothing_of_a_group() -> None:
    shard = GroupShard(0)
    draft = Draft(ConsumerGroup("g"))
    draft.put_member(member("m", instance_id="i", assigned=parts(0)))
    draft.put_member(member("n"))
    draft.put_target("m", parts(0))
    draft.put_target("gone", parts(1))
    draft.write(ConsumerGroupRegularExpressionKey("g", "x"), ConsumerGroupRegularExpressionValue(["a"], 1, 1))
    draft.put_epoch(5, 0)
    draft.put_assignment_epoch(5, 0)
    latest: dict[bytes, bytes | None] = {}
    for record in [*draft.records, *group_tombstones(draft.group)]:
        shard.replay(record.key, record.value, offset=0, producer_id=-1, producer_epoch=-1, timestamp_ms=0)
        latest[record.key] = record.value
    assert set(latest.values()) == {None}
    assert shard.consumer_groups == {}
    never_assigned = group_of(epoch=1, assigned=0)
    assert kinds(group_tombstones(never_assigned)) == ["-Metadata"]
