"""Many requests at once on one connection: order, silence where none is due, waking up, and a client that never reads."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path

import pytest
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.records import build_batch
from oncelog.spark_jobs.demo_parts.patience import Patience
from support.process import BrokerProcess, wait_until
from support.wire import Connection

BACKLOG_REQUESTS = 100_000
INVALID_RECORD = 87
MEMORY_LIMIT_BYTES = 160 * 1024 * 1024


def create_topic(bootstrap: str, name: str, partitions: int = 1) -> None:
    kind = messages.CreateTopicsRequest.CreatableTopic
    topic = kind(name=name, num_partitions=partitions, replication_factor=1, assignments=[], configs=[])
    with Connection(bootstrap) as connection:
        answer = connection.request(ApiKey.CREATE_TOPICS, 5, {"topics": [topic], "timeout_ms": 10_000, "validate_only": False})
        assert answer.topics[0].error_code == 0
        wait_until(lambda: produce(connection, name, b"first", acks=-1).responses[0].partition_responses[0].error_code == 0)


def produce_request(topic: str, value: bytes, acks: int) -> object:
    kind = messages.ProduceRequest.TopicProduceData
    records = bytes(build_batch([(int(time.time() * 1000), None, value)]))
    data = kind(name=topic, partition_data=[kind.PartitionProduceData(index=0, records=records)])
    return messages.ProduceRequest(transactional_id=None, acks=acks, timeout_ms=10_000, topic_data=[data])


def produce(connection: Connection, topic: str, value: bytes, acks: int) -> object:
    return connection.request(ApiKey.PRODUCE, 9, produce_request(topic, value, acks))


def fetch_request(topic: str, offset: int, *, max_wait_ms: int, min_bytes: int = 1) -> object:
    kind = messages.FetchRequest.FetchTopic
    partition = kind.FetchPartition(
        partition=0, current_leader_epoch=-1, fetch_offset=offset, last_fetched_epoch=-1, log_start_offset=-1, partition_max_bytes=2**20
    )
    return messages.FetchRequest(
        replica_id=-1,
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=2**24,
        isolation_level=0,
        session_id=0,
        session_epoch=-1,
        topics=[kind(topic=topic, partitions=[partition])],
        forgotten_topics_data=[],
        rack_id="",
    )


def send(connection: Connection, key: ApiKey, version: int, request: object) -> int:
    return connection.send(key, version, bytes(messages.encode_request(key, version, request)))


def send_many(connection: Connection, key: ApiKey, version: int, request: object) -> None:
    for _ in range(BACKLOG_REQUESTS):
        send(connection, key, version, request)


def test_a_hundred_requests_are_answered_in_order(bootstrap: str, name: str) -> None:
    """With waiting ones among them; all are sent before the first answer is read."""
    create_topic(bootstrap, name)
    kinds = [
        (ApiKey.API_VERSIONS, 0, messages.ApiVersionsRequest()),
        (ApiKey.METADATA, 9, messages.MetadataRequest(topics=[], allow_auto_topic_creation=False)),
        (ApiKey.PRODUCE, 9, produce_request(name, b"v", -1)),
        (ApiKey.FETCH, 12, fetch_request(name, 0, max_wait_ms=50)),
        (ApiKey.FETCH, 12, fetch_request(name, 0, max_wait_ms=40, min_bytes=2**20)),
    ]
    with Connection(bootstrap) as connection:
        sent = [(kinds[n % 5][0], kinds[n % 5][1], send(connection, *kinds[n % 5])) for n in range(100)]
        for key, version, correlation_id in sent:
            connection.receive(key, version, correlation_id)


def test_acks_0_is_not_answered(bootstrap: str, name: str) -> None:
    create_topic(bootstrap, name)
    with Connection(bootstrap) as connection:
        for _ in range(10):
            send(connection, ApiKey.PRODUCE, 9, produce_request(name, b"v", 0))
        assert connection.request(ApiKey.API_VERSIONS, 0, {}).error_code == 0
        fetched = connection.request(ApiKey.FETCH, 12, fetch_request(name, 0, max_wait_ms=5000, min_bytes=11 * 60))
        assert fetched.responses[0].partitions[0].high_watermark == 11


def test_acks_0_with_an_error_closes(bootstrap: str, name: str) -> None:
    with Connection(bootstrap) as connection:
        send(connection, ApiKey.PRODUCE, 9, produce_request(f"{name}-none", b"v", 0))
        assert connection.closed_by_peer


def test_null_records_are_refused(bootstrap: str, name: str, ours: bool) -> None:
    if not ours:
        pytest.skip("Apache Kafka never answers this one")
    create_topic(bootstrap, name)
    kind = messages.ProduceRequest.TopicProduceData
    data = kind(name=name, partition_data=[kind.PartitionProduceData(index=0, records=None)])
    with Connection(bootstrap) as connection:
        fields = {"transactional_id": None, "acks": -1, "timeout_ms": 1000, "topic_data": [data]}
        answer = connection.request(ApiKey.PRODUCE, 9, fields)
        assert answer.responses[0].partition_responses[0].error_code == INVALID_RECORD
        assert produce(connection, name, b"good", -1).responses[0].partition_responses[0].base_offset == 1  # type: ignore[attr-defined]


def test_a_waiting_fetch_wakes_up(bootstrap: str, name: str) -> None:
    create_topic(bootstrap, name)
    with Connection(bootstrap, timeout=20) as reader, Connection(bootstrap) as writer:
        correlation_id = send(reader, ApiKey.FETCH, 12, fetch_request(name, 1, max_wait_ms=18_000))
        at_once = Patience(9)
        produce(writer, name, b"second", -1)
        answer = reader.receive(ApiKey.FETCH, 12, correlation_id)
        assert b"second" in bytes(answer.responses[0].partitions[0].records)
        assert not at_once.over


def test_a_waiting_fetch_lasts_as_long_as_asked(bootstrap: str, name: str) -> None:
    create_topic(bootstrap, name)
    with Connection(bootstrap) as reader:
        started = time.monotonic()
        answer = reader.request(ApiKey.FETCH, 12, fetch_request(name, 1, max_wait_ms=300))
        assert not answer.responses[0].partitions[0].records
        assert time.monotonic() - started > 0.25


def test_a_fetch_of_a_client_that_left_wakes_nobody(bootstrap: str, name: str) -> None:
    create_topic(bootstrap, name)
    for _ in range(5):
        with Connection(bootstrap) as reader:
            send(reader, ApiKey.FETCH, 12, fetch_request(name, 1, max_wait_ms=30_000))
    with Connection(bootstrap) as writer:
        assert produce(writer, name, b"second", -1).responses[0].partition_responses[0].base_offset == 1  # type: ignore[attr-defined]


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads the broker's memory from /proc")
def test_a_client_that_never_reads_costs_little(own_broker: BrokerProcess, request: pytest.FixtureRequest, name: str) -> None:
    """Answers it does not take are not piled up: the broker stops reading from it instead."""
    if request.config.getoption("--bootstrap"):
        pytest.skip("needs the broker's process")
    create_topic(own_broker.bootstrap, name)
    with Connection(own_broker.bootstrap) as writer:
        for _ in range(4):
            produce(writer, name, os.urandom(900_000), -1)
        before = resident_bytes(own_broker.pid)
        with Connection(own_broker.bootstrap) as deaf:
            deaf.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            deaf.socket.settimeout(1.0)
            with pytest.raises(TimeoutError):  # 1 s without room for a request: the broker has stopped reading
                send_many(deaf, ApiKey.FETCH, 12, fetch_request(name, 1, max_wait_ms=0))
            assert resident_bytes(own_broker.pid) - before < MEMORY_LIMIT_BYTES
            assert writer.request(ApiKey.API_VERSIONS, 0, {}).error_code == 0


def resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
