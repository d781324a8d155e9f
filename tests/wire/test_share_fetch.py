"""Share fetches and acknowledgements that have no recording, as Apache Kafka 4.3.0 answers them."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.records import build_batch
from support.process import wait_until
from support.share_requests import SharePartition, have_coordinator
from support.wire import Connection

GROUP = 32
Batch = tuple[int, int, Sequence[int]]


class ShareClient:
    """A member with a connection of its own; its group and topic are its own too."""

    def __init__(self, bootstrap: str, group: str, topic_id: uuid.UUID, member: str = "") -> None:
        self.connection = Connection(bootstrap, timeout=40)
        self.group, self.topic_id = group, topic_id
        self.member = member or str(uuid.uuid4())
        self.epoch = 0

    def fetch(self, *acks: Batch, partitions: Sequence[int] = (0,), version: int = 2, forget: Sequence[int] = (), **fields: Any) -> Any:
        """The answer; of its partitions when it opens a session, later of those with acknowledgements."""
        named = partitions if self.epoch == 0 else partitions[:1] if acks else ()
        asked = {"max_wait_ms": 500, "min_bytes": 1, "max_bytes": 1 << 20, "max_records": 500, "batch_size": 500} | fields
        asked |= {"topics": [self._topic(named, acks)] if named else []}
        asked |= {"forgotten_topics_data": [{"topic_id": self.topic_id, "partitions": list(forget)}] if forget else []}
        if version > 1:
            asked = {"share_acquire_mode": 0, "is_renew_ack": False} | asked
        known = {"group_id": self.group, "member_id": self.member, "share_session_epoch": self.epoch}
        self.epoch += 1
        return self.connection.request(ApiKey.SHARE_FETCH, version, known | asked)

    def acquired(self, *acks: Batch, **fields: Any) -> list[tuple[int, int, int]]:
        return ranges(self.fetch(*acks, **fields))

    def acknowledge(self, *acks: Batch, version: int = 2, renew: bool = False) -> int:
        """The partition's code."""
        asked: dict[str, Any] = {"group_id": self.group, "member_id": self.member, "share_session_epoch": self.epoch}
        asked |= {"topics": [self._topic((0,), acks)]} | ({"is_renew_ack": renew} if version > 1 else {})
        self.epoch += 1
        answer = self.connection.request(ApiKey.SHARE_ACKNOWLEDGE, version, asked)
        assert not answer.error_code, answer
        return int(answer.responses[0].partitions[0].error_code)

    def _topic(self, partitions: Sequence[int], acks: Sequence[Batch]) -> dict[str, Any]:
        batches = [{"first_offset": first, "last_offset": last, "acknowledge_types": list(types)} for first, last, types in acks]
        named = [{"partition_index": index, "acknowledgement_batches": batches if not at else []} for at, index in enumerate(partitions)]
        return {"topic_id": self.topic_id, "partitions": named}


def ranges(answer: Any) -> list[tuple[int, int, int]]:
    assert not answer.error_code, answer
    found = [partition for topic in answer.responses for partition in topic.partitions]
    assert not any(partition.error_code for partition in found), answer
    return [(each.first_offset, each.last_offset, each.delivery_count) for partition in found for each in partition.acquired_records]


class World:
    """Topics, groups and records over the wire."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self.admin = Connection(bootstrap, timeout=40)
        self.name = f"share-{uuid.uuid4().hex[:8]}"
        self.clients: list[ShareClient] = []
        have_coordinator(self.admin.request)

    def topic(self, partitions: int = 1) -> uuid.UUID:
        topics = [{"name": self.name, "num_partitions": partitions, "replication_factor": 1, "assignments": [], "configs": []}]
        assert not self.admin.request(ApiKey.CREATE_TOPICS, 5, {"topics": topics, "timeout_ms": 10_000}).topics[0].error_code
        kind = messages.MetadataRequest.MetadataRequestTopic
        found: list[uuid.UUID] = []

        def known() -> bool:
            asked = messages.MetadataRequest(topics=[kind(topic_id=uuid.UUID(int=0), name=self.name)], allow_auto_topic_creation=False)
            (topic,) = self.admin.request(ApiKey.METADATA, 12, asked).topics
            found.append(topic.topic_id)
            return bool(not topic.error_code and len(topic.partitions) == partitions and not any(p.error_code for p in topic.partitions))

        wait_until(known, 20.0, "the topic")
        return found[-1]

    def group(self, name: str, topic_id: uuid.UUID, configs: Mapping[str, str] | None = None, partitions: int = 1) -> str:
        """A group that begins at the earliest record and whose share partitions are initialized."""
        group = f"{self.name}-{name}"
        given = {"share.auto.offset.reset": "earliest"} | dict(configs or {})
        settings = [{"name": each, "config_operation": 0, "value": value} for each, value in given.items()]
        resources = [{"resource_type": GROUP, "resource_name": group, "configs": settings}]
        answer = self.admin.request(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, {"resources": resources, "validate_only": False})
        assert not answer.responses[0].error_code, answer
        for index in range(partitions):
            known = SharePartition(self.admin.request, group, topic_id, index)
            wait_until(lambda known=known: not known.initialize(1, -1).error_code, 20.0, "the share partition")  # type: ignore[misc]
        return group

    def member(self, group: str, topic_id: uuid.UUID) -> ShareClient:
        client = ShareClient(self.bootstrap, group, topic_id)
        self.clients.append(client)
        return client

    def produce(self, *sizes: int, partition: int = 0, timestamp_ms: int | None = None, **producer: Any) -> None:
        """One batch of each size."""
        stamp = int(time.time() * 1000) if timestamp_ms is None else timestamp_ms
        for size in sizes:
            batch = bytes(build_batch([(stamp, None, b"v")] * size, **producer))
            data = [{"name": self.name, "partition_data": [{"index": partition, "records": batch}]}]
            asked = {"transactional_id": self.name if producer else None, "acks": -1, "timeout_ms": 10_000, "topic_data": data}
            answer = self.admin.request(ApiKey.PRODUCE, 9, asked)
            assert not answer.responses[0].partition_responses[0].error_code, answer

    def transaction(self, producer: tuple[int, int], sequence: int, *, commit: bool) -> None:
        """Two records, and their marker."""
        id, epoch = producer
        topics = [{"name": self.name, "partitions": [0]}]
        known = {"v3_and_below_transactional_id": self.name, "v3_and_below_producer_id": id, "v3_and_below_producer_epoch": epoch}

        def added() -> bool:
            answer = self.admin.request(ApiKey.ADD_PARTITIONS_TO_TXN, 3, known | {"v3_and_below_topics": topics})
            (result,) = answer.results_by_topic_v3_and_below[0].results_by_partition
            assert result.partition_error_code in (0, 51), answer
            return bool(result.partition_error_code == 0)

        wait_until(added, 20.0, "the transaction")
        self.produce(2, producer_id=id, producer_epoch=epoch, base_sequence=sequence, is_transactional=True)
        asked = {"transactional_id": self.name, "producer_id": id, "producer_epoch": epoch, "committed": commit}
        assert not self.admin.request(ApiKey.END_TXN, 3, asked).error_code

    def producer(self) -> tuple[int, int]:
        asked = {"transactional_id": self.name, "transaction_timeout_ms": 60_000, "producer_id": -1, "producer_epoch": -1}
        found: list[tuple[int, int]] = []

        def begun() -> bool:
            answer = self.admin.request(ApiKey.INIT_PRODUCER_ID, 4, asked)
            found.append((answer.producer_id, answer.producer_epoch))
            return bool(answer.error_code == 0)

        wait_until(begun, 20.0, "a producer id")
        return found[-1]

    def stable_end(self, offset: int) -> None:
        """Wait until the last stable offset is there."""
        partitions = [{"partition_index": 0, "current_leader_epoch": -1, "timestamp": -1}]
        asked = {"replica_id": -1, "isolation_level": 1, "topics": [{"name": self.name, "partitions": partitions}]}

        def there() -> bool:
            answer = self.admin.request(ApiKey.LIST_OFFSETS, 5, asked)
            return bool(answer.topics[0].partitions[0].offset == offset)

        wait_until(there, 20.0, "the marker")


@pytest.fixture
def world(bootstrap: str) -> Iterator[World]:
    made = World(bootstrap)
    yield made
    made.admin.close()
    for client in made.clients:
        client.connection.close()


def test_the_delivery_limit_of_a_group(world: World) -> None:
    topic = world.topic()
    world.produce(1)
    member = world.member(world.group("g", topic, {"share.delivery.count.limit": "2"}), topic)
    for delivery in (1, 2):
        assert member.acquired() == [(0, 0, delivery)]
        assert member.acknowledge((0, 0, [2])) == 0
    assert member.acquired(max_wait_ms=300) == []


def test_gaps_are_acknowledged(world: World) -> None:
    topic = world.topic()
    world.produce(5)
    member = world.member(world.group("g", topic), topic)
    assert member.acquired() == [(0, 4, 1)]
    assert member.acknowledge((0, 4, [0])) == 0
    assert member.acquired(max_wait_ms=300) == []


def test_a_lost_connection_releases(world: World) -> None:
    topic = world.topic()
    world.produce(5)
    group = world.group("g", topic)
    one, two = world.member(group, topic), world.member(group, topic)
    assert one.acquired() == [(0, 4, 1)]
    one.connection.close()
    found: list[tuple[int, int, int]] = []

    def released() -> bool:
        found.extend(two.acquired(max_wait_ms=300))
        return bool(found)

    wait_until(released, 10.0, "the records of the lost member")
    assert found == [(0, 4, 2)]


def test_renewals_switched_off(world: World) -> None:
    topic = world.topic()
    world.produce(5)
    member = world.member(world.group("g", topic, {"share.renew.acknowledge.enable": "false"}), topic)
    assert member.acquired() == [(0, 4, 1)]
    assert member.acknowledge((0, 4, [4]), renew=True) == 121
    assert member.acknowledge((0, 4, [1])) == 0


def test_small_batches_are_portioned(world: World) -> None:
    topic = world.topic()
    world.produce(3, 3, 3, 3)
    assert world.member(world.group("g", topic), topic).acquired(batch_size=5) == [(0, 5, 1), (6, 11, 1)]
    exact = world.member(world.group("exact", topic), topic)
    assert exact.acquired(batch_size=5, share_acquire_mode=1) == [(0, 11, 1)]


def test_version_1(world: World) -> None:
    topic = world.topic()
    world.produce(10)
    member = world.member(world.group("g", topic), topic)
    assert member.acquired(version=1, max_records=3) == [(0, 9, 1)]
    assert member.acknowledge((0, 9, [4]), version=1) == 42
    assert member.acknowledge((0, 9, [1]), version=1) == 0


def test_forgotten_partitions(world: World) -> None:
    topic = world.topic(2)
    group = world.group("g", topic, partitions=2)
    member = world.member(group, topic)
    assert member.acquired(partitions=(0, 1)) == []
    world.produce(1)
    world.produce(1, partition=1)
    answer = member.fetch(forget=(0,))
    assert [p.partition_index for t in answer.responses for p in t.partitions] == [1]
    assert member.acquired(max_wait_ms=300) == []


def test_transactions_uncommitted_and_committed(world: World) -> None:
    """Committed 0-1, marker 2, aborted 3-4, marker 5."""
    topic = world.topic()
    producer = world.producer()
    world.transaction(producer, 0, commit=True)
    world.stable_end(3)
    world.transaction(producer, 2, commit=False)
    world.stable_end(6)
    assert world.member(world.group("all", topic), topic).acquired() == [(0, 5, 1)]
    committed = world.member(world.group("committed", topic, {"share.isolation.level": "read_committed"}), topic)
    assert committed.acquired() == [(0, 2, 1), (5, 5, 1)]
    assert committed.acknowledge((0, 2, [1]), (5, 5, [0])) == 0
    assert committed.acquired(max_wait_ms=300) == []


def test_delete_records_beyond_the_start(world: World) -> None:
    topic = world.topic()
    world.produce(5, 5)
    group = world.group("g", topic)
    member = world.member(group, topic)
    assert member.acquired() == [(0, 9, 1)]
    assert member.acknowledge((0, 9, [2])) == 0
    topics = [{"name": world.name, "partitions": [{"partition_index": 0, "offset": 7}]}]
    assert not world.admin.request(ApiKey.DELETE_RECORDS, 2, {"topics": topics, "timeout_ms": 10_000}).topics[0].partitions[0].error_code
    found: list[tuple[int, int, int]] = []

    def there() -> bool:
        found.extend(member.acquired())  # Apache Kafka's first fetch only notices
        return bool(found)

    wait_until(there, 10.0, "what is left")
    assert found == [(7, 9, 2)]
    assert member.acknowledge((0, 6, [1])) == 0


def test_a_duration_back(world: World) -> None:
    topic = world.topic()
    world.produce(3, timestamp_ms=int(time.time() * 1000) - 2 * 3_600_000)
    world.produce(2)
    group = world.group("g", topic, {"share.auto.offset.reset": "by_duration:PT1H"})
    assert world.member(group, topic).acquired() == [(3, 4, 1)]


def test_those_that_keep_failing_stop_what_is_new(world: World) -> None:
    topic = world.topic()
    world.produce(4)
    member = world.member(world.group("g", topic), topic)
    for delivery in (1, 2, 3):
        assert member.acquired() == [(0, 3, delivery)]
        assert member.acknowledge((0, 3, [2])) == 0
    world.produce(10)
    assert [member.acquired() for _ in range(3)] == [[(0, 1, 4)], [(2, 3, 4)], [(4, 13, 1)]]


@pytest.mark.slow
def test_too_late(world: World) -> None:
    topic = world.topic()
    world.produce(5)
    group = world.group("g", topic, {"share.record.lock.duration.ms": "15000"})
    one, two = world.member(group, topic), world.member(group, topic)
    assert one.acquired() == [(0, 4, 1)]
    assert two.acquired(max_wait_ms=20_000) == [(0, 4, 2)]
    assert one.acknowledge((0, 4, [1])) == 121
    assert two.acknowledge((0, 4, [1])) == 0
