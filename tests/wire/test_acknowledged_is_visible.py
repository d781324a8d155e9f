"""What was acknowledged, at whatever level, can be read at once: latest offset, fetch that does not wait, deletion up to the end."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.records import build_batch
from support.process import wait_until
from support.simbroker import build
from support.wire import Connection

LATEST = -1
TRIES = 20


@pytest.fixture
def connection(bootstrap: str, name: str) -> Iterator[Connection]:
    with Connection(bootstrap) as made:
        topic = {"name": name, "num_partitions": 2, "replication_factor": 1, "assignments": [], "configs": []}
        request = build(messages.CreateTopicsRequest, {"topics": [topic], "timeout_ms": 10_000, "validate_only": False})
        assert made.request(ApiKey.CREATE_TOPICS, 5, request).topics[0].error_code == 0
        wait_until(lambda: latest(made, name) == 0)
        yield made


def produce(connection: Connection, topic: str, acks: int, partitions: int) -> int:
    records = bytes(build_batch([(int(time.time() * 1000), None, b"value")]))
    data = [{"index": index, "records": records} for index in range(partitions)]
    fields = {"transactional_id": None, "acks": acks, "timeout_ms": 10_000, "topic_data": [{"name": topic, "partition_data": data}]}
    answer = connection.request(ApiKey.PRODUCE, 9, build(messages.ProduceRequest, fields)).responses[0].partition_responses[0]
    assert answer.error_code == 0
    base_offset: int = answer.base_offset
    return base_offset


def latest(connection: Connection, topic: str) -> int:
    partition = {"partition_index": 0, "current_leader_epoch": -1, "timestamp": LATEST}
    fields = {"replica_id": -1, "isolation_level": 0, "topics": [{"name": topic, "partitions": [partition]}]}
    answer = connection.request(ApiKey.LIST_OFFSETS, 5, build(messages.ListOffsetsRequest, fields)).topics[0].partitions[0]
    return int(answer.offset) if answer.error_code == 0 else -1


def fetched_bytes(connection: Connection, topic: str, offset: int) -> int:
    partition = {"partition": 0, "current_leader_epoch": -1, "fetch_offset": offset, "last_fetched_epoch": -1, "log_start_offset": -1}
    fields = {
        "replica_id": -1,
        "max_wait_ms": 0,
        "min_bytes": 0,
        "max_bytes": 2**24,
        "isolation_level": 0,
        "session_id": 0,
        "session_epoch": -1,
        "topics": [{"topic": topic, "partitions": [partition | {"partition_max_bytes": 2**20}]}],
        "forgotten_topics_data": [],
        "rack_id": "",
    }
    return len(connection.request(ApiKey.FETCH, 12, build(messages.FetchRequest, fields)).responses[0].partitions[0].records or b"")


def delete_all(connection: Connection, topic: str) -> int:
    fields = {"topics": [{"name": topic, "partitions": [{"partition_index": 0, "offset": -1}]}], "timeout_ms": 10_000}
    return int(
        connection.request(ApiKey.DELETE_RECORDS, 2, build(messages.DeleteRecordsRequest, fields)).topics[0].partitions[0].low_watermark
    )


@pytest.mark.parametrize("partitions", [1, 2])
@pytest.mark.parametrize("acks", [1, -1])
def test_acknowledged_is_visible(connection: Connection, name: str, acks: int, partitions: int) -> None:
    stale = []
    for _ in range(TRIES):
        offset = produce(connection, name, acks, partitions)
        if latest(connection, name) != offset + 1:
            stale.append(f"latest offset at {offset}")
        if not fetched_bytes(connection, name, produce(connection, name, acks, partitions)):
            stale.append(f"fetch at {offset + 1}")
        offset = produce(connection, name, acks, partitions)
        if delete_all(connection, name) != offset + 1:
            stale.append(f"deletion up to {offset + 1}")
    assert not stale
