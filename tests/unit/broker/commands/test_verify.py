"""`oncelog verify`: what an audit found, for people and for programs, and the exit status."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from pathlib import Path

import pytest
from oncelog.broker.commands.verify import verify
from support.our_directory import OurDirectory

pytestmark = pytest.mark.unit


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Two topics, stopped in order."""
    made = OurDirectory(tmp_path / "data")
    made.logs.create_topic("t", 2)
    made.put("t", 0, ["a", "b"])
    made.put("t", 1, ["c"])
    made.close()
    return tmp_path / "data"


def test_a_sound_one(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify(directory) == 0
    assert capsys.readouterr().out == "2 partitions, 2 batches, 0 errors, 0 notes\n"
    assert verify(directory, format="json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["sound"], told["clean_stop"], told["errors"], told["findings"]) == (True, True, 0, [])
    assert {(each["partition"], each["batches"]) for each in told["partitions"]} == {("t-0", 1), ("t-1", 1)}


def test_one_with_something_wrong(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(directory / "t-1")
    assert verify(directory, format="json") == 1
    told = json.loads(capsys.readouterr().out)
    assert told["sound"] is False
    assert Counter(finding["kind"] for finding in told["findings"])["partition-missing"] == 1
    assert verify(directory) == 1
    out = capsys.readouterr().out
    assert "error  partition-missing  t-1" in out
    assert out.endswith(f"{told['errors']} errors, {told['notes']} notes\n")


def test_where_it_is(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = directory / "t-0" / f"{0:020d}.log"
    data = bytearray(log.read_bytes())
    data[-1] ^= 1
    log.write_bytes(data)
    assert verify(directory) == 1
    assert f"t-0/{log.name} @ 0" in capsys.readouterr().out


def test_notes_are_no_errors_and_can_be_left_out(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (directory / "t-0" / "leftover.swap").touch()
    (directory / ".kafka_cleanshutdown").unlink()
    assert verify(directory) == 0
    shown = capsys.readouterr().out
    assert "note" in shown.splitlines()[0]
    assert verify(directory, notes=False) == 0
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_what_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify(tmp_path / "nowhere") == 2
    assert capsys.readouterr().err == f"error: {tmp_path}/nowhere is not a directory\n"
