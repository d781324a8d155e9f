"""Share groups move with their positions, though the topics of the new cluster have other ids."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from oncelog.protocol.internal.records import InternalKey, InternalValue, decode_key, decode_value
from oncelog.protocol.internal.share_groups import (
    NamedTopic,
    ShareGroupStatePartitionMetadataKey,
    ShareGroupStatePartitionMetadataValue,
)
from oncelog.protocol.internal.share_state import ShareSnapshotKey, ShareSnapshotValue, ShareUpdateKey, ShareUpdateValue, StateBatch
from oncelog.protocol.names import CONSUMER_OFFSETS, SHARE_GROUP_STATE
from oncelog.protocol.primitives import partition_for, uuid_to_kafka
from oncelog.protocol.records import build_batch, check_crc, iter_records, parse_header
from oncelog.storage.audit.raw_directory import BatchAt, map_file, open_partition_folder, scan_log
from oncelog.storage.moving import graduate
from oncelog.storage.moving.kafka_topics import KafkaTopic
from oncelog.storage.moving.share_groups import NamedShareTopics, moved_state, new_ids
from support.our_directory import OurDirectory

HERE, THERE = uuid.UUID(int=7), uuid.UUID(int=9)
GONE = uuid.UUID(int=8)
BATCH = StateBatch(5, 8, 0, 2)


def batch(*rows: tuple[InternalKey, InternalValue | None], base_offset: int = 0, codec: int = 0) -> BatchAt:
    records = [(1000, key.encode(), None if value is None else value.encode()) for key, value in rows]  # type: ignore[union-attr]
    data = build_batch(records, base_offset=base_offset, codec=codec)
    return BatchAt(0, parse_header(data), memoryview(data))


def decoded(topic: str, found: list[tuple[bytes, bytes | None]]) -> list[tuple[InternalKey, InternalValue | None]]:
    return [(key := decode_key(topic, raw), decode_value(key, value)) for raw, value in found]


def test_ids_are_found_by_name() -> None:
    before = [KafkaTopic("a", HERE, 1, {}), KafkaTopic("gone", GONE, 1, {})]
    assert new_ids(before, [KafkaTopic("b", GONE, 1, {}), KafkaTopic("a", THERE, 1, {})]) == {HERE: THERE}


def test_a_state_moves_to_the_new_id_and_forgets_its_leaders() -> None:
    snapshot, update = ShareSnapshotValue(2, 4, 3, 5, 10, 10, (BATCH,), 1), ShareUpdateValue(2, 3, -1, (BATCH,), 1)
    rows = [
        (ShareSnapshotKey("old", HERE, 0), snapshot),
        (ShareSnapshotKey("g", HERE, 0), snapshot),
        (ShareUpdateKey("g", HERE, 0), update),
        (ShareSnapshotKey("g", GONE, 0), snapshot),
        (ShareSnapshotKey("g", HERE, 1), None),
    ]
    moved = list(moved_state(batch(*rows, base_offset=40), {HERE: THERE}, 50, 41))
    assert decoded(SHARE_GROUP_STATE, [(one.key, one.value) for one in moved]) == [
        (ShareSnapshotKey("g", THERE, 0), ShareSnapshotValue(2, 4, 0, 5, 10, 10, (BATCH,), 1)),
        (ShareUpdateKey("g", THERE, 0), ShareUpdateValue(2, 0, -1, (BATCH,), 1)),
        (ShareSnapshotKey("g", THERE, 1), None),
    ]
    expected = [partition_for(f"g:{uuid_to_kafka(THERE)}:{partition}", 50) for partition in (0, 0, 1)]
    assert [one.partition for one in moved] == expected


@pytest.mark.parametrize("codec", [0, 1])
def test_the_newest_word_on_share_partitions_is_said_again(codec: int) -> None:
    def value(*topics: NamedTopic) -> ShareGroupStatePartitionMetadataValue:
        return ShareGroupStatePartitionMetadataValue(topics[:1], topics[1:], [])  # type: ignore[arg-type]

    a, gone = NamedTopic(HERE, "a", [0, 1]), NamedTopic(GONE, "gone", [0])
    key, ended = ShareGroupStatePartitionMetadataKey("g"), ShareGroupStatePartitionMetadataKey("ended")
    named = NamedShareTopics({HERE: THERE})
    assert named.again(0) is None
    for row in ((key, value(gone)), (ended, value(a)), (key, value(a, gone)), (ended, None)):
        named.see(batch(row, codec=codec))
    again = named.again(77)
    assert again is not None
    assert parse_header(again).base_offset == 77
    ((raw, said),) = [(record.key or b"", record.value) for record in iter_records(again)]
    moved = NamedTopic(THERE, "a", [0, 1])
    assert decoded(CONSUMER_OFFSETS, [(raw, said)]) == [(key, ShareGroupStatePartitionMetadataValue([moved], [], []))]


def records_of(folder: Path, topic: str, partition: int) -> Iterator[tuple[bytes, bytes | None]]:
    found = open_partition_folder(folder / f"{topic}-{partition}", topic, partition)
    offset = 0
    for base in found.bases:
        for item in scan_log(map_file(found.file(base, "log"))):
            assert isinstance(item, BatchAt)
            assert check_crc(item.view)
            assert item.header.base_offset == offset
            offset = item.header.next_offset
            yield from ((record.key or b"", record.value) for record in iter_records(item.view))


def test_a_whole_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = OurDirectory(tmp_path / "source")
    ours.logs.create_topic("plain", 2)
    ours.logs.create_topic(CONSUMER_OFFSETS, 50, {"cleanup.policy": "compact"})
    ours.share_state("workers", "plain", 0, BATCH, StateBatch(6, 6, 2, 1), start=5, leader_epoch=3)
    ours.share_group("workers", "plain", [0, 1])
    ours.close()
    moving = graduate.plan(tmp_path / "source")
    assert [topic.name for topic in moving.user_topics()] == ["plain"]
    assert [topic.name for topic in moving.topics_to_make()] == [SHARE_GROUP_STATE, "plain"]
    target = tmp_path / "target"
    there = [topic._replace(topic_id=uuid.uuid4()) for topic in moving.topics]
    for topic in there:
        for partition in range(topic.partitions):
            (target / f"{topic.name}-{partition}").mkdir(parents=True)
    monkeypatch.setattr(graduate, "topics_from_kafka", lambda _target: there)
    graduate.copy(moving, target)
    topic_id = next(topic.topic_id for topic in there if topic.name == "plain")
    partition = partition_for(f"workers:{uuid_to_kafka(topic_id)}:0", 50)
    found = decoded(SHARE_GROUP_STATE, list(records_of(target, SHARE_GROUP_STATE, partition)))
    assert [type(key) for key, _ in found] == [ShareSnapshotKey, ShareUpdateKey]
    assert {key[:3] for key, _ in found} == {("workers", topic_id, 0)}
    assert sum(len(list(records_of(target, SHARE_GROUP_STATE, n))) for n in range(50)) == 2
    groups = decoded(CONSUMER_OFFSETS, list(records_of(target, CONSUMER_OFFSETS, partition_for("workers", 50))))
    assert groups[-1][0] == ShareGroupStatePartitionMetadataKey("workers")
    assert isinstance(groups[-1][1], ShareGroupStatePartitionMetadataValue)
    assert groups[-1][1].initialized == [NamedTopic(topic_id, "plain", [0, 1])]
    assert SHARE_GROUP_STATE.encode() not in (target / "log-start-offset-checkpoint").read_bytes()
