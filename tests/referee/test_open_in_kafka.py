"""A graduated directory opened by a real Apache Kafka: the same records, ends, producers, transactions and groups.

The source is either the recorded directory of a killed Kafka (all codecs, several segments, a compacted topic, aborted and
open transactions, pending group offsets) or one that oncelog wrote, once with partitions that lost their ends.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient
from oncelog.broker.commands.client.cluster import Cluster
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.internal.share_state import StateBatch
from oncelog.protocol.names import CONSUMER_OFFSETS, SHARE_GROUP_STATE
from oncelog.protocol.records import iter_records, patch_offset
from oncelog.storage.audit.findings import Findings, Kind
from oncelog.storage.audit.groups import replay_group_offsets
from oncelog.storage.audit.raw_directory import BatchAt, PartitionFolder, map_file, scan_log
from oncelog.storage.audit.verify import verify
from oncelog.storage.moving.graduate import Plan, plan
from referee.apache_kafka import ApacheKafka, available, run_class
from referee.moving import moved_into_kafka, wait_for
from support.golden_storage import unpack
from support.our_directory import OurDirectory
from support.share_requests import SharePartition, have_coordinator, when_loaded
from support.wire import Connection

pytestmark = [pytest.mark.referee, pytest.mark.timeout(400), pytest.mark.skipif(not available(), reason="needs Java and Maven")]


LOST = {"plain-0", "comp-0"}  # by a source of that name


@dataclass
class Move:
    """A finished move: where from, what was planned, what runs now."""

    source: Path
    plan: Plan
    kafka: ApacheKafka

    def folders(self) -> list[PartitionFolder]:
        return [folder for folder in self.plan.source.partitions.values() if not folder.topic.startswith("__")]


def batches_of(folder: PartitionFolder) -> Iterator[BatchAt]:
    for base in folder.bases:
        yield from (item for item in scan_log(map_file(folder.file(base, "log"))) if isinstance(item, BatchAt))


def source_directory(name: str, folder: Path) -> Path:
    if name == "kafka":
        return unpack("killed", folder)
    written = OurDirectory(folder / "data")
    written.fill()
    written.transaction("tx-open", commit=True, finish=False)
    written.close()
    if name == "lost":
        for partition in LOST:
            newest = max((folder / "data" / partition).glob("*.log"))
            newest.write_bytes(newest.read_bytes()[: newest.stat().st_size // 2])
        OurDirectory(folder / "data").close()
    return folder / "data"


@pytest.fixture(scope="module", params=["ours", "lost", "kafka"])
def move(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Move]:
    source = source_directory(request.param, tmp_path_factory.mktemp("source"))
    with moved_into_kafka(source, tmp_path_factory.mktemp("kafka")) as kafka:
        yield Move(source, plan(source), kafka)


def consume(move: Move, isolation: str) -> dict[str, list[tuple[object, ...]]]:
    """Everything Kafka serves, by partition: (offset, timestamp, key, value, headers)."""
    consumer = Consumer(
        {
            "bootstrap.servers": move.kafka.bootstrap,
            "group.id": "referee",
            "enable.auto.commit": False,
            "isolation.level": isolation,
            "enable.partition.eof": True,
            "check.crcs": True,
        }
    )
    served: dict[str, list[tuple[object, ...]]] = {folder.name: [] for folder in move.folders()}
    consumer.assign([TopicPartition(folder.topic, folder.partition, -2) for folder in move.folders()])
    at_end: set[str] = set()
    for _ in wait_for("the end of all partitions", 60.0):
        while (message := consumer.poll(0.2)) is not None:
            name = f"{message.topic()}-{message.partition()}"
            if message.error() is not None:
                at_end.add(name)
            else:
                served[name].append((message.offset(), message.timestamp()[1], message.key(), message.value(), message.headers()))
        if at_end == served.keys():
            break
    consumer.close()
    return served


def stored(move: Move, folder: PartitionFolder) -> list[tuple[object, ...]]:
    start = move.plan.source.checkpoint("log-start-offset-checkpoint").get((folder.topic, folder.partition), 0)
    return [
        (record.offset, record.timestamp, record.key, record.value, record.headers or None)
        for batch in batches_of(folder)
        if not batch.header.is_control
        for record in iter_records(batch.view)
        if record.offset >= start
    ]


def test_no_folder_was_set_aside(move: Move) -> None:
    assert not [path.name for path in move.kafka.data.iterdir() if path.name.endswith("-stray")]


def test_every_record_is_served_as_it_was(move: Move) -> None:
    served = consume(move, "read_uncommitted")
    for folder in move.folders():
        assert served[folder.name] == stored(move, folder), folder.name


def test_read_committed_hides_what_was_aborted_or_is_open(move: Move) -> None:
    served = consume(move, "read_committed")
    report = verify(move.source)
    stable = {line.partition: line.last_stable_offset for line in report.partitions}
    for folder in move.folders():
        hidden = aborted_offsets(folder)
        assert [row[0] for row in served[folder.name]] == [
            row[0] for row in stored(move, folder) if row[0] not in hidden and row[0] < stable[folder.name]
        ], folder.name


def aborted_offsets(folder: PartitionFolder) -> set[object]:
    """Offsets of aborted records, by a walk of its own."""
    hidden: set[object] = set()
    opened: dict[int, list[int]] = {}
    for batch in batches_of(folder):
        header = batch.header
        if header.is_control and header.is_transactional:
            (record,) = iter_records(batch.view)
            assert record.key is not None
            held = opened.pop(header.producer_id, [])
            hidden.update(held if record.key[2:4] == b"\0\0" else [])
        elif header.is_transactional:
            opened.setdefault(header.producer_id, []).extend(range(header.base_offset, header.next_offset))
    return hidden


def test_a_resent_batch_is_recognised(move: Move) -> None:
    """The last batch of every idempotent producer, sent again with the same producer id, epoch and sequence."""
    resent = 0
    with Cluster(move.kafka.bootstrap) as cluster:
        for folder in move.folders():
            last = {batch.header.producer_id: batch for batch in batches_of(folder) if not batch.header.is_control}
            for producer_id, batch in last.items():
                if producer_id < 0 or batch.header.is_transactional or folder.topic in ("ooo", "wrap"):
                    continue
                again = bytearray(batch.view)
                patch_offset(again, 0, -1)
                answer = produce(cluster, folder, bytes(again))
                assert (answer.error_code, answer.base_offset) == (0, batch.header.base_offset), folder.name
                resent += 1
    assert resent >= 1


def produce(cluster: Cluster, folder: PartitionFolder, batch: bytes) -> messages.AnyMessage:
    topic = messages.ProduceRequest.TopicProduceData
    request = messages.ProduceRequest(
        transactional_id=None,
        acks=-1,
        timeout_ms=5000,
        topic_data=[topic(name=folder.topic, partition_data=[topic.PartitionProduceData(index=folder.partition, records=batch)])],
    )
    answer = cluster.leader(folder.topic, folder.partition).send(ApiKey.PRODUCE, request, version=11)
    return answer.responses[0].partition_responses[0]


def test_groups_resume_where_they_were(move: Move) -> None:
    expected: dict[str, dict[tuple[str, int], int]] = {}
    for folder in move.plan.source.partitions.values():
        if folder.topic == CONSUMER_OFFSETS:
            for (group, topic, partition), entry in replay_group_offsets(folder, Findings()).committed.items():
                if entry.offset is not None:
                    expected.setdefault(group, {})[topic, partition] = entry.offset
    assert expected
    admin = AdminClient({"bootstrap.servers": move.kafka.bootstrap})
    for group, offsets in expected.items():
        for _ in wait_for(f"the offsets of {group}"):
            wanted = [TopicPartition(topic, partition) for topic, partition in offsets]
            (future,) = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group, wanted)]).values()
            found = {(one.topic, one.partition): one.offset for one in future.result().topic_partitions}
            if found == offsets:
                break


def test_share_groups_go_on_where_they_were(move: Move) -> None:
    """A member joins: nothing is begun anew, records in flight keep their counts, what was acknowledged stays so."""
    if not move.plan.partitions_of(SHARE_GROUP_STATE):
        pytest.skip("no share groups in it")
    with Connection(move.kafka.bootstrap, timeout=20) as connection:
        named = messages.MetadataRequest.MetadataRequestTopic(topic_id=None, name="plain")
        topic_id = connection.request(ApiKey.METADATA, 12, {"topics": [named], "allow_auto_topic_creation": False}).topics[0].topic_id
        have_coordinator(connection.request)
        one = when_loaded(SharePartition(connection.request, "workers", topic_id))
        other = when_loaded(SharePartition(connection.request, "workers", topic_id, 1))
        for _ in wait_for("the topic at the share coordinator"):
            if one.summary().error_code == other.summary().error_code == 0:
                break
        assert member_has(connection, "workers", topic_id) == [0, 1]
        assert one.read()[:5] == (0, None, 5, 1, [StateBatch(5, 5, 0, 2), StateBatch(6, 6, 2, 2), StateBatch(7, 8, 0, 2)])
        assert other.read()[:5] == (0, None, 2, 1, [])


def member_has(connection: Connection, group: str, topic_id: uuid.UUID) -> list[int]:
    """What a new member of a share group is given of a topic in the end."""
    epoch = 0
    for _ in wait_for("an assignment"):
        answer = connection.request(
            ApiKey.SHARE_GROUP_HEARTBEAT,
            1,
            messages.ShareGroupHeartbeatRequest(
                group_id=group, member_id="m-1", member_epoch=epoch, rack_id=None, subscribed_topic_names=["plain"]
            ),
        )
        if answer.error_code == 0:
            epoch = answer.member_epoch
            given = {one.topic_id: sorted(one.partitions) for one in answer.assignment.topic_partitions} if answer.assignment else {}
            if given.get(topic_id):
                return list(given[topic_id])
    raise AssertionError


def test_after_a_clean_stop_nothing_is_wrong(move: Move) -> None:
    """Kafka's own dump tool and our auditor, on what Kafka rebuilt. Last, because the broker is stopped here."""
    move.kafka.stop()
    report = verify(move.kafka.data)
    gone = {finding.partition for finding in report.errors if "an empty batch stands for them" in finding.message}
    assert len(report.errors) == len(gone)
    assert gone <= LOST
    assert {finding.kind for finding in report.notes} <= {Kind.TRANSACTION_OPEN, Kind.PRODUCER_UNKNOWN, Kind.MARKER_EMPTY}
    for folder in move.folders():
        target = move.kafka.data / folder.name
        files = sorted(str(path) for suffix in ("log", "index", "timeindex") for path in target.glob(f"*.{suffix}"))
        output = run_class("org.apache.kafka.tools.DumpLogSegments", "--deep-iteration", "--files", ",".join(files))
        problems = [line for line in output.splitlines() if "isvalid: false" in line or "ismatch" in line or "Exception" in line]
        assert problems == [], folder.name
        assert "isvalid: true" in output or not stored(move, folder)
    move.kafka.start()
