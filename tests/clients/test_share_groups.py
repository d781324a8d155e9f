"""Stock share consumers, unmodified: Kafka's own, its console tool, and franz-go's (in `test_go.py`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from oncelog.protocol.api_keys import ApiKey
from referee import apache_kafka
from support.programs import facts, output
from support.wire import Connection

pytestmark = [
    pytest.mark.java,
    pytest.mark.slow,
    pytest.mark.skipif(not apache_kafka.available(), reason="needs Java and Kafka's jars (or Maven to fetch them)"),
]


@pytest.fixture
def java(java_command: Callable[..., list[str]], bootstrap: str, name: str) -> Callable[[str], dict[str, Any]]:
    return lambda scenario: facts(java_command("ShareGroups", scenario, bootstrap, name))


def test_implicit_acknowledgement(java: Callable[[str], dict[str, Any]]) -> None:
    assert java("implicit") == {"committed": True, "once": True, "lag": 0}


def test_explicit_acknowledgement(java: Callable[[str], dict[str, Any]]) -> None:
    assert java("explicit") == {"released": [1, 2], "rejected": [1], "lag": 0}


def test_renewing_beyond_the_lock(java: Callable[[str], dict[str, Any]]) -> None:
    assert java("renew") == {"lock": 15_000, "others": 0, "renewed": True, "accepted": True, "lag": 0}


def test_several_members(java: Callable[[str], dict[str, Any]]) -> None:
    assert java("members") == {"seen": 2_000, "once": True, "several": True, "lag": 0}


def test_read_committed(java: Callable[[str], dict[str, Any]]) -> None:
    assert java("committed") == {"seen": 15, "aborted": 0, "lag": 0}


def test_the_console_tools(bootstrap: str, name: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(name, 1, 1)])[name].result(20)
    earliest = [{"name": "share.auto.offset.reset", "config_operation": 0, "value": "earliest"}]
    resources = [{"resource_type": 32, "resource_name": name, "configs": earliest}]
    with Connection(bootstrap) as connection:
        answer = connection.request(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, {"resources": resources, "validate_only": False})
        assert not answer.responses[0].error_code
    producer = Producer({"bootstrap.servers": bootstrap})
    for value in ("one", "two", "three"):
        producer.produce(name, value=value)
    producer.flush(20)
    reading = ["--topic", name, "--group", name, "--max-messages", "3", "--timeout-ms", "30000"]
    assert tool(bootstrap, "ConsoleShareConsumer", *reading).split() == ["one", "two", "three"]
    group = "group.ShareGroupCommand"
    assert name in tool(bootstrap, group, "--list").split()
    (row,) = (line for line in tool(bootstrap, group, "--describe", "--group", name).splitlines() if line.startswith(name))
    assert row.split()[:3] == [name, name, "0"]
    assert row.split()[4] == "0"
    reset = tool(bootstrap, group, "--reset-offsets", "--group", name, "--topic", name, "--to-earliest", "--execute")
    assert name in reset
    assert tool(bootstrap, "ConsoleShareConsumer", *reading).split() == ["one", "two", "three"]
    assert "successful" in tool(bootstrap, group, "--delete", "--group", name)


def tool(bootstrap: str, name: str, *arguments: str) -> str:
    options = ["-XX:TieredStopAtLevel=1", "-Xmx256m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"]
    where = f"org.apache.kafka.tools.consumer.{name}"
    return output(["java", *options, "-cp", f"{apache_kafka.jars()}/*", where, "--bootstrap-server", bootstrap, *arguments], seconds=60)
