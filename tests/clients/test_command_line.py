"""Every command and option of `oncelog` with what nobody should give it: an exit status and a few words, never a traceback.

Commands, options and their types are read from the command line itself, so a new one is tested from the day it is there.
"""

from __future__ import annotations

import inspect
import io
import json
import logging
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, NamedTuple, get_args, get_origin

import pytest
from cyclopts import App
from oncelog.broker.__main__ import main
from oncelog.broker.cli import app
from oncelog.broker.commands.client.wire import WireClient, parse_address
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from support.process import BrokerProcess, wait_until

HUGE = "x" * 100_000
NOT_UTF8 = os.fsdecode(b"\xff\xfe")
TEXTS = ("", " ", NOT_UTF8, HUGE, "-1", "=", "a=b=c", "a:b", "[red]x[/]", "*", "\n")
INTEGERS = ("", "-1", "0", "x", "1e3", str(2**31), str(2**63), "9" * 5000, NOT_UTF8)
FLOATS = ("", "-1", "0", "nan", "inf", "-inf", "1e308", "1e-308", "x")
TIMES = ("", "never", "0001-01-01", "9999-12-31T23:59:59", NOT_UTF8)
ADDRESSES = (
    "localhost:notaport",
    "localhost:99999",
    "localhost:0",
    "localhost:-1",
    ":",
    "[::1",
    "no.such.host.invalid:1",
    "127.0.0.1:1",
    ",",
    "a:1,b:x",
)
LINES = b"good\n\xff\xfe\n\0\n" + b"x" * 70_000 + b"\n"
STATUSES = {0, 1, 2, 3}


class Option(NamedTuple):
    name: str
    kind: Any
    required: bool


def commands(start: App = app, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], App]]:
    for name in start:
        if not name.startswith("-"):
            below = start[name]
            yield from commands(below, (*path, name)) if not below.default_command else [((*path, name), below)]


def options(command: App) -> list[Option]:
    found = []
    for argument in command.assemble_argument_collection():
        kind = argument.hint
        if get_origin(kind) is tuple:
            kind = get_args(kind)[0]
        by_keyword = argument.names[0] if argument.names and argument.names[0].startswith("--") else ""
        positional = argument.field_info.kind in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
        found.append(
            Option(
                "" if positional and argument.field_info.kind == inspect.Parameter.VAR_POSITIONAL else by_keyword,
                kind,
                bool(argument.required),
            )
        )
    return found


ALL = dict(commands())
SHARED = {option.name for option in options(ALL["topic", "list"])} - {"--internal"}
"""Options of the connection; they are read in one place, and tried with the commands below."""
THOSE_TRY_SHARED = {("topic", "list"), ("doctor",), ("produce",)}


def is_one(kind: Any, wanted: type) -> bool:
    """Whether a type annotation is `wanted`, or may be."""
    return kind is wanted or wanted in get_args(kind) or any(is_one(each, wanted) for each in get_args(kind) if get_args(each))


def usual(option: Option, folder: Path) -> str:
    """A value that is right for a required option."""
    if choices := literals(option.kind):
        return choices[0]
    return (
        "0" if is_one(option.kind, int) else str(folder) if is_one(option.kind, Path) else "User:x" if option.name == "--principal" else "t"
    )


def literals(kind: Any) -> list[str]:
    if get_origin(kind) is Literal:
        return [str(each) for each in get_args(kind)]
    return [choice for each in get_args(kind) for choice in literals(each)]


def hostile(option: Option, folder: Path) -> list[str] | None:
    """Values to try; None for a flag."""
    if is_one(option.kind, bool):
        return None
    if is_one(option.kind, Path):
        (folder / "garbage").write_bytes(bytes(range(256)) * 40)
        (folder / "empty").touch()
        (folder / "file-in-the-way").touch()
        return [
            *TEXTS[:4],
            str(folder / "missing"),
            str(folder),
            str(folder / "garbage"),
            str(folder / "empty"),
            str(folder / "file-in-the-way" / "x"),
            "/dev/null",
        ]
    if is_one(option.kind, datetime):
        return list(TIMES)
    if is_one(option.kind, float):
        return list(FLOATS)
    if is_one(option.kind, int):
        return list(INTEGERS)
    if option.name == "--bootstrap":
        return [*TEXTS, *ADDRESSES]
    return [*TEXTS, "nosuch"]


SERVE = (("serve",), ("console",), ("lab", "late-end-txn"))  # until Ctrl-C


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty folder that is the current one, and a logger as it was before."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    logger = logging.getLogger("oncelog")
    before = logger.handlers[:], logger.propagate, logger.level
    yield tmp_path
    logger.handlers[:], logger.propagate = before[0], before[1]
    logger.setLevel(before[2])


class Said(NamedTuple):
    status: int
    out: str
    err: str


def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], given: bytes = LINES) -> Said:
    """`oncelog ARGUMENTS` in this process; any exception but SystemExit would have been a traceback."""
    monkeypatch.setattr(sys, "argv", ["oncelog", *arguments])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given)))
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    status = 0
    try:
        main()
    except SystemExit as ended:
        status = int(ended.code or 0)
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    out, err = capsys.readouterr()
    return Said(status, out, err)


def trials(path: tuple[str, ...], folder: Path, serve_port: int) -> Iterator[list[str]]:
    """The command with one thing wrong at a time."""
    known = options(ALL[path])
    usuals = {option.name: usual(option, folder) for option in known if option.required}
    if path in SERVE:
        usuals["--port"] = str(serve_port)  # a port that is taken: no trial may stay
    if path == ("serve",):
        usuals["--data-dir"] = str(folder / "data")
    elif "--yes" in [option.name for option in known]:
        usuals["--yes"] = ""
    base = [each for name, value in usuals.items() for each in ([name, value] if value else [name])]
    yield [*path, *base]
    yield [*path, *base, "--no-such-option"]
    yield [*path, *base, NOT_UTF8, "superfluous", "--"]
    for option in known:
        if option.name == "--follow" or (option.name in SHARED and path not in THOSE_TRY_SHARED):  # --follow is meant to stay
            continue
        values = hostile(option, folder)
        rest = [each for name, value in usuals.items() if name != option.name for each in ([name, value] if value else [name])]
        if path in SERVE and option.name == "--port":
            values = [value for value in values or () if value != "0"]
        for value in [None] if values is None else values:
            if not option.name:
                yield [*path, *rest, *([] if value is None else [value])]
            else:
                yield [*path, *rest, option.name, *([] if value is None else [value])]


def check(said: Said, arguments: list[str]) -> None:
    shown = [each if len(each) < 80 else f"{each[:20]}…" for each in arguments]
    assert said.status in STATUSES, (shown, said.status, said.err[:2000])
    assert "Traceback" not in said.err + said.out, shown
    assert "Errno" not in said.err, (shown, said.err[:2000])
    assert "(None)" not in said.err, (shown, said.err[:2000])
    if said.status:
        lines = [line for line in said.err.splitlines() if "[info" not in line and "[warning" not in line]
        told = lines or said.out.splitlines() if arguments[0] in ("verify", "graduate", "doctor", "log") else lines
        assert told, (shown, said)
        assert len(lines) <= 4, (shown, said.err[:2000])
        assert all(len(line) < 1000 for line in lines), (shown, said.err[:2000])


@pytest.mark.parametrize("path", ALL, ids="-".join)
def test_hostile_values(
    path: tuple[str, ...], bootstrap: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ONCELOG_BOOTSTRAP", bootstrap)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        for arguments in trials(path, folder, taken.getsockname()[1]):
            check(call(monkeypatch, capsys, arguments), arguments)


NEED_A_BROKER = [path for path, each in ALL.items() if "--bootstrap" in [option.name for option in options(each)] and path != ("graduate",)]


@pytest.mark.parametrize("path", NEED_A_BROKER, ids="-".join)
def test_no_broker(path: tuple[str, ...], folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("ONCELOG_BOOTSTRAP", "127.0.0.1:1")
    arguments = next(trials(path, folder, 0))
    said = call(monkeypatch, capsys, [*arguments, *(["--bootstrap", "127.0.0.1:1"] if path == ("ready",) else [])])
    check(said, arguments)
    if said.status != 2:  # some want more than their required arguments, and say so first
        assert said.status == (1 if path == ("ready",) else 3)
        assert "refused" in said.err + said.out


@pytest.mark.parametrize("address", ["localhost:notaport", "localhost:99999", "localhost:0", ":1"])
def test_an_address_that_is_none_is_named(address: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    said = call(monkeypatch, capsys, ["topic", "list", "--bootstrap", address])
    assert said.status == 2
    assert said.err.startswith(f"error: '{address}' is not HOST:PORT")


# --- output that nobody takes


def oncelog(*arguments: str, bootstrap: str, **how: Any) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "ONCELOG_BOOTSTRAP": bootstrap}
    return subprocess.Popen([sys.executable, "-m", "oncelog.broker", *arguments], env=environment, stderr=subprocess.PIPE, **how)


@pytest.mark.parametrize("arguments", [["--help"], ["topic", "list", "--format", "json"], ["produce", "t-full"]], ids=" ".join)
def test_a_full_disk_is_told(arguments: list[str], bootstrap: str, folder: Path) -> None:
    with open("/dev/full", "w") as full, oncelog(*arguments, bootstrap=bootstrap, stdin=subprocess.DEVNULL, stdout=full) as process:
        assert process.communicate()[1] == b"error: the output cannot be written: No space left on device\n"
    assert process.returncode == 1


def test_a_reader_that_has_seen_enough_is_no_error(
    bootstrap: str, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = b"".join(b"line %d\n" % number for number in range(5000))
    assert produce(monkeypatch, capsys, bootstrap, lines, name).status == 0
    with oncelog("consume", name, "--format", "json", bootstrap=bootstrap, stdout=subprocess.PIPE) as reader:
        assert reader.stdout is not None
        assert reader.stderr is not None
        assert reader.stdout.readline()
        reader.stdout.close()
        assert reader.stderr.read() == b""
    assert reader.returncode == 128 + signal.SIGPIPE


def test_ctrl_c_ends_without_a_traceback(bootstrap: str, name: str) -> None:
    with oncelog("produce", name, bootstrap=bootstrap, stdin=subprocess.PIPE) as writer:
        assert writer.stdin is not None
        writer.stdin.write(b"x\n" * 2000)
        writer.stdin.flush()
        with WireClient(*parse_address(bootstrap)) as client:
            wait_until(lambda: client.send(ApiKey.METADATA, metadata_request(name)).topics[0].error_code == 0, what="the topic")
        writer.send_signal(signal.SIGINT)
        said = writer.communicate()[1]
    assert b"Traceback" not in said
    assert writer.returncode in (128 + signal.SIGINT, -signal.SIGINT)


def metadata_request(topic: str) -> Any:
    asked = messages.MetadataRequest.MetadataRequestTopic(name=topic)
    return messages.MetadataRequest(topics=[asked], allow_auto_topic_creation=False)


# --- produce


def produce(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], bootstrap: str, given: bytes, *arguments: str) -> Said:
    return call(monkeypatch, capsys, ["produce", *arguments, "--bootstrap", bootstrap], given)


def test_a_bad_line_tells_what_was_written_before_it(
    bootstrap: str, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = b"".join(b"k%d=v\n" % number for number in range(700)) + b"bad\nk=last\n"
    said = produce(monkeypatch, capsys, bootstrap, lines, name, "--key-separator", "=")
    assert said.status == 1
    assert said.err == "error: line 701 has no '=': 'bad'; 700 records were written before it (--skip-bad-lines leaves such lines out)\n"
    said = produce(monkeypatch, capsys, bootstrap, lines, name, "--key-separator", "=", "--skip-bad-lines")
    assert (said.status, said.out, said.err) == (0, f"wrote 701 records to {name}\n", "left out 1 bad lines\n")
    read = call(monkeypatch, capsys, ["consume", name, "--bootstrap", bootstrap])
    assert read.out.splitlines() == ["v"] * 1400 + ["last"]


def test_bytes_stay_as_they_are(bootstrap: str, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert produce(monkeypatch, capsys, bootstrap, b"\xff\xfe\n\xe4=\xf6", name).status == 0
    assert produce(monkeypatch, capsys, bootstrap, b"", name, "--value", NOT_UTF8, "--key", NOT_UTF8).status == 0
    read = call(monkeypatch, capsys, ["consume", name, "--bootstrap", bootstrap])
    assert read.out.splitlines() == [r"\xff\xfe", r"\xe4=\xf6", r"\xff\xfe"]


@pytest.mark.parametrize("header", ["bad", "", "=x", ":x"])
def test_a_header_without_a_key_is_refused(
    header: str, bootstrap: str, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = produce(monkeypatch, capsys, bootstrap, b"x\n", name, "--header", header)
    assert (said.status, said.err) == (2, f"error: --header '{header}' is neither KEY=VALUE nor KEY:VALUE\n")


def test_headers_in_both_spellings(bootstrap: str, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert produce(monkeypatch, capsys, bootstrap, b"x\n", name, "--header", "a=b:c", "--header", "d:e=f").status == 0
    read = call(monkeypatch, capsys, ["consume", name, "--format", "json", "--bootstrap", bootstrap])
    assert json.loads(read.out)["headers"] == {"a": "b:c", "d": "e=f"}


def test_a_missing_topic_is_made_as_the_broker_is_told_to(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with BrokerProcess(tmp_path / "data") as broker:
        assert produce(monkeypatch, capsys, broker.bootstrap, b"x\n", name).status == 0
    with BrokerProcess(tmp_path / "strict", {"auto.create.topics.enable": "false"}) as broker:
        said = produce(monkeypatch, capsys, broker.bootstrap, b"x\n", name)
    assert said.status == 1
    assert f"topic {name} does not exist" in said.err
    assert f"`oncelog topic create {name}`" in said.err


def test_a_broker_that_goes_away_in_the_middle(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with BrokerProcess(tmp_path / "data") as broker:

        class Lines(io.BytesIO):
            """The broker dies while the third request is made."""

            def __next__(self) -> bytes:
                if self.tell() == 2 * 1200:
                    broker.kill()
                return super().__next__()

        monkeypatch.setattr(sys, "argv", ["oncelog", "produce", name, "--bootstrap", broker.bootstrap])
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=Lines(b"x\n" * 3000), isatty=lambda: False))
        with pytest.raises(SystemExit) as ended:
            main()
    assert ended.value.code == 3
    assert capsys.readouterr().err.startswith("1000 records were written before this:\nerror: 127.0.0.1:")
