"""The command line as a whole: every command is there, and wrong arguments are told in one sentence."""

from __future__ import annotations

import pytest
from oncelog.broker import cli

pytestmark = pytest.mark.unit
COMMANDS = (
    "serve",
    "ready",
    "topic",
    "group",
    "produce",
    "consume",
    "config",
    "user",
    "acl",
    "txn",
    "fault",
    "console",
    "lint",
    "lab",
    "doctor",
    "journal",
    "verify",
    "graduate",
    "log",
)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_can_be_loaded_and_explains_itself(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run([name, "--help"]) == 0
    told = capsys.readouterr().out
    assert f"Usage: oncelog {name}" in told


def test_no_command_is_left_out_of_this_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["--help"]) == 0
    told = capsys.readouterr().out
    assert all(f" {name} " in told for name in COMMANDS)
    named = {name for name in cli.app if not name.startswith("--") and name != "-h"}
    assert named - {*COMMANDS} == {"install-completion"} or named == {*COMMANDS}


@pytest.mark.parametrize(
    ("arguments", "why", "help_of"),
    [
        (["no-such"], "no-such", "oncelog"),
        (["topic", "no-such"], "no-such", "oncelog topic"),
        (["verify"], "--directory requires an argument", "oncelog verify"),
        (["serve", "--port", "x"], "x", "oncelog serve"),
        (["topic", "list", "--nonsense"], "--nonsense", "oncelog topic list"),
        (["ready", "--timeout", "-1"], "timeout", "oncelog ready"),
    ],
    ids=str,
)
def test_wrong_arguments(arguments: list[str], why: str, help_of: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(arguments) == 2
    told = capsys.readouterr()
    assert told.out == ""
    first, second = told.err.splitlines()
    assert first.startswith("error: ")
    assert why in first
    assert second == f"       `{help_of} --help` shows what it takes"


def test_the_status_of_a_command_is_handed_on(tmp_path: object, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["verify", f"{tmp_path}/nowhere"]) == 2
    assert "nowhere is not a directory" in capsys.readouterr().err


def test_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["--version"]) == 0
    assert capsys.readouterr().out.strip()[0].isdigit()


@pytest.mark.parametrize(("default", "shown"), [(False, None), ((), None), (True, True), (0, 0), ("x", "x"), (None, None)])
def test_defaults_worth_telling(default: object, shown: object) -> None:
    told = cli._shown(default)
    assert told == shown
    assert (told is None) == (shown is None)
