"""The move into Apache Kafka in words: complete for what is there, and fit to be pasted."""

from __future__ import annotations

import shlex
import uuid
from pathlib import Path

import pytest
from oncelog.storage.audit.raw_directory import open_data_directory
from oncelog.storage.moving.graduate import Plan, plan
from oncelog.storage.moving.kafka_topics import KafkaTopic
from oncelog.storage.moving.steps import create_command, steps


def test_the_steps_name_the_users_topics(source: Path) -> None:
    text = "\n".join(steps(plan(source), Path("/kafka data"), "broker:9092"))
    assert "offsets.topic.num.partitions=4" in text
    assert "--topic comp --partitions 1 --replication-factor 1 --config cleanup.policy=compact" in text
    assert "--to '/kafka data'" in text
    assert "producer ids up to" in text
    assert "tx:0:585" in text
    assert "--topic __" not in text


def test_a_create_command_quotes_what_a_shell_would_take_apart() -> None:
    topic = KafkaTopic("a", uuid.UUID(int=5), 3, {"leader.replication.throttled.replicas": "*"})
    assert create_command(topic, "b:1").endswith("'leader.replication.throttled.replicas=*'")


def test_options_of_ours_and_settings_are_not_handed_to_kafka(source: Path) -> None:
    topic = KafkaTopic("a", uuid.UUID(int=5), 3, {"flush.on.ack": "false", "retention.ms": "1"})
    assert create_command(topic, "b:1").endswith("--replication-factor 1 --config retention.ms=1")
    assert "ACLs" not in "\n".join(steps(plan(source), None))
    (source / "oncelog.metadata").write_text('{"identity":{"node.id":"1"},"acls":{}}')
    assert "ACLs" not in "\n".join(steps(plan(source), None))
    (source / "oncelog.metadata").write_text('{"acls":{"any":{}}}')
    assert "ACLs" in "\n".join(steps(plan(source), None))


def small(path: Path, *topics: KafkaTopic, highest: int = -1, ends: dict[str, int] | None = None) -> Plan:
    return Plan(open_data_directory(path), topics, 0, highest, ends or {})


def test_without_internal_topics_their_partitions_are_kafkas_default(tmp_path: Path) -> None:
    text = "\n".join(steps(small(tmp_path), None))
    assert "offsets.topic.num.partitions=50" in text
    assert "transaction.state.log.num.partitions=50" in text
    assert "--to LOG_DIR" in text


def test_every_partition_has_its_end_be_it_empty(tmp_path: Path) -> None:
    topic = KafkaTopic("a", uuid.UUID(int=5), 3, {})
    lines = [line.strip() for line in steps(small(tmp_path, topic, ends={"a-0": 7, "a-2": 9}), None)]
    assert [line for line in lines if line.startswith("a:")] == ["a:0:7", "a:1:0", "a:2:9"]


@pytest.mark.parametrize(("highest", "restarts"), [(-1, None), (0, 1), (999, 1), (1_000, 2), (5_432, 6)])
def test_how_often_kafka_is_restarted_to_skip_ids_that_are_taken(tmp_path: Path, highest: int, restarts: int | None) -> None:
    """It hands out a block of 1000 and begins with the next at a restart."""
    text = "\n".join(steps(small(tmp_path, highest=highest), None))
    assert ("producer ids up to" in text) == (restarts is not None)
    assert restarts is None or f"restart Kafka, {restarts} times" in text


def test_every_command_is_taken_apart_again_as_it_was_meant(tmp_path: Path) -> None:
    folder = tmp_path / "it's ours"
    folder.mkdir()
    topic = KafkaTopic("a", uuid.UUID(int=5), 1, {"leader.replication.throttled.replicas": "*", "cleanup.policy": "compact,delete"})
    commands = [shlex.split(line) for line in steps(small(folder, topic), Path("/k d"), "h:1") if ".sh " in line or "oncelog " in line]
    assert ["oncelog", "graduate", str(folder), "--to", "/k d"] in commands
    assert [words for words in commands if "--create" in words] == [
        [
            *("kafka-topics.sh", "--bootstrap-server", "h:1", "--create", "--topic", "a", "--partitions", "1", "--replication-factor", "1"),
            *("--config", "cleanup.policy=compact,delete", "--config", "leader.replication.throttled.replicas=*"),
        ]
    ]
