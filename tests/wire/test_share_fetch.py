"""Share fetches and acknowledgements that have no recording, as Apache Kafka 4.3.0 answers them."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from oncelog.protocol.api_keys import ApiKey
from support.process import wait_until
from support.share_wire import World


@pytest.fixture
def world(bootstrap: str) -> Iterator[World]:
    made = World(bootstrap)
    yield made
    made.close()


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
