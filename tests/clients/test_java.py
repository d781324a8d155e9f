"""Kafka's own Java clients (transactions v2), unmodified; also on one topic and one transactional id with librdkafka (v0)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from referee import apache_kafka
from support.programs import facts

pytestmark = [
    pytest.mark.java,
    pytest.mark.slow,
    pytest.mark.skipif(not apache_kafka.available(), reason="needs Java and Kafka's jars (or Maven to fetch them)"),
]


@pytest.fixture
def java(java_command: Callable[..., list[str]], bootstrap: str) -> Any:
    def run(scenario: str, *arguments: str) -> dict[str, Any]:
        return facts(java_command("Clients", scenario, bootstrap, *arguments))

    return run


def test_every_codec(java: Any, name: str) -> None:
    assert java("codecs", name) == {"same": True, "count": 250}


def test_each_end_of_a_transaction_bumps_the_epoch(java: Any, name: str) -> None:
    found = java("transactions", name)
    assert found["epochs"] == list(range(found["epochs"][0], found["epochs"][0] + 6))
    assert found["producer_ids"] == 1
    assert found["committed"] == ["0", "2", "4"]
    assert found["uncommitted"] == ["0", "1", "2", "3", "4", "5"]
    assert found["states"] == {"listed": "Ongoing", "described": "Ongoing"}


def test_second_producer_fences_the_first(java: Any, name: str) -> None:
    found = java("fencing", name)
    assert found["first"] in {"ProducerFencedException", "InvalidProducerEpochException"}
    assert found["committed"] == ["of the second"]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_copies_exactly_once(java: Any, name: str, protocol: str) -> None:
    found = java("copy", name, protocol)
    assert found == {"in_order": True, "offset": 30, "all": 40}


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_group_shares_partitions(java: Any, name: str, protocol: str) -> None:
    found = java("group", name, protocol)
    expected = {"type": protocol.capitalize(), "members": 2, "coordinator": True, "after_leave": 4, "committed": 40, "seen": 40}
    assert found == expected


def test_admin(java: Any, name: str) -> None:
    assert java("admin", name) == {
        "again": "TopicExistsException",
        "partitions": 3,
        "max.message.bytes": "54321",
        "retention.default": True,
        "producers": 1,
        "latest": 5,
        "low": 2,
        "offset": "3 note",
        "listed": True,
        "offsets_left": 0,
        "fenced": "ProducerFencedException",
        "log_dirs": 1,
        "transaction.version": 2,
    }


def librdkafka(bootstrap: str, transactional_id: str) -> Producer:
    client = Producer({"bootstrap.servers": bootstrap, "transactional.id": transactional_id, "linger.ms": 1})
    client.init_transactions(20)
    client.begin_transaction()
    return client


def test_one_id_from_librdkafka_to_java_and_back(java: Any, bootstrap: str, name: str) -> None:
    """The open transaction of each is aborted by the other's init, and its owner is told so."""
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(name, 1, 1)])[name].result(20)
    first = librdkafka(bootstrap, name)
    first.produce(name, b"first")
    assert first.flush(20) == 0
    assert java("commit", name, name)["committed"] == ["java"]
    with pytest.raises(KafkaException) as fenced:
        first.commit_transaction(20)
    assert fenced.value.args[0].fatal()
    java("open", name, name)
    third = librdkafka(bootstrap, name)
    third.produce(name, b"third")
    third.commit_transaction(20)
    assert java("commit", name, f"{name}-other")["committed"] == ["java", "third", "java"]
