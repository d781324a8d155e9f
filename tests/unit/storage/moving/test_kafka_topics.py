"""Topics out of the KRaft metadata log: the recorded directories, snapshots, removals, metadata transactions."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest
from oncelog.protocol.primitives import unsigned_varint, uuid_to_kafka
from oncelog.protocol.records import build_batch
from oncelog.storage.moving.kafka_topics import KafkaTopic, MalformedMetadata, topics_from_kafka
from support.golden_storage import facts, unpack

ORDERS, STOCK = uuid.UUID(int=1), uuid.UUID(int=2)


def compact(text: str | None) -> bytes:
    return b"\0" if text is None else unsigned_varint(len(text) + 1) + text.encode()


def frame(kind: int, body: bytes) -> bytes:
    return b"\x01" + unsigned_varint(kind) + b"\0" + body + b"\0"


def topic(name: str, topic_id: uuid.UUID) -> bytes:
    return frame(2, compact(name) + topic_id.bytes)


def partition(number: int, topic_id: uuid.UUID) -> bytes:
    return frame(3, number.to_bytes(4) + topic_id.bytes)


def config(name: str, option: str, value: str | None) -> bytes:
    return frame(4, b"\x02" + compact(name) + compact(option) + compact(value))


def removed(topic_id: uuid.UUID) -> bytes:
    return frame(9, topic_id.bytes)


def write(folder: Path, name: str, *batches: tuple[int, list[bytes]]) -> None:
    folder.mkdir(exist_ok=True)
    data = b"".join(bytes(build_batch([(0, None, value) for value in values], base_offset=base)) for base, values in batches)
    (folder / name).write_bytes(data)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "__cluster_metadata-0"


@pytest.mark.parametrize("name", ["clean", "killed"])
def test_a_recorded_directory(name: str, tmp_path: Path) -> None:
    found = {topic.name: topic for topic in topics_from_kafka(unpack(name, tmp_path))}
    known = facts(name)["metadata"]
    assert {name: uuid_to_kafka(topic.topic_id) for name, topic in found.items()} == known["topics"]
    assert {name: topic.configs for name, topic in found.items() if topic.configs} == known["configs"]
    folders = {path.name for path in (tmp_path / name).iterdir() if path.is_dir() and path.name != "__cluster_metadata-0"}
    assert {f"{name}-{number}" for name, topic in found.items() for number in range(topic.partitions)} == folders


def test_no_metadata_log_means_no_topics(tmp_path: Path) -> None:
    assert topics_from_kafka(tmp_path) == []


def test_a_removed_topic_is_gone_with_its_configs(log: Path, tmp_path: Path) -> None:
    values = [topic("orders", ORDERS), config("orders", "retention.ms", "1"), removed(ORDERS), topic("orders", STOCK), partition(0, STOCK)]
    write(log, f"{0:020d}.log", (0, values))
    assert topics_from_kafka(tmp_path) == [KafkaTopic("orders", STOCK, 1, {})]


def test_a_config_set_to_null_is_gone(log: Path, tmp_path: Path) -> None:
    write(log, f"{0:020d}.log", (0, [topic("a", ORDERS), config("a", "x", "1"), config("a", "y", "2"), config("a", "x", None)]))
    assert topics_from_kafka(tmp_path)[0].configs == {"y": "2"}


def test_the_newest_snapshot_replaces_what_is_in_front_of_it(log: Path, tmp_path: Path) -> None:
    write(log, f"{0:020d}.log", (0, [topic("old", ORDERS)]), (10, [partition(1, STOCK)]))
    write(log, f"{5:020d}-{1:010d}.checkpoint", (0, [topic("older", ORDERS)]))
    write(log, f"{10:020d}-{1:010d}.checkpoint", (0, [topic("stock", STOCK), partition(0, STOCK)]))
    assert topics_from_kafka(tmp_path) == [KafkaTopic("stock", STOCK, 2, {})]


@pytest.mark.parametrize(("end", "names"), [(24, ["orders"]), (25, [])])
def test_a_metadata_transaction_counts_when_it_ended(log: Path, tmp_path: Path, end: int, names: list[str]) -> None:
    write(log, f"{0:020d}.log", (0, [frame(23, b"\0"), topic("orders", ORDERS), frame(end, b"")]))
    assert [topic.name for topic in topics_from_kafka(tmp_path)] == names


def test_a_torn_tail_ends_the_log(log: Path, tmp_path: Path) -> None:
    write(log, f"{0:020d}.log", (0, [topic("a", ORDERS)]), (1, [topic("b", STOCK)]))
    path = log / f"{0:020d}.log"
    path.write_bytes(path.read_bytes()[:-1])
    assert [topic.name for topic in topics_from_kafka(tmp_path)] == ["a"]


@pytest.mark.parametrize("value", [b"\x02\x02\x00", b"\x01", b"\x01\x02\x00\x05ab", b"\x01\xff\xff\xff\xff\xff"])
def test_bytes_that_are_no_record(log: Path, tmp_path: Path, value: bytes) -> None:
    write(log, f"{0:020d}.log", (0, [value]))
    with pytest.raises(MalformedMetadata):
        topics_from_kafka(tmp_path)
