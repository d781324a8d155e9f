"""The aborted transactions of a Fetch reach as far as Apache Kafka's do: to the next entry of the index, not to the end of the data."""

from __future__ import annotations

import time
from typing import Any

from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.records import build_batch
from support.process import wait_until
from support.simbroker import build
from support.wire import Connection

NONE = 0
TRANSACTIONS = 4


def ask(connection: Connection, key: ApiKey, version: int, **fields: Any) -> Any:
    return connection.request(key, version, build(getattr(messages, f"{key.schema_name}Request"), fields))


def aborted_transaction(connection: Connection, topic: str, id: str) -> None:
    pair: dict[str, int] = {}

    def initialized() -> bool:
        fresh = {"transactional_id": id, "transaction_timeout_ms": 10_000, "producer_id": -1, "producer_epoch": -1}
        answer = ask(connection, ApiKey.INIT_PRODUCER_ID, 4, **fresh)
        pair.update(producer_id=answer.producer_id, producer_epoch=answer.producer_epoch)
        return bool(answer.error_code == NONE)

    def produced() -> bool:
        records = build_batch([(int(time.time() * 1000), None, b"v")], **pair, base_sequence=0, is_transactional=True)
        data = [{"name": topic, "partition_data": [{"index": 0, "records": bytes(records)}]}]
        answer = ask(connection, ApiKey.PRODUCE, 12, transactional_id=id, acks=-1, timeout_ms=10_000, topic_data=data)
        return bool(answer.responses[0].partition_responses[0].error_code == NONE)

    wait_until(initialized)
    wait_until(produced)
    assert ask(connection, ApiKey.END_TXN, 5, transactional_id=id, **pair, committed=False).error_code == NONE


def fetch(connection: Connection, topic: str, offset: int) -> Any:
    """One batch, whatever there is."""
    return fetch_all(connection, [(topic, offset, 1)], 2**20)[0]


def fetch_all(connection: Connection, asked: list[tuple[str, int, int]], max_bytes: int) -> list[Any]:
    """Of partition 0 each; `asked`: (topic, offset, most bytes)."""
    topics = [
        {
            "topic": topic,
            "partitions": [
                {"partition": 0, "current_leader_epoch": -1, "fetch_offset": offset, "log_start_offset": -1, "partition_max_bytes": most}
            ],
        }
        for topic, offset, most in asked
    ]
    session = {"session_id": 0, "session_epoch": -1, "forgotten_topics_data": []}
    limits = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": max_bytes}
    answer = ask(connection, ApiKey.FETCH, 11, replica_id=-1, isolation_level=1, topics=topics, rack_id="", **session, **limits)
    return [found.partitions[0] for found in answer.responses]


def test_transactions_behind_the_data_are_listed_too(bootstrap: str, name: str) -> None:
    topic = {"name": name, "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}
    with Connection(bootstrap) as connection:
        answer = ask(connection, ApiKey.CREATE_TOPICS, 5, topics=[topic], timeout_ms=10_000, validate_only=False)
        assert answer.topics[0].error_code == NONE
        for number in range(TRANSACTIONS):
            aborted_transaction(connection, name, f"{name}-{number}")
            wait_until(lambda end=2 * number + 2: fetch(connection, name, 0).last_stable_offset == end)  # type: ignore[misc]
        for offset in range(2 * TRANSACTIONS):  # data, marker, data, …
            listed = [each.first_offset for each in fetch(connection, name, offset).aborted_transactions]
            assert listed == list(range(offset // 2 * 2, 2 * TRANSACTIONS, 2))


def test_partitions_that_get_no_data(bootstrap: str, name: str) -> None:
    """With nothing left for a partition its transactions are listed all the same; where its first batch is too long there is no list."""
    topics = [f"{name}-1", f"{name}-2"]
    with Connection(bootstrap) as connection:
        for topic in topics:
            made = {"name": topic, "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}
            ask(connection, ApiKey.CREATE_TOPICS, 5, topics=[made], timeout_ms=10_000, validate_only=False)
            for number in range(2):
                aborted_transaction(connection, topic, f"{topic}-{number}")
                wait_until(lambda end=2 * number + 2, topic=topic: fetch(connection, topic, 0).last_stable_offset == end)  # type: ignore[misc]
        for offset in range(5):
            overlapping = list(range(offset // 2 * 2, 4, 2))
            asked = {(0, 2**20): overlapping, (1, 2**20): None if overlapping else [], (2**20, 0): overlapping}
            for (of_second, of_all), expected in asked.items():
                first, second = fetch_all(connection, [(topics[0], 0, 2**20), (topics[1], offset, of_second)], of_all)
                assert first.records
                assert not second.records
                listed = second.aborted_transactions
                assert (listed if listed is None else [each.first_offset for each in listed]) == expected, (offset, of_second, of_all)
