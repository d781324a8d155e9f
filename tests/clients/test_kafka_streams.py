"""Kafka Streams with exactly-once, unmodified: words counted behind a repartition topic while instances and the broker are killed.

The application (`java/WordCounts.java`) tells every update, so those of each word must read 1, 2, … n: a lost record leaves numbers out,
one that is counted or told twice repeats or exceeds them.
"""

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


@pytest.fixture
def application(java_command: Callable[..., list[str]], name: str, seed: int, tmp_path: Path) -> Callable[..., Application]:
    def make(bootstrap: str, *options: str) -> Application:
        return Application(bootstrap, name, seed, java_command, tmp_path, *options)

    return make


# what its log says beside any broker: of the topic that the leader has yet to make, of an option of version 5.0, of our folder
HARMLESS = (
    "{NAME-words-repartition=UNKNOWN_TOPIC_OR_PARTITION}",
    "Processing exception handler is not enabled",
    "Using an OS temp directory",
)


def test_counts_and_internal_topics(application: Callable[..., Application], bootstrap: str, name: str) -> None:
    with application(bootstrap, "repartition.purge.interval.ms=200") as words:
        words.advance(2000)
        words.finish()
        repartition, changelogs = f"{name}-words-repartition", [f"{name}-counts-changelog", f"{name}-minutes-changelog"]
        # every input and every record between is done with, and what is done with is deleted
        wait_until(lambda: words.committed(f"{name}-lines") == words.ends(f"{name}-lines"), 20, "commit of the input")
        wait_until(lambda: words.starts(repartition) == words.ends(repartition), 20, "deletion of repartitioned records")
        assert {topic for topic in words.admin.list_topics(timeout=20).topics if topic.startswith(name)} == {
            *(f"{name}-{kind}" for kind in ("lines", "counts", "minutes")),
            repartition,
            *changelogs,
        }
        configs = words.configs(repartition)
        assert [configs["cleanup.policy"], configs["retention.ms"], configs["segment.bytes"]] == ["delete", "-1", "52428800"]
        assert [words.configs(topic)["cleanup.policy"] for topic in changelogs] == ["compact", "compact,delete"]
        assert [instance.end() for instance in words.instances] == [0, 0]
    harmless = [text.replace("NAME", name) for text in HARMLESS]
    assert [line for line in words.warnings() if not any(text in line for text in harmless)] == []


@pytest.fixture(params=["dynamic", "static"])
def membership(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """A member that is killed comes back as another one, or as itself."""
    return ("group.instance.id=INSTANCE",) if request.param == "static" else ()


def test_whatever_is_killed(application: Callable[..., Application], mortal_broker: Any, membership: tuple[str, ...]) -> None:
    with application(mortal_broker.bootstrap, "session.timeout.ms=6000", "heartbeat.interval.ms=1000", *membership) as words:
        words.advance(1000)
        words.instances[0].kill()
        words.advance(100)
        words.instances[0].start()
        words.advance(1000)
        mortal_broker.kill()
        mortal_broker.start()
        words.advance(1000)
        words.instances[1].kill()
        output(["rm", "-r", str(words.folder / "state-1")])  # what it had is in the changelogs
        mortal_broker.kill()
        mortal_broker.start()
        words.instances[1].start()
        words.advance(1000)
        words.finish()
        assert [instance.end() for instance in words.instances] == [0, 0]
    mortal_broker.stop()
