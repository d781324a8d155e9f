"""The share coordinator over the wire: what the recordings leave out. Other brokers and administrators' tools ask it."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.names import CONSUMER_OFFSETS, SHARE_GROUP_STATE
from oncelog.protocol.primitives import partition_for
from oncelog.protocol.records import build_batch
from support.golden_share import fetched_records, state_records
from support.process import wait_until
from support.share_requests import ACKNOWLEDGED, AVAILABLE, SharePartition, batch, have_coordinator, when_loaded
from support.wire import Connection

INVALID_REQUEST, UNKNOWN_TOPIC_OR_PARTITION = 42, 3
ENDS_OF_A_GROUP = {"ShareGroupTargetAssignmentMetadata", "ShareGroupMetadata", "ShareGroupStatePartitionMetadata"}
NO_HOST = "This server does not host this topic-partition."
NEGATIVE = "The partition id cannot be a negative number."
KEYS = [
    (ApiKey.INITIALIZE_SHARE_GROUP_STATE, "InitializeStateData"),
    (ApiKey.READ_SHARE_GROUP_STATE, "ReadStateData"),
    (ApiKey.WRITE_SHARE_GROUP_STATE, "WriteStateData"),
    (ApiKey.DELETE_SHARE_GROUP_STATE, "DeleteStateData"),
    (ApiKey.READ_SHARE_GROUP_STATE_SUMMARY, "ReadStateSummaryData"),
]


@pytest.fixture
def connection(bootstrap: str) -> Iterator[Connection]:
    with Connection(bootstrap, timeout=15) as opened:
        have_coordinator(opened.request)
        yield opened


@pytest.fixture
def partition(connection: Connection, name: str) -> SharePartition:
    kind = messages.CreateTopicsRequest.CreatableTopic
    topic = kind(name=name, num_partitions=2, replication_factor=1, assignments=[], configs=[])
    answer = connection.request(ApiKey.CREATE_TOPICS, 7, {"topics": [topic], "timeout_ms": 10_000, "validate_only": False}).topics[0]
    assert answer.error_code == 0, answer
    found = when_loaded(SharePartition(connection.request, f"g-{name}", answer.topic_id))
    wait_until(lambda: found.summary().error_code == 0, 15.0, "the topic")
    return found


def test_case_p04_partitions_that_are_not_there(connection: Connection, partition: SharePartition) -> None:
    nowhere = when_loaded(SharePartition(connection.request, partition.group, uuid.UUID(int=5)))
    beyond = when_loaded(SharePartition(connection.request, partition.group, partition.topic_id, 7))
    for one in (nowhere, beyond):
        for told in (one.initialize(), one.delete(), one.summary()):
            assert told[:2] == (UNKNOWN_TOPIC_OR_PARTITION, NO_HOST)
    negative = SharePartition(connection.request, partition.group, partition.topic_id, -1)
    for told in (negative.initialize(), negative.read(), negative.write(), negative.delete(), negative.summary()):
        assert told[:2] == (INVALID_REQUEST, NEGATIVE)


@pytest.mark.parametrize(("key", "data"), KEYS, ids=[key.name for key, _ in KEYS])
def test_case_p04_nothing_to_do_is_answered_with_nothing(connection: Connection, partition: SharePartition, key: ApiKey, data: str) -> None:
    request = getattr(messages, f"{key.schema_name}Request")
    kind = getattr(request, data)
    whole = kind(topic_id=partition.topic_id, partitions=[kind.PartitionData(partition=0)])
    hollow = kind(topic_id=partition.topic_id, partitions=[])
    for group, topics in (("", [whole]), ("g", []), ("g", [hollow])):
        assert connection.request(key, 0, request(group_id=group, topics=topics)).results == []


def test_case_p06_the_start_offset_prunes_and_minus_one_keeps_it(partition: SharePartition) -> None:
    assert partition.initialize().error_code == 0
    assert partition.write(batch(0, 9), batch(10, 14, ACKNOWLEDGED)).error_code == 0
    assert partition.write(start=5).error_code == 0
    assert partition.read()[2:5] == (5, 0, [batch(5, 9), batch(10, 14, ACKNOWLEDGED)])
    assert partition.write(batch(7, 7, ACKNOWLEDGED), start=-1).error_code == 0
    assert partition.read()[2:5] == (5, 0, [batch(5, 6), batch(7, 7, ACKNOWLEDGED), batch(8, 9), batch(10, 14, ACKNOWLEDGED)])
    assert partition.write(start=12).error_code == 0
    assert partition.read()[2:5] == (12, 0, [batch(12, 14, ACKNOWLEDGED)])
    assert partition.write(start=2).error_code == 0
    assert partition.read()[2:5] == (2, 0, [batch(12, 14, ACKNOWLEDGED)])


def test_case_p08_a_snapshot_after_500_updates(bootstrap: str, partition: SharePartition) -> None:
    assert partition.initialize().error_code == 0
    for n in range(502):
        assert partition.write(batch(n, n, ACKNOWLEDGED), start=max(n - 1, 0), complete=1).error_code == 0
    found = state_records(bootstrap, partition)
    kinds = [row["record"] for row in found]
    assert kinds == ["ShareSnapshot", *["ShareUpdate"] * 500, "ShareSnapshot", "ShareUpdate"]
    snapshot = found[501]["value"]
    assert (snapshot["snapshot_epoch"], snapshot["start_offset"], snapshot["delivery_complete_count"]) == (1, 499, 1)
    assert snapshot["state_batches"] == [{"first_offset": 499, "last_offset": 500, "delivery_state": 2, "delivery_count": 1}]
    assert found[502]["value"]["snapshot_epoch"] == 1


def test_case_p11_a_deleted_group_leaves_tombstones(bootstrap: str, connection: Connection, partition: SharePartition, name: str) -> None:
    member = str(uuid.uuid4())
    epoch = 0

    def beat(epoch: int) -> Any:
        asked = {"group_id": partition.group, "member_id": member, "member_epoch": epoch, "rack_id": None}
        return connection.request(ApiKey.SHARE_GROUP_HEARTBEAT, 1, asked | {"subscribed_topic_names": [name] if epoch == 0 else None})

    def assigned() -> bool:
        nonlocal epoch
        answer = beat(epoch)
        if answer.error_code in (14, 15, 16):
            return False
        assert answer.error_code == 0, answer
        epoch = answer.member_epoch
        return bool(answer.assignment is not None and answer.assignment.topic_partitions)

    wait_until(assigned, 30.0, "the assignment")
    assert beat(-1).error_code == 0
    deleted = connection.request(ApiKey.DELETE_GROUPS, 2, {"groups_names": [partition.group]}).results
    assert [one.error_code for one in deleted] == [0]
    of_group = [
        row
        for row in fetched_records(connection, CONSUMER_OFFSETS, partition_for(partition.group, 50))
        if partition.group in row["key"].values()
    ]
    assert {row["record"] for row in of_group if row["value"] is None} >= ENDS_OF_A_GROUP
    assert {row["record"]: row["value"] for row in of_group} == dict.fromkeys({row["record"] for row in of_group})
    for number in (0, 1):
        one = SharePartition(connection.request, partition.group, partition.topic_id, number)
        states = state_records(bootstrap, one)
        assert states[0]["value"] is not None
        assert (states[-1]["record"], states[-1]["value"]) == ("ShareSnapshot", None)
        assert one.summary()[2:4] == (-1, 0)


def test_several_topics_and_partitions_in_a_request(connection: Connection, partition: SharePartition) -> None:
    kind = messages.InitializeShareGroupStateRequest.InitializeStateData
    asked = [kind.PartitionData(partition=n, state_epoch=n, start_offset=10 + n) for n in (0, 1)]
    topics = [kind(topic_id=partition.topic_id, partitions=asked), kind(topic_id=uuid.UUID(int=5), partitions=asked[:1])]
    request = messages.InitializeShareGroupStateRequest(group_id=partition.group, topics=topics)

    def answered() -> Any:
        answer = connection.request(ApiKey.INITIALIZE_SHARE_GROUP_STATE, 0, request)
        codes = {(t.topic_id, p.partition): p.error_code for t in answer.results for p in t.partitions}
        return codes if not {14, 15, 16} & set(codes.values()) else None

    expected = {(partition.topic_id, 0): 0, (partition.topic_id, 1): 0, (uuid.UUID(int=5), 0): UNKNOWN_TOPIC_OR_PARTITION}
    assert wait_until(answered) == expected
    assert partition.summary()[2:4] == (10, 0)
    other = SharePartition(connection.request, partition.group, partition.topic_id, 1)
    assert other.summary()[2:4] == (11, 1)


def test_a_new_life_begins_without_what_was_in_flight(partition: SharePartition) -> None:
    partition.initialize()
    partition.write(batch(0, 9, AVAILABLE, 3), complete=0)
    assert partition.initialize(1, 4).error_code == 0
    assert partition.read()[2:5] == (4, 1, [])
    assert partition.write(batch(4, 4), start=4, state_epoch=1, version=0).error_code == 0
    assert partition.summary()[2:] == (4, 1, None, 0, -1)


def test_the_topic_is_internal(connection: Connection) -> None:
    named = messages.MetadataRequest.MetadataRequestTopic(topic_id=None, name=SHARE_GROUP_STATE)
    topic = connection.request(ApiKey.METADATA, 12, {"topics": [named], "allow_auto_topic_creation": False}).topics[0]
    assert (topic.error_code, topic.is_internal, len(topic.partitions)) == (0, True, 50)
    resource = messages.DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=2,
        resource_name=SHARE_GROUP_STATE,
        configuration_keys=["cleanup.policy", "compression.type", "retention.ms", "segment.bytes"],
    )
    result = connection.request(ApiKey.DESCRIBE_CONFIGS, 4, {"resources": [resource], "include_synonyms": False}).results[0]
    expected = {"cleanup.policy": "delete", "compression.type": "producer", "retention.ms": "-1", "segment.bytes": "104857600"}
    assert {entry.name: entry.value for entry in result.configs} == expected


def test_clients_neither_write_to_it_nor_cut_it(connection: Connection) -> None:
    kind = messages.DeleteRecordsRequest.DeleteRecordsTopic
    topic = kind(name=SHARE_GROUP_STATE, partitions=[kind.DeleteRecordsPartition(partition_index=0, offset=0)])
    cut = connection.request(ApiKey.DELETE_RECORDS, 2, {"topics": [topic], "timeout_ms": 5000}).topics[0].partitions[0]
    assert cut.error_code == 17
    data = messages.ProduceRequest.TopicProduceData
    content = data.PartitionProduceData(index=0, records=bytes(build_batch([(0, b"k", b"v")])))
    produced = connection.request(
        ApiKey.PRODUCE, 9, {"acks": -1, "timeout_ms": 5000, "topic_data": [data(name=SHARE_GROUP_STATE, partition_data=[content])]}
    )
    assert produced.responses[0].partition_responses[0].error_code == 17
