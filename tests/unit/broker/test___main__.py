"""`oncelog`: the quick way to a broker, the parser for everything else, and the exit status."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from oncelog.broker import __main__ as entry

pytestmark = pytest.mark.unit


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    seen: list[tuple[str, Any]] = []

    def serve(**given: Any) -> int:
        seen.append(("serve", given))
        return 5

    def run(arguments: list[str]) -> int:
        seen.append(("run", arguments))
        return 6

    monkeypatch.setattr("oncelog.broker.commands.serve.serve", serve)
    monkeypatch.setattr("oncelog.broker.cli.run", run)
    return seen


@pytest.mark.parametrize(
    ("arguments", "call", "status"),
    [
        (["serve", "--port", "0"], ("serve", {"port": 0}), 5),
        (["serve"], ("serve", {}), 5),
        (["serve", "--help"], ("run", ["serve", "--help"]), 6),
        (["serve", "--port", "x"], ("run", ["serve", "--port", "x"]), 6),
        (["topic", "list"], ("run", ["topic", "list"]), 6),
        ([], ("run", []), 6),
    ],
    ids=str,
)
def test_who_is_called(
    monkeypatch: pytest.MonkeyPatch, calls: list[tuple[str, Any]], arguments: list[str], call: tuple[str, Any], status: int
) -> None:
    monkeypatch.setattr(sys, "argv", ["oncelog", *arguments])
    monkeypatch.setattr(entry, "exit_status", lambda command: command())
    with pytest.raises(SystemExit) as ended:
        entry.main()
    assert (ended.value.code, calls) == (status, [call])
