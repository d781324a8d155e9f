"""The plugin, in runs of pytest of its own: as users have it, in a process where nothing of oncelog was imported before."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.unit
ROOT = Path(__file__).parents[3]
PLUGIN = "oncelog.broker.pytest_plugin"


class Run:
    """One run of pytest over one file."""

    def __init__(self, folder: Path, source: str, *options: str) -> None:
        (folder / "test_it.py").write_text(source)
        warnings = "filterwarnings =\n error\n ignore::pytest.PytestDeprecationWarning\n"  # pytest-asyncio's, about a default of its own
        (folder / "pytest.ini").write_text(f"[pytest]\naddopts = --strict-markers -p no:cacheprovider\n{warnings}")
        environment = {**os.environ, "PYTHONPATH": f"{ROOT / '.src'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}"}
        given = ("-m", "pytest", "-p", "no:oncelog", "-p", PLUGIN, *options)
        done = subprocess.run(
            [sys.executable, *given], cwd=folder, env=environment, capture_output=True, text=True, timeout=100, check=False
        )
        self.text = done.stdout + done.stderr
        self.status = done.returncode

    def counts(self) -> dict[str, int]:
        (*_, last) = re.findall(r"^=+ (.*) in [\d.]+s.* =+$", self.text, re.MULTILINE) or [""]
        return {word.rstrip("s"): int(number) for number, word in re.findall(r"(\d+) (\w+)", last)}


HEAD = """
import logging
import pytest
from confluent_kafka import Producer

def send(broker, topic, value, **options):
    producer = Producer({"bootstrap.servers": broker.bootstrap, **options})
    if "transactional.id" in options:
        producer.init_transactions(20)
        producer.begin_transaction()
    producer.produce(topic, value)
    assert producer.flush(20) == 0
    return producer
"""


def test_the_wheel_names_the_plugin() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"oncelog": PLUGIN}


def test_nothing_is_imported_before_a_fixture_is_asked_for() -> None:
    program = (
        f"import sys, time, pytest; before = set(sys.modules); begin = time.process_time(); import {PLUGIN}; "
        "took = time.process_time() - begin; "
        "print(sorted(name for name in set(sys.modules) - before if name != 'oncelog'), took < 0.005)"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT / ".src")}
    told = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True).stdout
    assert told == f"{['oncelog.broker', PLUGIN]} True\n"


def test_each_fixture_gives_what_it_says(tmp_path: Path) -> None:
    run = Run(
        tmp_path,
        HEAD
        + """
from oncelog.broker.testkit import assert_exactly_once, assert_no_open_transactions

seen = []

def test_own(oncelog):
    send(oncelog, "a", "1", **{"transactional.id": "t"}).commit_transaction(20)
    assert_exactly_once(oncelog, "a", ["1"])
    assert_no_open_transactions(oncelog)
    seen.append(oncelog)

def test_another(oncelog):
    assert oncelog is not seen[0]
    assert not seen[0].is_up
    assert oncelog.state()["topics"] == {}

@pytest.mark.parametrize("turn", [1, 2])
def test_of_the_session(oncelog_session, turn):
    assert oncelog_session.state()["topics"] == {}
    send(oncelog_session, "a", "1")
    seen.append(oncelog_session.bootstrap)
    assert len(set(seen[1:])) == 1

@pytest.mark.oncelog(reset=False)
def test_of_the_session_as_it_was(oncelog_session):
    assert "a" in oncelog_session.state()["topics"]

def test_closed_and_crashed(oncelog_session):
    oncelog_session.crash()

@pytest.mark.oncelog(reset=False)
@pytest.mark.parametrize("turn", ["a/b c", "?"])
def test_topic(oncelog_session, oncelog_topic, turn):
    assert oncelog_session.state()["topics"].keys() >= {oncelog_topic}
    seen.append(oncelog_topic)
    oncelog_session.close()

@pytest.mark.oncelog(settings={"num.partitions": 3}, clock="virtual")
@pytest.mark.parametrize("fixture", ["oncelog", "oncelog_session"])
def test_settings_and_clock(request, fixture):
    broker = request.getfixturevalue(fixture)
    before = broker.clock.now_ms()
    send(broker, "three", "1")
    assert broker.clock.now_ms() == before
    assert len(broker.state()["topics"]["three"]["partitions"]) == 3

@pytest.mark.oncelog(settings={"num.partitions": 2})
def test_process(oncelog_process):
    pid, address = oncelog_process.pid, oncelog_process.bootstrap
    send(oncelog_process, "a", "1")
    oncelog_process.crash()
    assert not oncelog_process.is_up
    with pytest.raises(RuntimeError, match="restart"):
        oncelog_process.bootstrap
    oncelog_process.restart()
    assert oncelog_process.bootstrap == address
    assert oncelog_process.pid != pid
    send(oncelog_process, "a", "2")
""",
    )
    assert run.counts() == {"passed": 11}, run.text


def test_a_failure_is_told_with_what_the_broker_knows(tmp_path: Path) -> None:
    run = Run(
        tmp_path,
        HEAD
        + """
def test_open(oncelog):
    oncelog.faults.add(api="EndTxn", transactional_id="open", action="drop_answer")
    producer = send(oncelog, "a", "1", **{"transactional.id": "open"})
    logging.getLogger("oncelog.storage.log").info("a line")
    oncelog.faults.add(api="Heartbeat", action="close", must_hit=True)
    assert False

def test_process(oncelog_process):
    assert False

def test_closed(oncelog):
    oncelog.close()
    assert False
""",
    )
    assert run.counts() == {"failed": 3}, run.text
    first, second, third = re.split(r"_{5,} test_\w+ _{5,}", run.text)[1:]
    assert re.search(r"-+ oncelog -+\n127\.0\.0\.1:\d+\nopen transactions:\n  open: Ongoing, producer \d+ epoch 0, a-0\n", first), first
    assert "rule-1: drop_answer, keep_open=False where api=EndTxn, transactional_id=open; 0 of 1 hits" in first
    assert re.search(r"^log lines:\n  \d{4}-.* INFO    oncelog\.storage\.log a line$", first, re.MULTILINE), first
    assert re.search(r"-+ oncelog_process -+\npid \d+\n127\.0\.0\.1:\d+\nopen transactions: none\nfenced: none\n", second), second
    assert re.search(r"^rules: none\nlog lines:\n", second, re.MULTILINE), second
    assert "the broker was not started, or is closed" in third or "down" in third


def test_a_rule_that_had_to_hit_fails_the_test_at_its_end(tmp_path: Path) -> None:
    run = Run(
        tmp_path,
        """
def test_never(oncelog):
    oncelog.faults.add(api="EndTxn", action="drop_answer", must_hit=True)

def test_never_and_closed(oncelog):
    oncelog.faults.add(api="EndTxn", action="drop_answer", must_hit=True)
    oncelog.close()

def test_the_next_is_left_alone(oncelog_session):
    pass
""",
    )
    assert run.counts() == {"passed": 3, "error": 2}, run.text
    assert "NeverHit: rule-1 had to hit and did not" in run.text


@pytest.mark.parametrize(
    ("marker", "told"),
    [("setting={}", "not ['setting']"), ("{}", "not ({},)"), ("clock='fast'", '"running" or "virtual"')],
)
def test_a_wrong_marker_says_what_is_right(tmp_path: Path, marker: str, told: str) -> None:
    run = Run(tmp_path, f"import pytest\n@pytest.mark.oncelog({marker})\ndef test_it(oncelog_process): pass\n")
    assert run.counts() == {"error": 1}, run.text
    assert told in run.text


def test_a_run_without_brokers_is_as_ever(tmp_path: Path) -> None:
    run = Run(
        tmp_path, "import sys\ndef test_it():\n    assert not any(name.startswith('oncelog.broker.testkit') for name in sys.modules)\n"
    )
    assert run.counts() == {"passed": 1}, run.text


def test_workers_of_xdist_have_brokers_of_their_own(tmp_path: Path) -> None:
    source = "import pytest\n@pytest.mark.parametrize('n', range(6))\ndef test_it(oncelog_session, oncelog_topic, n):\n    assert n < 5\n"
    run = Run(tmp_path, source, "-n", "2")
    assert run.counts() == {"passed": 5, "failed": 1}, run.text
    assert "- oncelog_session -" in run.text


@pytest.mark.parametrize("marker", ["asyncio", "anyio"])
def test_asynchronous_tests(tmp_path: Path, marker: str) -> None:
    source = f"""
import asyncio
import pytest

@pytest.fixture
def anyio_backend():
    return "asyncio"

@pytest.mark.{marker}
async def test_it(oncelog, oncelog_topic):
    host, port = oncelog.bootstrap.split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(bytes.fromhex("0000000a00120000000000070000"))  # ApiVersions 0, without a client id
    await writer.drain()
    answer = await asyncio.wait_for(reader.readexactly(8), 20)
    assert answer[4:] == (7).to_bytes(4, "big")
    writer.close()
    await writer.wait_closed()
"""
    run = Run(tmp_path, source)
    assert run.counts() == {"passed": 1}, run.text
