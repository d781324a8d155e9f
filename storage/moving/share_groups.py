"""What share groups know of topics by their ids, in the ids of the cluster that takes over, where the topics are new.

`__share_group_state` is written anew, as its partitions follow from topic ids. Its leader epochs become 0: those of the new topics begin
there, and a known one would fence every leader. In `__consumer_offsets` the newest record of each group that names its share partitions is
said once more behind everything else, or the new cluster would take them for new, and begin them anew.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from oncelog.protocol.internal.records import CorruptRecord, decode_key, decode_value
from oncelog.protocol.internal.share_groups import NamedTopic, ShareGroupStatePartitionMetadataKey, ShareGroupStatePartitionMetadataValue
from oncelog.protocol.internal.share_state import ShareSnapshotKey, ShareSnapshotValue, ShareUpdateKey, ShareUpdateValue
from oncelog.protocol.names import CONSUMER_OFFSETS, SHARE_GROUP_STATE
from oncelog.protocol.primitives import partition_for, uuid_to_kafka
from oncelog.protocol.records import Record, build_batch, iter_records
from oncelog.storage.audit.raw_directory import BatchAt
from oncelog.storage.moving.kafka_topics import KafkaTopic

Ids = Mapping[uuid.UUID, uuid.UUID]  # of a topic, before and after
_NAMES_ITS_TOPICS = b"\x00\x0f"  # how a key of type 15 begins


class MovedRecord(NamedTuple):
    """A record of `__share_group_state` as it shall stand there, and in which partition."""

    partition: int
    timestamp_ms: int
    key: bytes
    value: bytes | None


def new_ids(before: Iterable[KafkaTopic], after: Iterable[KafkaTopic]) -> Ids:
    """Those of the topics that are in both, by their names."""
    there = {topic.name: topic.topic_id for topic in after}
    return {topic.topic_id: there[topic.name] for topic in before if topic.name in there}


def moved_state(batch: BatchAt, ids: Ids, partitions: int, log_start: int) -> Iterator[MovedRecord]:
    """The records of a batch, but those of topics that are gone, and those in front of the log start."""
    for record in iter_records(batch.view) if not batch.header.is_control else ():
        moved = _moved(record, ids, partitions) if record.offset >= log_start else None
        if moved is not None:
            yield moved


def _moved(record: Record, ids: Ids, partitions: int) -> MovedRecord | None:
    key = decode_key(SHARE_GROUP_STATE, record.key or b"")
    if not isinstance(key, ShareSnapshotKey | ShareUpdateKey) or key.topic_id not in ids:
        return None
    value = decode_value(key, record.value)
    key = key._replace(topic_id=ids[key.topic_id])
    partition = partition_for(f"{key.group_id}:{uuid_to_kafka(key.topic_id)}:{key.partition}", partitions)
    encoded = replace(value, leader_epoch=0).encode() if isinstance(value, ShareSnapshotValue | ShareUpdateValue) else None
    return MovedRecord(partition, record.timestamp, key.encode(), encoded)


class NamedShareTopics:
    """What the groups of one partition of `__consumer_offsets` say last of their share partitions."""

    def __init__(self, ids: Ids) -> None:
        self._ids = ids
        self._newest: dict[ShareGroupStatePartitionMetadataKey, ShareGroupStatePartitionMetadataValue] = {}
        self._latest_ms = -1

    def see(self, batch: BatchAt) -> None:
        """Batch by batch, in their order."""
        header = batch.header
        if header.is_control or (header.codec == 0 and _NAMES_ITS_TOPICS not in bytes(batch.view)):
            return
        for record in iter_records(batch.view):
            if (record.key or b"")[:2] == _NAMES_ITS_TOPICS:
                self._take(record)

    def _take(self, record: Record) -> None:
        try:
            key = decode_key(CONSUMER_OFFSETS, record.key or b"")
            value = decode_value(key, record.value)
        except CorruptRecord:
            return  # it means nothing to the new cluster either
        assert isinstance(key, ShareGroupStatePartitionMetadataKey)
        if isinstance(value, ShareGroupStatePartitionMetadataValue):
            self._newest[key] = value
            self._latest_ms = record.timestamp
        else:
            self._newest.pop(key, None)

    def again(self, base_offset: int) -> bytearray | None:
        """A batch that says it in the new ids; None when there is nothing to say."""
        if not self._newest:
            return None
        rows = []
        for key, value in self._newest.items():
            here = ShareGroupStatePartitionMetadataValue(
                self._renamed(value.initializing), self._renamed(value.initialized), self._renamed(value.deleting)
            )
            rows.append((self._latest_ms, key.encode(), here.encode()))
        return build_batch(rows, base_offset=base_offset, base_sequence=0)

    def _renamed(self, topics: list[NamedTopic]) -> list[NamedTopic]:
        return [topic._replace(topic_id=self._ids[topic.topic_id]) for topic in topics if topic.topic_id in self._ids]
