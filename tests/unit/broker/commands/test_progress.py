"""What is under way is shown on a terminal, and to nobody else."""

from __future__ import annotations

import sys

import pytest
from oncelog.broker.commands.progress import progress

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(("terminal", "asked", "seen"), [(True, True, True), (True, False, False), (False, True, False)])
def test_only_a_terminal_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, terminal: bool, asked: bool, seen: bool
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    with progress("reading [bold]", shown=asked) as at:
        at("t-0 [red]")
    told = capsys.readouterr()
    assert told.out == ""
    assert ("reading [bold] t-0 [red]" in told.err) is seen  # names are no markup


def test_what_fails_inside_is_not_swallowed() -> None:
    with pytest.raises(ValueError, match="inside"), progress("reading"):
        raise ValueError("inside")
