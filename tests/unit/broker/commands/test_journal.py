"""`oncelog journal`, on what a broker of its own process wrote."""

from __future__ import annotations

from pathlib import Path

import pytest
from oncelog.broker.cli import run
from oncelog.broker.journal.recorder import read
from oncelog.protocol.names import TopicPartition
from support.process import BrokerProcess
from support.txn_client import TV2, Client

pytestmark = pytest.mark.unit


class Journaling(BrokerProcess):
    """One that writes a journal beside its data."""

    launcher = ("-c", "import sys; from oncelog.broker.__main__ import main; sys.argv += ['--journal', sys.argv[-1] + '.journal']; main()")


def test_a_killed_broker_leaves_a_journal_that_is_told_and_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = TopicPartition("a", 0)
    broker = Journaling(tmp_path / "data")
    with broker:
        with Client(broker.bootstrap) as client:
            client.create("a", 1)
            pair = client.init("t")
            assert client.produce(TV2, "t", pair, 0, place, b"x") == 0
            assert client.end(TV2, "t", pair, True)[0] == 0
        broker.kill()
    path = tmp_path / "data.journal"
    assert [entry.get("api", "start") for entry in read(path)] == ["start", "InitProducerId", "Produce", "EndTxn"]
    assert run(["journal", "show", str(path)]) == 0
    assert "EndTxn  transactional_id=t" in capsys.readouterr().out
    assert run(["journal", "check", str(path)]) == 0
    assert capsys.readouterr().out == "3 requests, 0 contradictions\n"
    with path.open("a") as file:
        file.write(path.read_text().splitlines()[-1].replace('"committed":true', '"committed":false') + "\n{torn")
    assert run(["journal", "check", str(path)]) == 1
    assert capsys.readouterr().out.startswith("two outcomes: ")


@pytest.mark.parametrize("command", ["show", "check"])
def test_what_cannot_be_read_is_said(tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "x").write_text("x\n")
    assert run(["journal", command, str(tmp_path / "x")]) == 2
    assert "line 1 is no entry of a journal" in capsys.readouterr().err
    assert run(["journal", command, str(tmp_path / "y")]) == 2
    assert "No such file" in capsys.readouterr().err
