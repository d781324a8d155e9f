"""How a command ends: what its users see instead of a traceback, and the exit status."""

from __future__ import annotations

import errno
import io
import signal
import sys
from collections.abc import Callable
from typing import Any

import pytest
from oncelog.broker.ending import exit_status, problem, shortened, tell

pytestmark = pytest.mark.unit


def raising(error: BaseException) -> Callable[[], int]:
    def command() -> int:
        raise error

    return command


@pytest.mark.parametrize(
    ("command", "status"),
    [
        (lambda: None, 0),
        (lambda: 0, 0),
        (lambda: 7, 7),
        (raising(SystemExit(3)), 3),
        (raising(SystemExit(None)), 0),
        (raising(SystemExit()), 0),
        (raising(KeyboardInterrupt()), 128 + signal.SIGINT),
        (raising(BrokenPipeError()), 128 + signal.SIGPIPE),
    ],
)
def test_the_status_is_the_commands(command: Callable[[], int | None], status: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_status(command) == status
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("error", "status", "text"),
    [
        (PermissionError(errno.EACCES, "Permission denied", "/x/y"), 1, "error: /x/y: Permission denied\n"),
        (OSError(errno.ENOSPC, "No space left on device"), 1, "error: the output cannot be written: No space left on device\n"),
        (UnicodeEncodeError("utf-8", "a\udcff", 1, 2, "surrogates not allowed"), 2, "error: 'a\\udcff' is not UTF-8 text\n"),
    ],
)
def test_what_users_and_disks_do_is_one_sentence(error: BaseException, status: int, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_status(raising(error)) == status
    assert capsys.readouterr().err == text


@pytest.mark.usefixtures("capsys")
def test_a_mistake_of_ours_keeps_its_traceback() -> None:
    with pytest.raises(ZeroDivisionError):
        exit_status(raising(ZeroDivisionError()))


def test_what_was_printed_is_flushed_before_the_status_is_known(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Full(io.BytesIO):
        def write(self, data: Any) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(Full(), encoding="utf-8"))
    assert exit_status(lambda: sys.stdout.write("x") and None) == 1
    assert capsys.readouterr().err == "error: the output cannot be written: No space left on device\n"


def test_names_that_are_no_text_are_printed_escaped(capsys: pytest.CaptureFixture[str]) -> None:
    def command() -> None:
        sys.stdout.write("topic \udcff\n")

    assert exit_status(command) == 0
    assert capsys.readouterr().out == "topic \\udcff\n"


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (OSError(2, "No such file or directory", "/x"), "/x: No such file or directory"),
        (OSError(2, "No such file or directory", b"/\xff"), "/\udcff: No such file or directory"),
        (OSError(5, "Input/output error"), "Input/output error"),
        (OSError("only text"), "only text"),
        (ValueError("bad value"), "bad value"),
    ],
)
def test_problems_have_no_numbers(error: OSError | ValueError, text: str) -> None:
    assert problem(error) == text


@pytest.mark.parametrize(("text", "longest", "short"), [("abc", 3, "abc"), ("abcd", 2, "a…d"), ("abcdefghij", 4, "ab…ij"), ("", 4, "")])
def test_the_middle_of_a_long_text_goes(text: str, longest: int, short: str) -> None:
    assert shortened(text, longest) == short


def test_what_is_told_is_shortened_line_by_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert tell("x" * 1000 + "\n  hint", 2, who="oncelog") == 2
    first, second = capsys.readouterr().err.splitlines()
    assert (len(first), second) == (601, "  hint")
    assert first.startswith("oncelog: xxx")
