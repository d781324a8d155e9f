"""`oncelog lab`: the delayed EndTxn tears an old client's transaction, and is refused for a new one."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys

import pytest
from oncelog.broker.cli import run
from oncelog.broker.commands.lab import TV0, TV2, Dialect, replay
from oncelog.broker.testkit import Broker
from support.control_client import ask

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("dialect", "late", "seen", "debit"),
    [(TV0, "NONE", ("credit",), "aborted"), (TV2, "PRODUCER_FENCED", ("debit", "credit"), "committed")],
)
def test_torn_or_fenced(dialect: Dialect, late: str, seen: tuple[str, ...], debit: str) -> None:
    with Broker() as broker:
        outcome = replay(broker, dialect)
        assert [step.answer for step in outcome.steps] == ["NONE", "NONE", "NONE", late, "NONE", "NONE"]
        assert outcome.seen == seen
        told = {(record.value or b"").decode(): became for record, became in broker.outcomes(f"lab-{dialect.name}")}
        assert told == {"forgotten": "aborted", "debit": debit, "credit": "committed"}
        assert outcome.verdict.startswith("torn" if dialect is TV0 else "fenced")


def test_the_command_ends_when_told_to(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lab", "late-end-txn", "--once"]) == 0
    out = capsys.readouterr().out
    assert ("torn: the client was told" in out, "fenced: the late request" in out) == (True, True)
    assert run(["lab", "late-end-txn", "--once", "--format", "json"]) == 0
    assert [each["seen"] for each in json.loads(capsys.readouterr().out)] == [["credit"], ["debit", "credit"]]
    with pytest.raises(SystemExit):
        raise SystemExit(run(["lab", "late-end-txn", "--port", "70000"]))


def test_it_can_be_looked_at_until_it_is_ended() -> None:
    command = [sys.executable, "-m", "oncelog.broker", "lab", "late-end-txn"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            _look(process)
        finally:
            process.kill()


def _look(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    url = next(found[1] for line in process.stdout if (found := re.match(r"Console: (\S+)/\?token=", line)))
    fencings = ask(url, "GET", "/api/v1/fencings?transactional_id=lab-tv2").body
    assert [(each["api"], each["error"]) for each in fencings] == [("EndTxn", "PRODUCER_FENCED")]
    batches = ask(url, "GET", "/api/v1/partitions/lab-tv0/0").body["batches"]
    assert [each["outcome"] for each in batches] == ["aborted", None, "aborted", None]
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 0
