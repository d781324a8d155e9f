"""The control port of a real process: rules felt by clients, time, crashes that are kills, resets, figures."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import TopicPartition
from support.control_client import Answer, ask
from support.process import BrokerProcess, wait_until
from support.txn_client import TV2, Client

pytestmark = pytest.mark.wire
PLACE = TopicPartition("a", 0)
SETTINGS = {"offsets.topic.num.partitions": "2", "transaction.state.log.num.partitions": "2"}


class Process(BrokerProcess):
    """With a control port on any free port."""

    def __init__(self, data_dir: Path, *arguments: str, **settings: str) -> None:
        super().__init__(data_dir, SETTINGS | {name.replace("_", "."): value for name, value in settings.items()})
        self.arguments = ("--control", "0", *arguments)

    @property
    def control(self) -> str:
        return re.findall(r"^Control port: (\S+)$", self.text(), re.MULTILINE)[-1]

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> Answer:
        return ask(self.control, method, path, body, **headers)


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    with Process(tmp_path_factory.mktemp("control") / "data") as made:
        yield made


@pytest.fixture
def broker(process: Process) -> Process:
    assert process.ask("POST", "/v1/reset").status == 200
    with Client(process.bootstrap) as client:
        client.create("a", 1)
    return process


def begin(client: Client, id: str = "t") -> Any:
    pair = client.init(id)
    assert client.produce(TV2, id, pair, 0, PLACE, b"x") is ErrorCode.NONE
    return pair


def test_a_rule_is_felt_counted_and_gone(broker: Process) -> None:
    action = {"type": "error", "code": "COORDINATOR_LOAD_IN_PROGRESS"}
    made = broker.ask("POST", "/v1/faults", {"match": {"api": "EndTxn", "transactional_id": "t"}, "action": action, "times": 2})
    assert made.status == 201
    with Client(broker.bootstrap) as client:
        pair = begin(client)
        assert client.end(TV2, "t", pair, True)[0] is ErrorCode.NONE  # it asks again after each 14
    (rule,) = broker.ask("GET", "/v1/faults").body["faults"]
    assert (rule["hits"], [request["what"] for request in rule["requests"]]) == (2, ["EndTxn", "EndTxn"])
    assert broker.ask("DELETE", f"/v1/faults/{rule['id']}").body == {"removed": rule["id"], "hits": 2}


def test_a_code_that_kafka_never_sends_is_refused_unless_forced(broker: Process) -> None:
    rule = {"match": {"api": "EndTxn"}, "action": {"type": "error", "code": "OFFSET_OUT_OF_RANGE"}}
    refused = broker.ask("POST", "/v1/faults", rule)
    assert (refused.status, "add force" in refused.body["error"]) == (400, True)
    rule["action"] |= {"force": True}
    assert broker.ask("POST", "/v1/faults", rule).status == 201


def test_a_disk_that_does_not_sync_on_the_flushers_threads(broker: Process) -> None:
    made = broker.ask("POST", "/v1/faults", {"match": {"topic": "a"}, "action": {"type": "sync_fails"}})
    with Client(broker.bootstrap) as client:
        assert client.produce(TV2, None, (-1, -1), -1, PLACE, b"x") is ErrorCode.KAFKA_STORAGE_ERROR
    assert broker.ask("GET", f"/v1/faults/{made.body['id']}").body["hits"] == 1
    assert 'oncelog_log_offline{topic="a",partition="0"} 1\n' in broker.ask("GET", "/metrics").body
    assert broker.ask("POST", "/v1/reset").status == 200
    with Client(broker.bootstrap) as client:
        client.create("a", 1)
        assert client.produce(TV2, None, (-1, -1), -1, PLACE, b"x") is ErrorCode.NONE


def test_state_and_figures(broker: Process) -> None:
    with Client(broker.bootstrap) as client:
        pair = begin(client)
        told = broker.ask("GET", "/v1/state").body
        assert told["transactions"]["t"]["state"] == "Ongoing"
        assert told["topics"]["a"]["partitions"][0]["log_end_offset"] == 1
        figures = broker.ask("GET", "/metrics").body
        assert 'oncelog_last_stable_offset_lag{topic="a",partition="0"} 1\n' in figures
        syncs = re.search(r"^oncelog_syncs_total (\d+)$", figures, re.MULTILINE)
        assert syncs is not None
        assert int(syncs[1]) > 0
        client.end(TV2, "t", pair, False)


def test_time_that_is_moved_ends_a_transaction(broker: Process) -> None:
    with Client(broker.bootstrap) as client:
        begin(client)
        before = broker.ask("GET", "/v1/clock").body
        assert before["virtual"] is False
        now_ms = broker.ask("POST", "/v1/clock/advance", {"seconds": 900}).body["now_ms"]
        assert now_ms >= before["now_ms"] + 900_000
        assert broker.ask("GET", "/v1/state").body["transactions"]["t"]["state"] == "CompleteAbort"


def test_a_reset_leaves_nothing_and_keeps_the_ports(broker: Process) -> None:
    url, pid = broker.control, broker.pid
    with Client(broker.bootstrap) as client:
        begin(client)
        broker.ask("POST", "/v1/faults", {"match": {"api": "Fetch"}, "action": {"type": "hold"}})
        assert broker.ask("POST", "/v1/reset").body == {"reset": True}
    assert broker.ask("GET", "/v1/state").body == {"topics": {}, "groups": {}, "transactions": {}}
    assert broker.ask("GET", "/v1/faults").body == {"faults": []}
    assert (broker.control, broker.pid, ask(url, "GET", "/readyz").status) == (url, pid, 200)
    with Client(broker.bootstrap) as client:
        assert client.init("t")[1] == 0


@pytest.mark.parametrize("point", ["after-prepare", "after-sync"])
def test_a_crash_point_kills_the_process(tmp_path: Path, point: str) -> None:
    with Process(tmp_path / "data") as process:
        with Client(process.bootstrap) as client:
            client.create("a", 1)
            pair = begin(client)
            assert process.ask("POST", "/v1/crash", {"point": point}).status == 201
            with pytest.raises((OSError, AssertionError)):
                client.end(TV2, "t", pair, True)
        wait_until(lambda: not process.running, what="the kill")
        assert process.stop() == -signal.SIGKILL
        process.start()
        refused = process.ask("POST", "/v1/reset")
        assert (refused.status, "control.reset.enable" in refused.body["error"]) == (409, True)
        with Client(process.bootstrap) as client:
            state = wait_until(lambda: process.ask("GET", "/v1/state").body["transactions"].get("t"), what="the transaction")
            assert state["state"] in ("CompleteCommit", "PrepareCommit")
            assert client.end_offset(PLACE, committed=True) == 2


def test_virtual_time_stands_and_needs_a_control_port(tmp_path: Path) -> None:
    with Process(tmp_path / "data", "--clock", "virtual") as process:
        first = process.ask("GET", "/v1/clock").body
        assert first["virtual"] is True
        with Client(process.bootstrap) as client:
            client.create("a", 1)
            begin(client)
        assert process.ask("GET", "/v1/clock").body == first
        assert process.ask("POST", "/v1/clock/advance", {"seconds": 0.25}).body == {"now_ms": first["now_ms"] + 250}
        assert process.ask("GET", "/v1/state").body["transactions"]["t"]["start_ms"] == first["now_ms"]
        assert process.stop() == 0


def test_a_plain_broker_imports_nothing_of_it(tmp_path: Path) -> None:
    plain = BrokerProcess(tmp_path / "plain")
    plain.launcher = ("-X", "importtime", "-m", "oncelog.broker")
    with plain:
        assert plain.stop() == 0
    found = set(re.findall(r"^import time:.*\| +(\S+)$", plain.text(), re.MULTILINE))
    assert "oncelog.broker.lifecycle" in found
    rooms = tuple(f"oncelog.broker.{room}" for room in ("control", "faults", "testkit"))
    assert [name for name in found if name.startswith((*rooms, "starlette", "uvicorn", "h11", "anyio", "http", "email"))] == []


def test_the_command_line(broker: Process, tmp_path: Path) -> None:
    def oncelog(*arguments: str) -> tuple[int, str, str]:
        command = [sys.executable, "-m", "oncelog.broker", "fault", *arguments]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60, env={**os.environ, "ONCELOG_CONTROL": broker.control})
        return ended.returncode, ended.stdout, ended.stderr

    status, id, _ = oncelog("add", "--api", "EndTxn", "--transactional-id", "t", "--action", "drop_answer")
    assert status == 0
    with Client(broker.bootstrap) as client:
        pair = begin(client)
        with pytest.raises((OSError, AssertionError)):
            client.end(TV2, "t", pair, True)
    assert broker.ask("GET", "/v1/state").body["transactions"]["t"]["state"] == "CompleteCommit"
    status, listed, _ = oncelog("list", "--format", "json")
    assert (status, [(rule["id"], rule["hits"]) for rule in json.loads(listed)]) == (0, [(id.strip(), 1)])
    assert oncelog("remove", id.strip())[:2] == (0, f"removed {id}")
    status, _, said = oncelog("remove", id.strip())
    assert (status, "there is no rule" in said, "Traceback" in said) == (1, True, False)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--clock", "virtual"), "--clock virtual needs a control port"),
        (
            ("--control", "1", "--override", "control.listener=http://127.0.0.1:2"),
            "--control 1 contradicts control.listener=http://127.0.0.1:2",
        ),
        (("--override", "control.listener=http://0.0.0.0:9644"), "set control.token"),
        (("--control", "70000"), "is not http://host:port"),
    ],
)
def test_a_start_that_is_refused(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    command = [sys.executable, "-m", "oncelog.broker", "serve", "--port", "0", "--data-dir", str(tmp_path / "data"), *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (ended.returncode, said in ended.stderr, "Traceback" in ended.stderr) == (1, True, False), ended.stderr
    assert not (tmp_path / "data").exists()
