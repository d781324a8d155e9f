"""Kafka Streams with `group.protocol=streams` (KIP-1071) and exactly-once, unmodified, and Kafka's own tool for its groups."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from referee import apache_kafka
from support.process import wait_until
from support.programs import output
from support.word_counts import Application

pytestmark = [
    pytest.mark.java,
    pytest.mark.slow,
    pytest.mark.skipif(not apache_kafka.available(), reason="needs Java and Kafka's jars (or Maven to fetch them)"),
    pytest.mark.timeout(300),
]
PROTOCOL = "group.protocol=streams"
Tool = Callable[..., str]


@pytest.fixture
def application(java_command: Callable[..., list[str]], name: str, seed: int, tmp_path: Path) -> Callable[..., Application]:
    def make(bootstrap: str, *options: str, instances: int = 2) -> Application:
        return Application(bootstrap, name, seed, java_command, tmp_path, PROTOCOL, *options, instances=instances)

    return make


@pytest.fixture
def tool(bootstrap: str) -> Tool:
    """`kafka-streams-groups.sh` against the broker; its stdout."""

    def run(*arguments: str) -> str:
        options = ["-XX:TieredStopAtLevel=1", "-Xmx256m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"]
        name = "org.apache.kafka.tools.streams.StreamsGroupCommand"
        command = ["java", *options, "-cp", f"{apache_kafka.jars()}/*", name, "--bootstrap-server", bootstrap, *arguments]
        return output(command, seconds=60)

    return run


def rows(text: str, group: str) -> list[list[str]]:
    """The lines of a table about the group."""
    return [line.split() for line in text.splitlines() if line.startswith(group)]


def test_counts_topics_and_the_tool(application: Callable[..., Application], bootstrap: str, name: str, tool: Tool) -> None:
    """Internal topics as the application wants them; the tool lists, describes, resets offsets of and deletes the group."""
    with application(bootstrap, "repartition.purge.interval.ms=200") as words:
        words.advance(2000)
        words.finish()
        repartition, changelogs = f"{name}-words-repartition", [f"{name}-counts-changelog", f"{name}-minutes-changelog"]
        wait_until(lambda: words.committed(f"{name}-lines") == words.ends(f"{name}-lines"), 20, "commit of the input")
        configs = words.configs(repartition)
        assert [configs["cleanup.policy"], configs["retention.ms"]] == ["delete", "-1"]
        assert [words.configs(topic)["cleanup.policy"] for topic in changelogs] == ["compact", "compact,delete"]
        assert rows(tool("--list"), name) == [[name]]
        assert rows(tool("--describe", "--group", name, "--state"), name)[0][-2:] == ["Stable", "4"]
        members = rows(tool("--describe", "--group", name, "--members"), name)
        assert len(members) == 4
        offsets = [row for row in rows(tool("--describe", "--group", name), name) if row[1] == f"{name}-lines"]
        assert sorted(row[2] for row in offsets) == ["0", "1", "2", "3"]
        assert {row[-1] for row in offsets} == {"0"}
        assert [instance.end() for instance in words.instances] == [0, 0]
    assert rows(tool("--describe", "--group", name, "--state"), name)[0][-2:] == ["Empty", "0"]
    tool("--reset-offsets", "--group", name, "--input-topic", f"{name}-lines", "--to-earliest", "--execute")
    assert words.committed(f"{name}-lines") == [0, 0, 0, 0]
    tool("--delete", "--group", name)
    assert rows(tool("--list"), name) == []


def test_whatever_is_killed(application: Callable[..., Application], mortal_broker: Any) -> None:
    """Three instances of two threads; instances and the broker die, one loses what it had on its disk."""
    with application(mortal_broker.bootstrap, instances=3) as words:
        words.advance(1000)
        words.instances[0].kill()
        words.advance(100)
        words.instances[0].start()
        words.advance(1000)
        mortal_broker.kill()
        mortal_broker.start()
        words.advance(1000)
        words.instances[1].kill()
        output(["rm", "-r", str(words.folder / "state-1")])
        mortal_broker.kill()
        mortal_broker.start()
        words.instances[1].start()
        words.instances[2].kill()
        words.instances[2].start()
        words.advance(1000)
        words.finish()
        assert [instance.end() for instance in words.instances] == [0, 0, 0]
    mortal_broker.stop()
