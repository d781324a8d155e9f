"""What a coordinator's records add up to, as the inspector's values: of a running broker's shards, or of some that were replayed."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from oncelog.broker.console.model import NOBODY, Committed, Group, Member, Owner, PendingOffset, Transaction
from oncelog.coordinator.txn.state import NO_PRODUCER_ID, TransactionMetadata
from oncelog.protocol.names import TopicPartition

if TYPE_CHECKING:
    from oncelog.coordinator.groups.consumer.state import ConsumerGroup
    from oncelog.coordinator.groups.shard import GroupShard
    from oncelog.coordinator.groups.streams.state import StreamsGroup

TopicNames = Callable[[uuid.UUID], str | None]
_Pending: TypeAlias = dict[str, dict[TopicPartition, list[PendingOffset]]]


def transaction_of(txn: TransactionMetadata, owner: Owner = NOBODY) -> Transaction:
    """A transactional id."""
    is_open = not txn.state.is_idle
    known = {txn.producer_id, txn.client_producer_id, txn.previous_producer_id, txn.next_producer_id} - {NO_PRODUCER_ID}
    return Transaction(
        txn.transactional_id,
        txn.producer_id,
        txn.producer_epoch,
        txn.state.wire_name,
        txn.timeout_ms,
        txn.start_timestamp_ms if is_open else None,
        txn.last_update_timestamp_ms,
        txn.deadline_ms,
        txn.client_transaction_version,
        txn.partitions,
        tuple(known),
        owner,
    )


def groups_of(shard: GroupShard, topic_name: TopicNames) -> Iterator[Group]:
    """Every group of a shard, with offsets; what made it rebalance is not in its records."""
    pending = _pending(shard)
    for group in shard.groups.values():
        found = Group(group.group_id, "classic", group.state.value, group.protocol_type, group.protocol_name, group.generation_id)
        if group.protocol_type in ("consumer", None):
            found.members = [
                Member(each.member_id, each.group_instance_id, each.client_id, _host(each.client_host), assigned(each.assignment))
                for each in group.members.values()
            ]
        else:
            found.members = [
                Member(each.member_id, each.group_instance_id, each.client_id, _host(each.client_host), ())
                for each in group.members.values()
            ]
        yield _with_offsets(found, shard, pending)
    for consumer in shard.consumer_groups.values():
        yield _with_offsets(_consumer_group(consumer, topic_name), shard, pending)
    for streams in shard.streams_groups.values():
        yield _with_offsets(_streams_group(streams), shard, pending)
    known = shard.groups.keys() | {group.group_id for group in shard.heartbeat_groups()}
    for group_id in {*shard.offsets.groups(), *pending} - known:
        yield _with_offsets(Group(group_id, "classic", "Empty"), shard, pending)


def _consumer_group(group: ConsumerGroup, topic_name: TopicNames) -> Group:
    members = [
        Member(
            each.member_id,
            each.instance_id,
            each.client_id,
            _host(each.client_host),
            tuple(
                TopicPartition(name, number)
                for id, numbers in each.assigned.items()
                if (name := topic_name(id)) is not None
                for number in sorted(numbers)
            ),
        )
        for each in group.members.values()
    ]
    return Group(group.group_id, "consumer", group.state.value, "consumer", None, group.epoch, members)


def _streams_group(group: StreamsGroup) -> Group:
    """A thread has the partitions that its active tasks read."""
    members = [
        Member(each.member_id, each.instance_id, each.client_id, _host(each.client_host), group.partitions_of(each))
        for each in group.members.values()
    ]
    return Group(group.group_id, "streams", group.state.value, "streams", None, group.epoch, members)


def _with_offsets(group: Group, shard: GroupShard, pending: _Pending) -> Group:
    offsets = shard.offsets.of(group.group_id)
    group.committed = {place: Committed(each.offset, each.commit_timestamp_ms) for place, each in offsets.items()}
    group.pending = pending.get(group.group_id, {})
    return group


def _pending(shard: GroupShard) -> _Pending:
    found: _Pending = {}
    for producer_id, group_id, place, offset in shard.offsets.pending():
        waiting = PendingOffset(producer_id, None, offset.offset, offset.commit_timestamp_ms)
        found.setdefault(group_id, {}).setdefault(place, []).append(waiting)
    return found


def _host(stored: str) -> str:
    """Kafka writes an address as Java prints it, with a slash."""
    return stored.removeprefix("/")


@lru_cache(maxsize=4096)
def assigned(assignment: bytes) -> tuple[TopicPartition, ...]:
    """Partitions of a classic consumer; nothing for what only its own kind can read."""
    from oncelog.protocol import messages

    if not assignment:
        return ()
    try:
        decoded = messages.decode_data("ConsumerProtocolAssignment", assignment)
    except ValueError:
        return ()
    return tuple(TopicPartition(topic.topic, number) for topic in decoded.assigned_partitions for number in topic.partitions)


def by_producer(transactions: Iterable[Transaction]) -> dict[int, Transaction]:
    """Who has a producer id; of several the one that is open."""
    found: dict[int, Transaction] = {}
    for each in transactions:
        for id in each.producer_ids:
            if id not in found or each.is_open:
                found[id] = each
    return found
