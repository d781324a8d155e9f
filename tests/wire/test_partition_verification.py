"""transaction.partition.verification.enable, altered while the broker runs."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.records import build_batch
from support.process import BrokerProcess, wait_until
from support.simbroker import build
from support.wire import Connection

NONE, TRANSACTION_ABORTABLE = 0, 120
SETTING = "transaction.partition.verification.enable"
BROKER, SET, DELETE = 4, 0, 1


def ask(connection: Connection, key: ApiKey, version: int, **fields: Any) -> Any:
    return connection.request(key, version, build(getattr(messages, f"{key.schema_name}Request"), fields))


def create(connection: Connection, name: str) -> None:
    topic = {"name": name, "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}
    assert ask(connection, ApiKey.CREATE_TOPICS, 5, topics=[topic], timeout_ms=10_000, validate_only=False).topics[0].error_code == NONE


def produce_not_added(connection: Connection, topic: str, transactional_id: str) -> int:
    """A transactional batch to a partition that was not added to the transaction."""
    pair = []

    def initialized() -> bool:
        answer = ask(
            connection,
            ApiKey.INIT_PRODUCER_ID,
            4,
            transactional_id=transactional_id,
            transaction_timeout_ms=10_000,
            producer_id=-1,
            producer_epoch=-1,
        )
        pair[:] = answer.producer_id, answer.producer_epoch
        return bool(answer.error_code == NONE)

    wait_until(initialized)
    records = build_batch(
        [(int(time.time() * 1000), None, b"v")], producer_id=pair[0], producer_epoch=pair[1], base_sequence=0, is_transactional=True
    )
    data = [{"name": topic, "partition_data": [{"index": 0, "records": bytes(records)}]}]
    answer = ask(connection, ApiKey.PRODUCE, 11, transactional_id=transactional_id, acks=-1, timeout_ms=10_000, topic_data=data)
    return int(answer.responses[0].partition_responses[0].error_code)


def alter(connection: Connection, operation: int, value: str | None) -> None:
    node = ask(connection, ApiKey.METADATA, 9, topics=[]).brokers[0].node_id
    config = {"name": SETTING, "config_operation": operation, "value": value}
    resource = {"resource_type": BROKER, "resource_name": str(node), "configs": [config]}
    assert ask(connection, ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, resources=[resource], validate_only=False).responses[0].error_code == NONE


def test_it_has_effect_at_once(bootstrap: str, name: str) -> None:
    with Connection(bootstrap) as connection:
        create(connection, name)
        wait_until(lambda: produce_not_added(connection, name, f"{name}-before") == TRANSACTION_ABORTABLE)
        alter(connection, SET, "false")
        try:
            wait_until(lambda: produce_not_added(connection, name, f"{name}-{time.monotonic()}") == NONE)
        finally:
            alter(connection, DELETE, None)
        wait_until(lambda: produce_not_added(connection, name, f"{name}-{time.monotonic()}") == TRANSACTION_ABORTABLE)


def test_it_outlives_a_restart(tmp_path: Path, name: str) -> None:
    with BrokerProcess(tmp_path / "data") as broker:
        with Connection(broker.bootstrap) as connection:
            create(connection, name)
            alter(connection, SET, "false")
        broker.stop()
        broker.start()
        with Connection(broker.bootstrap) as connection:
            assert produce_not_added(connection, name, "t") == NONE
