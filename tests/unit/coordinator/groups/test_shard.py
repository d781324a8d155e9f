"""Groups and offsets as the records of `__consumer_offsets` add up to them, live and after a restart."""

from __future__ import annotations

from dataclasses import replace

import pytest
from oncelog.coordinator.groups.classic.state import ClassicGroup, ClassicGroupState, ClassicMember, MemberProtocol
from oncelog.coordinator.groups.consumer.draft import Draft
from oncelog.coordinator.groups.consumer.state import ConsumerGroup
from oncelog.coordinator.groups.offsets.state import OffsetToCommit, commit_record, tombstone
from oncelog.coordinator.groups.shard import GroupShard, group_record, group_tombstone, loaded_shard
from oncelog.coordinator.result import CoordinatorRecord
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.internal.consumer_groups import (
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupTargetAssignmentMemberKey,
)
from oncelog.protocol.names import TopicPartition
from support.consumer_group import A, member
from support.group_machine import Machine

S = ClassicGroupState
PLACE = TopicPartition("a", 0)


def replay(shard: GroupShard, record: CoordinatorRecord, *, offset: int = 0, producer_id: int = -1, now_ms: int = 77) -> None:
    shard.replay(record.key, record.value, offset=offset, producer_id=producer_id, producer_epoch=0, timestamp_ms=now_ms)


def commit(shard: GroupShard, offset: int, *, producer_id: int = -1, position: int = 0) -> None:
    replay(shard, commit_record("g", PLACE, OffsetToCommit(offset, -1, ""), None, 1), offset=position, producer_id=producer_id)


def classic(*, state: ClassicGroupState = S.STABLE) -> ClassicGroup:
    group = ClassicGroup("g", state=state, state_timestamp_ms=5, generation_id=3)
    for name, instance in (("m", "i"), ("n", None)):
        protocols = (MemberProtocol("range", b"about " + name.encode()),)
        group.add(ClassicMember(name, instance, "c", "/h", 6_000, 7_000, "consumer", protocols, assignment=b"given " + name.encode()))
    group.protocol_name = "range"
    return group


def test_a_group_comes_back_from_its_record() -> None:
    shard, group = GroupShard(0), classic()
    replay(shard, group_record(group))
    assert shard.groups == {"g": group}
    replay(shard, group_tombstone("g"))
    assert shard.groups == {}


def test_what_was_just_encoded_is_not_decoded_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """And means the same as its bytes."""
    draft = Draft(ConsumerGroup("c"))
    draft.put_member(member())
    draft.put_epoch(3, 7)
    draft.put_target("m", {A: frozenset({0, 1})})
    draft.put_assignment_epoch(3, 5)
    records = [group_record(classic()), *draft.records]
    loaded, live = GroupShard(0), GroupShard(0)
    for record in records:
        replay(loaded, record)
    monkeypatch.setattr("oncelog.coordinator.groups.shard.decode_value", None)
    for record in records:
        live.replay(record.key, record.value, offset=0, producer_id=-1, producer_epoch=0, timestamp_ms=77, content=record.content)
    assert live.groups == loaded.groups
    one, other = (shard.consumer_groups["c"] for shard in (live, loaded))
    assert one.members == other.members
    assert (one.epoch, one.targets, one.assignment_epoch) == (other.epoch, other.targets, other.assignment_epoch)
    assert one.targets


def test_a_group_without_members_comes_back_empty() -> None:
    shard = GroupShard(0)
    group = ClassicGroup("g", state_timestamp_ms=5, generation_id=4, protocol_type="consumer", protocol_name="range", leader="m")
    replay(shard, group_record(group))
    assert shard.groups == {"g": replace(group, protocol_name=None, leader=None)}


def test_the_record_of_a_finished_rebalance_makes_the_live_group_stable() -> None:
    shard, group = GroupShard(0), classic(state=S.COMPLETING_REBALANCE)
    shard.groups["g"] = group
    replay(shard, group_record(group, {"m": b"1"}), now_ms=99)
    assert shard.groups["g"] is group
    assert (group.state, group.state_timestamp_ms) == (S.STABLE, 99)
    assert {name: one.assignment for name, one in group.members.items()} == {"m": b"1", "n": b""}


@pytest.mark.parametrize("state", [S.PREPARING_REBALANCE, S.STABLE])
def test_the_record_of_a_live_group_changes_it_in_no_other_state(state: ClassicGroupState) -> None:
    shard, group = GroupShard(0), classic(state=state)
    shard.groups["g"] = group
    replay(shard, group_record(group, {"m": b"1"}))
    assert shard.groups["g"] is group
    assert (group.state, group.members["m"].assignment) == (state, b"given m")


def test_the_record_of_another_generation_or_other_members_replaces_the_group() -> None:
    for other in (replace(classic(), generation_id=4), classic()):
        if other.generation_id == 3:
            other.remove("n")
        shard, live = GroupShard(0), classic()
        shard.groups["g"] = live
        replay(shard, group_record(other))
        assert shard.groups["g"] is not live
        assert shard.groups["g"] == other


def test_offsets_make_a_group_that_ever_only_had_offsets() -> None:
    shard = GroupShard(0)
    replay(shard, tombstone("g", PLACE))
    assert shard.groups == {}
    commit(shard, 7)
    assert shard.groups["g"].is_simple
    replay(shard, group_record(classic()))
    commit(shard, 8)
    assert shard.groups["g"] == classic()
    assert shard.offsets.of("g")[PLACE].offset == 8


def test_offsets_of_a_transaction_wait_for_its_marker() -> None:
    shard = GroupShard(0)
    for commits, expected in ((False, {}), (True, {PLACE: 9})):
        commit(shard, 9, producer_id=5, position=20)
        assert shard.offsets.is_pending("g", PLACE)
        shard.replay_marker(5, 0, commits, 30)
        assert {place: one.offset for place, one in shard.offsets.of("g").items()} == expected


def test_any_record_with_a_value_makes_a_consumer_group_in_place_of_a_classic_one() -> None:
    for key, value in (
        (ConsumerGroupMetadataKey("g"), ConsumerGroupMetadataValue(3, 0)),
        (ConsumerGroupMemberMetadataKey("g", "m"), member().wants()),
    ):
        shard = GroupShard(0)
        replay(shard, group_record(classic()))
        replay(shard, CoordinatorRecord(key.encode(), value.encode()))
        assert (list(shard.groups), list(shard.consumer_groups)) == ([], ["g"])
    commit(shard, 1)
    assert shard.groups == {}


def test_tombstones_make_no_group() -> None:
    shard = GroupShard(0)
    for key in (
        ConsumerGroupMetadataKey("g"),
        ConsumerGroupMemberMetadataKey("g", "m"),
        ConsumerGroupTargetAssignmentMemberKey("g", "m"),
        ConsumerGroupPartitionMetadataKey("g"),
    ):
        replay(shard, CoordinatorRecord(key.encode(), None))
    assert (shard.groups, shard.consumer_groups) == ({}, {})


def test_a_consumer_group_that_goes_leaves_its_offsets_to_a_simple_one() -> None:
    for with_offsets in (False, True):
        shard = GroupShard(0)
        replay(shard, CoordinatorRecord(ConsumerGroupMetadataKey("g").encode(), ConsumerGroupMetadataValue(3, 0).encode()))
        if with_offsets:
            commit(shard, 1)
        replay(shard, CoordinatorRecord(ConsumerGroupMetadataKey("g").encode(), None))
        assert shard.consumer_groups == {}
        assert list(shard.groups) == ["g"] * with_offsets


def test_the_shard_of_a_group_is_there_when_all_is_loaded(machine: Machine) -> None:
    runtime = machine.groups.runtime
    assert loaded_shard(runtime, "g") is runtime.shard_of("g")
    with pytest.raises(KafkaError) as refused:
        loaded_shard(runtime, "")
    assert refused.value.code is ErrorCode.INVALID_GROUP_ID
    runtime.loading = True
    with pytest.raises(KafkaError) as refused:
        loaded_shard(runtime, "g")
    assert refused.value.code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
