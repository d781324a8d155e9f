"""`oncelog lint`: what it prints, and how it ends."""

from __future__ import annotations

import json

import pytest
from oncelog.broker.cli import run
from oncelog.broker.testkit import Broker
from support.txn_client import Client

pytestmark = pytest.mark.unit


def status(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        raise SystemExit(run(["lint", *arguments]))
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_mistakes_and_none(capsys: pytest.CaptureFixture[str]) -> None:
    with Broker() as broker, Client(broker.bootstrap) as client:
        assert status("--bootstrap", broker.bootstrap) == 0
        assert capsys.readouterr().out == "no mistakes were seen\n"
        for _ in range(3):
            client.init("shared")
        assert status("--bootstrap", broker.bootstrap) == 1
        out = capsys.readouterr().out
        assert "One transactional id in two live clients [transactional-id-shared] shared" in out
        assert "instead: Give each running producer" in out
        assert status("--bootstrap", broker.bootstrap, "--format", "json") == 1
        assert [row["rule"] for row in json.loads(capsys.readouterr().out)] == ["transactional-id-shared"]


def test_nobody_there_and_wrong_settings(capsys: pytest.CaptureFixture[str]) -> None:
    assert status("--bootstrap", "127.0.0.1:1") == 3
    assert status("--client-property", "acks=all") == 2
    assert "NAME=VALUE" in capsys.readouterr().err
