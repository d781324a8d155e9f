"""The README's first programs do what it says."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka import Consumer
from referee import apache_kafka
from support.process import BrokerProcess, wait_until
from support.programs import output
from support.readme import ADDRESS, README, program

JAVA = """\
import java.util.Map;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.serialization.StringSerializer;

class FirstMessage {{
    public static void main(String[] arguments) {{
{}
    }}
}}
"""


def test_python(own_broker: BrokerProcess) -> None:
    assert output([sys.executable, "-c", program("Python", own_broker.bootstrap)]) == "b'paid'\n"


@pytest.mark.java
@pytest.mark.skipif(not apache_kafka.available(), reason="needs Java and Kafka's jars (or Maven to fetch them)")
def test_java(own_broker: BrokerProcess, tmp_path: Path) -> None:
    source = tmp_path / "FirstMessage.java"
    source.write_text(JAVA.format(program("Java", own_broker.bootstrap)))
    output(["java", "-cp", f"{apache_kafka.jars()}/*", str(source)])
    reader = Consumer({"bootstrap.servers": own_broker.bootstrap, "group.id": "reader", "auto.offset.reset": "earliest"})
    reader.subscribe(["orders"])
    message = reader.poll(20)
    reader.close()
    assert (message.key(), message.value()) == (b"42", b"paid")


def test_serve_and_ready(tmp_path: Path) -> None:
    """As they are written, but for the folder and, as it says, `--port 0`."""
    serve, ready = (shlex.split(line) for line in re.findall(r"^\.venv/bin/oncelog (.*?)  +#", README.read_text("utf-8"), re.MULTILINE))
    oncelog, log = [sys.executable, "-m", "oncelog.broker"], tmp_path / "log"
    given = {"9092": "0", "./data": str(tmp_path / "data")}
    with log.open("wb") as out:
        broker = subprocess.Popen([*oncelog, *(given.get(word, word) for word in serve)], stdout=out, stderr=subprocess.STDOUT)
    try:
        wait_until(lambda: b"Kafka Server started" in log.read_bytes() or broker.poll() is not None, 20, "the start")
        found = re.search(r"127\.0\.0\.1:[1-9]\d*", log.read_text())
        assert found, log.read_text()
        asked = [*oncelog, *(found[0] if word == ADDRESS else word for word in ready)]
        assert subprocess.run(asked, check=False, timeout=60).returncode == 0
    finally:
        broker.terminate()
        assert broker.wait(20) == 0
    assert (tmp_path / "data" / "meta.properties").is_file()
    assert subprocess.run([*asked, "--timeout", "0.2"], check=False, timeout=60).returncode != 0
