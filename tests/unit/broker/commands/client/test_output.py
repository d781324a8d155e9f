"""Tables and JSON."""

from __future__ import annotations

import json

import pytest
from oncelog.broker.commands.client.output import Format, show

pytestmark = pytest.mark.unit


def test_tables_for_people_and_json_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"name": "a" * 200, "count": None, "many": [1, 2], "open": True}]
    show(rows, ["name", "count", "many", "open"], Format.TABLE)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].split() == ["a" * 200, "-", "1,2", "yes"]  # a pipe gets one line a row
    show(rows, ["name"], Format.JSON)
    assert json.loads(capsys.readouterr().out) == rows
    show([], ["name"], Format.JSON)
    assert capsys.readouterr().out == "[]\n"
