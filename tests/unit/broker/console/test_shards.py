"""What records of the coordinators add up to."""

from __future__ import annotations

import uuid

import pytest
from oncelog.broker.console.shards import assigned, by_producer, groups_of, transaction_of
from oncelog.coordinator.groups.offsets.state import OffsetToCommit, commit_record
from oncelog.coordinator.groups.shard import GroupShard
from oncelog.coordinator.groups.streams.draft import StreamsDraft
from oncelog.coordinator.groups.streams.state import StreamsGroup
from oncelog.coordinator.txn.state import TransactionMetadata, TransactionState
from oncelog.protocol import messages
from oncelog.protocol.internal.records import GroupMetadataKey, GroupMetadataValue, MemberMetadata
from oncelog.protocol.internal.streams_topology import Subtopology
from oncelog.protocol.names import TopicPartition
from support.streams_group import active, member, topology

pytestmark = pytest.mark.unit
PLACE = TopicPartition("t", 0)


def nobody(_id: uuid.UUID) -> None:
    return None


def assignment() -> bytes:
    kind = messages.ConsumerProtocolAssignment
    places = [kind.TopicPartition(topic="t", partitions=[0, 2])]
    return bytes(messages.encode_data("ConsumerProtocolAssignment", 1, kind(assigned_partitions=places, user_data=None)))


def replayed(*commits: tuple[str, int, int]) -> GroupShard:
    """(group, offset, producer id or -1)."""
    shard = GroupShard(0)
    for position, (group, offset, producer_id) in enumerate(commits):
        record = commit_record(group, PLACE, OffsetToCommit(offset, -1, ""), None, 5)
        shard.replay(record.key, record.value, offset=position, producer_id=producer_id, producer_epoch=0, timestamp_ms=5)
    return shard


def test_offsets_committed_and_pending() -> None:
    groups = {group.group_id: group for group in groups_of(replayed(("a", 3, -1), ("a", 9, 7), ("b", 4, 8)), nobody)}
    assert groups["a"].committed[PLACE].offset == 3
    assert groups["a"].pending is not None
    assert [(each.producer_id, each.offset, each.since_ms) for each in groups["a"].pending[PLACE]] == [(7, 9, 5)]
    assert (groups["b"].committed, list(groups["b"].pending or ())) == ({}, [PLACE])


def test_members_of_a_classic_group() -> None:
    shard = GroupShard(0)
    member = MemberMetadata("m", None, "c", "/10.0.0.1", 1, 1, b"", assignment())
    for group, kind in (("a", "consumer"), ("b", "connect")):
        value = GroupMetadataValue(kind, 4, "range", "m", 1, [member])
        shard.replay(GroupMetadataKey(group).encode(), value.encode(), offset=0, producer_id=-1, producer_epoch=-1, timestamp_ms=1)
    consumer, connect = groups_of(shard, nobody)
    assert (consumer.epoch, consumer.members[0].client_host) == (4, "10.0.0.1")
    assert consumer.members[0].partitions == (PLACE, TopicPartition("t", 2))
    assert connect.members[0].partitions == ()


def test_a_streams_group() -> None:
    """Its threads have what their active tasks read; its offsets do not make it another, classic group."""
    shard = replayed(("g", 3, -1))
    draft = StreamsDraft(StreamsGroup("g"))
    thread = member(client_host="/10.0.0.1", assigned=active(0, 2))
    draft.put_member(thread)
    draft.put_tasks(thread)
    draft.put_topology(topology(Subtopology("0", ("t",))))
    for record in draft.records:
        shard.replay(record.key, record.value, offset=9, producer_id=-1, producer_epoch=-1, timestamp_ms=5)
    (group,) = groups_of(shard, nobody)
    assert (group.kind, group.state, group.committed[PLACE].offset) == ("streams", "NotReady", 3)
    assert [(each.client_host, each.partitions) for each in group.members] == [("10.0.0.1", (PLACE, TopicPartition("t", 2)))]


@pytest.mark.parametrize("garbage", [b"", b"\x00", b"\x00\x01\xff\xff\xff\x7f", b"no assignment at all"])
def test_an_assignment_that_is_none(garbage: bytes) -> None:
    assert assigned(garbage) == ()


def test_transactions() -> None:
    txn = TransactionMetadata("t", 7, 3, 60_000, TransactionState.ONGOING, 5, frozenset({PLACE}), 4, previous_producer_id=6)
    seen = transaction_of(txn)
    assert (seen.state, seen.start_ms, seen.aborts_at_ms, set(seen.producer_ids)) == ("Ongoing", 4, 60_005, {6, 7})
    idle = transaction_of(txn._replace(transactional_id="i", state=TransactionState.COMPLETE_ABORT))
    assert (idle.start_ms, idle.aborts_at_ms) == (None, None)
    assert by_producer([seen, idle])[7] is seen
    assert by_producer([idle, seen])[7] is seen
