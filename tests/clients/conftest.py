"""What the tests with Java programs share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from referee import apache_kafka
from support.process import BrokerProcess
from support.programs import output

SOURCES = Path(__file__).parent / "java"
Command = Callable[..., list[str]]


@pytest.fixture(scope="session")
def java_command(tmp_path_factory: pytest.TempPathFactory) -> Command:
    """The command line of a class: one of ours under `java/`, compiled at first use, or one of Kafka's."""
    classes = tmp_path_factory.mktemp("classes")
    jars = f"{apache_kafka.jars()}/*"
    output(["javac", "-cp", jars, "-d", str(classes), *map(str, sorted(SOURCES.glob("*.java")))])

    def command(name: str, *arguments: str) -> list[str]:
        options = ["-XX:TieredStopAtLevel=1", "-Xmx256m", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"]
        return ["java", *options, "-cp", f"{classes}:{SOURCES}:{jars}", name, *arguments]

    return command


@pytest.fixture
def mortal_broker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BrokerProcess | apache_kafka.ApacheKafka]:
    """A started broker of the test's own, to kill and start again. With --bootstrap an Apache Kafka, as that one is not ours to kill."""
    settings = {}
    for kind in ("consumer", "streams"):
        settings |= {f"group.{kind}.session.timeout.ms": "6000", f"group.{kind}.heartbeat.interval.ms": "1000"}
        settings |= {f"group.{kind}.min.session.timeout.ms": "6000", f"group.{kind}.min.heartbeat.interval.ms": "1000"}
    if request.config.getoption("--bootstrap"):
        with apache_kafka.ApacheKafka(tmp_path / "kafka", apache_kafka.free_ports(), settings) as kafka:
            kafka.start()
            yield kafka
    else:
        with BrokerProcess(tmp_path / "data", settings) as process:
            yield process
