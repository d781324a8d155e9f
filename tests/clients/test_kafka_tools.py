"""Kafka's own command line tools, from its jars."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from referee import apache_kafka
from support.programs import output

pytestmark = [
    pytest.mark.java,
    pytest.mark.slow,
    pytest.mark.skipif(not apache_kafka.available(), reason="needs Java and Kafka's jars (or Maven to fetch them)"),
]
Tool = Callable[..., str]


@pytest.fixture
def tool(bootstrap: str) -> Tool:
    """Runs a tool by class name against the broker; its stdout."""

    def run(name: str, *arguments: str, given: str | None = None, at: str = "--bootstrap-server") -> str:
        options = ["-XX:TieredStopAtLevel=1", "-Xmx256m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"]
        where = name if name.startswith("kafka.") else f"org.apache.kafka.tools.{name}"
        return output(["java", *options, "-cp", f"{apache_kafka.jars()}/*", where, at, bootstrap, *arguments], seconds=60, given=given)

    return run


@pytest.fixture
def topic(bootstrap: str, name: str) -> str:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(name, 1, 1)])[name].result(20)
    return name


def test_topics(tool: Tool, name: str) -> None:
    assert f"Created topic {name}." in tool(
        "TopicCommand", "--create", "--topic", name, "--partitions", "2", "--config", "retention.ms=1000"
    )
    described = tool("TopicCommand", "--describe", "--topic", name)
    assert "PartitionCount: 2" in described
    assert "retention.ms=1000" in described
    assert "Leader: none" not in described


def test_configs(tool: Tool, topic: str) -> None:
    changed = tool("kafka.admin.ConfigCommand", "--alter", "--topic", topic, "--add-config", "max.message.bytes=7777")
    assert f"Completed updating config for topic {topic}." in changed
    described = tool("kafka.admin.ConfigCommand", "--describe", "--topic", topic)
    assert "max.message.bytes=7777 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:max.message.bytes=7777" in described


def test_console_producer_consumer_group_and_offsets(tool: Tool, topic: str) -> None:
    tool("ConsoleProducer", "--topic", topic, given="one\ntwo\nthree\n")
    group = ["--group", topic]
    reading = ["--topic", topic, "--from-beginning", "--max-messages", "3", "--timeout-ms", "20000", *group]
    assert tool("consumer.ConsoleConsumer", *reading).split() == ["one", "two", "three"]
    row = next(line for line in tool("consumer.group.ConsumerGroupCommand", "--describe", *group).splitlines() if f" {topic} " in line)
    assert row.split()[2:6] == ["0", "3", "3", "0"]
    assert f"{topic}:0:3" in tool("GetOffsetShell", "--topic", topic)
    assert "successful" in tool("consumer.group.ConsumerGroupCommand", "--delete", *group)


def test_transactions(tool: Tool, topic: str, bootstrap: str) -> None:
    client = Producer({"bootstrap.servers": bootstrap, "transactional.id": topic})
    client.init_transactions(20)
    client.begin_transaction()
    client.produce(topic, b"open")
    assert client.flush(20) == 0
    row = next(line for line in tool("TransactionsCommand", "list").splitlines() if line.startswith(topic))
    assert row.split()[-1] == "Ongoing"
    assert f"{topic}-0" in tool("TransactionsCommand", "describe", "--transactional-id", topic)
    producers = tool("TransactionsCommand", "describe-producers", "--topic", topic, "--partition", "0").splitlines()
    assert producers[1].split()[-1] == "0"  # where its transaction starts
    hanging = tool("TransactionsCommand", "find-hanging", "--topic", topic, "--max-transaction-timeout", "0")
    assert topic not in hanging  # the coordinator knows it
    client.commit_transaction(20)


def test_performance_producer_commits(tool: Tool, topic: str) -> None:
    size = ["--num-records", "500", "--record-size", "100", "--throughput", "-1"]
    printed = tool("ProducerPerformance", "--topic", topic, *size, "--transactional-id", topic)
    assert "500 records sent" in printed


def test_verifiable_producer_and_consumer(tool: Tool, topic: str) -> None:
    sent = tool("VerifiableProducer", "--topic", topic, "--max-messages", "20")
    assert sent.count('"producer_send_success"') == 20
    read = tool("VerifiableConsumer", "--topic", topic, "--group-id", topic, "--max-messages", "20", "--reset-policy", "earliest")
    assert '"records_consumed"' in read
    assert '"success":true' in read


def test_log_dirs_and_versions(tool: Tool, topic: str) -> None:
    assert f'"partition":"{topic}-0"' in tool("LogDirsCommand", "--describe", "--topic-list", topic)
    versions = tool("BrokerApiVersionsCommand")
    assert "EndTxn(26)" in versions
    assert "UNSUPPORTED" not in versions.split("EndTxn(26)")[1].splitlines()[0]
