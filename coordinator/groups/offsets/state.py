"""Committed offsets and those that wait for a transaction, as replay of `__consumer_offsets` adds them up (Kafka's OffsetMetadataManager).

A record in a transactional batch is pending under its producer id until a marker ends the transaction: COMMIT moves it among the committed
ones unless something with a higher position in the log is there already, ABORT drops it. A tombstone removes the committed offset and the
pending ones of every producer.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from oncelog.coordinator.result import CoordinatorRecord
from oncelog.protocol.internal.records import OffsetCommitKey, OffsetCommitValue
from oncelog.protocol.names import TopicPartition

MEMBER_EPOCH_API = 9  # OffsetCommit and OffsetFetch know member epochs, and groups that are not there, from here on


class OffsetToCommit(NamedTuple):
    """What a client wants to have committed for a partition."""

    offset: int
    leader_epoch: int
    metadata: str


@dataclass(frozen=True, slots=True)
class CommittedOffset:
    """A committed offset; `position` is the record's offset in the log. `expire_timestamp_ms` -1: the group's retention decides."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int
    position: int
    topic_id: uuid.UUID | None = None


def commit_record(
    group_id: str, place: TopicPartition, wanted: OffsetToCommit, topic_id: uuid.UUID | None, now_ms: int
) -> CoordinatorRecord:
    """The record of a commit, in the version that Kafka 4.1 and later write."""
    value = OffsetCommitValue(
        wanted.offset, wanted.leader_epoch, wanted.metadata, now_ms, topic_id=topic_id if topic_id is not None and topic_id.int else None
    )
    key = OffsetCommitKey(group_id, place.topic, place.partition)
    return CoordinatorRecord(key.encode(), value.encode(), (key, value))


def tombstone(group_id: str, place: TopicPartition) -> CoordinatorRecord:
    """The record that removes a committed offset."""
    return CoordinatorRecord(OffsetCommitKey(group_id, place.topic, place.partition).encode(), None)


class Offsets:
    """The offsets of all groups of one shard."""

    def __init__(self) -> None:
        self._committed: dict[str, dict[TopicPartition, CommittedOffset]] = {}
        self._pending: dict[int, dict[str, dict[TopicPartition, CommittedOffset]]] = {}

    # -- questions

    def groups(self) -> Iterable[str]:
        """Groups with committed offsets."""
        return self._committed.keys()

    def of(self, group_id: str) -> dict[TopicPartition, CommittedOffset]:
        """The committed offsets of a group."""
        return self._committed.get(group_id, {})

    def is_pending(self, group_id: str, place: TopicPartition) -> bool:
        """Does a transaction that is still open hold an offset for it?"""
        return any(place in groups.get(group_id, ()) for groups in self._pending.values())

    def has_pending(self, group_id: str) -> bool:
        return any(groups.get(group_id) for groups in self._pending.values())

    def pending(self) -> Iterator[tuple[int, str, TopicPartition, CommittedOffset]]:
        """(producer id, group, partition, offset) of every transaction that is still open."""
        for producer_id, groups in self._pending.items():
            for group_id, offsets in groups.items():
                for place, offset in offsets.items():
                    yield producer_id, group_id, place, offset

    def places_of(self, group_id: str) -> set[TopicPartition]:
        """Partitions with a committed or a pending offset."""
        places = set(self.of(group_id))
        for groups in self._pending.values():
            places.update(groups.get(group_id, ()))
        return places

    def groups_with(self, topic: str) -> Iterable[tuple[str, TopicPartition]]:
        """Every (group, partition) of `topic` that has an offset, committed or pending."""
        found = {(group, place) for group, offsets in self._committed.items() for place in offsets if place.topic == topic}
        for groups in self._pending.values():
            found.update((group, place) for group, offsets in groups.items() for place in offsets if place.topic == topic)
        return sorted(found)

    # -- replay

    def replay(self, key: OffsetCommitKey, value: OffsetCommitValue | None, *, position: int, producer_id: int) -> None:
        """One record of the log."""
        place = TopicPartition(key.topic, key.partition)
        if value is None:
            self._remove(key.group, place)
            return
        offset = CommittedOffset(
            value.offset, value.leader_epoch, value.metadata, value.commit_timestamp, value.expire_timestamp, position, value.topic_id
        )
        if producer_id >= 0:
            self._pending.setdefault(producer_id, {}).setdefault(key.group, {})[place] = offset
        else:
            self._committed.setdefault(key.group, {})[place] = offset

    def end_transaction(self, producer_id: int, commit: bool) -> None:
        """A marker: what the producer had pending becomes committed, or was never there."""
        for group_id, offsets in self._pending.pop(producer_id, {}).items():
            if not commit:
                continue
            committed = self._committed.setdefault(group_id, {})
            for place, offset in offsets.items():
                present = committed.get(place)
                if present is None or present.position < offset.position:
                    committed[place] = offset

    def _remove(self, group_id: str, place: TopicPartition) -> None:
        committed = self._committed.get(group_id)
        if committed is not None:
            committed.pop(place, None)
            if not committed:
                del self._committed[group_id]
        for producer_id, groups in list(self._pending.items()):
            pending = groups.get(group_id)
            if pending is not None:
                pending.pop(place, None)
                if not pending:
                    del groups[group_id]
                if not groups:
                    del self._pending[producer_id]
