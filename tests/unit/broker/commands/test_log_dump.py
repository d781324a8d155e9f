"""`oncelog log dump`: a line for each thing in a file, and the exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from oncelog.broker.commands.log_dump import dump
from oncelog.protocol.internal.share_state import StateBatch
from support.our_directory import OurDirectory

pytestmark = pytest.mark.unit


@pytest.fixture
def log(tmp_path: Path) -> Path:
    made = OurDirectory(tmp_path / "data")
    made.logs.create_topic("t", 1)
    made.put("t", 0, ["[red]a", "b"], key="k")
    made.close()
    return tmp_path / "data" / "t-0" / f"{0:020d}.log"


def test_for_people(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert dump(log) == 0
    name, batch, *records = capsys.readouterr().out.splitlines()
    assert name.endswith(log.name)
    assert batch.startswith("  batch position=0 base_offset=0 last_offset=1 ")
    assert [line.startswith("    record offset=") for line in records] == [True, True]
    assert "value=[red]a" in records[0]  # no markup
    assert "key=k" in records[0]
    assert dump(log, records=False) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_states_of_share_partitions(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    made = OurDirectory(tmp_path / "data")
    made.share_state("workers", "t", 0, StateBatch(0, 0, 0, 1), StateBatch(1, 1, 2, 1))
    made.close()
    (states,) = [path for path in (tmp_path / "data").glob("__share_group_state-*/*.log") if path.stat().st_size]
    assert dump(states, format="json") == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    records = [row for row in rows if row["kind"] == "record"]
    assert [(row["type"], row["key"]["group_id"]) for row in records] == [("ShareSnapshot", "workers"), ("ShareUpdate", "workers")]
    assert records[1]["value"]["state_batches"] == [{"first_offset": 1, "last_offset": 1, "delivery_state": 2, "delivery_count": 1}]


def test_for_programs(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert dump(log, format="json") == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["kind"] for row in rows] == ["batch", "record", "record"]
    assert (rows[0]["crc_valid"], rows[2]["value"]) == (True, "b")


def test_a_directory_is_all_of_its_files(log: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert dump(log.parents[1], format="json") == 0
    files = {json.loads(line)["file"] for line in capsys.readouterr().out.splitlines()}
    assert any(name.endswith(log.name) for name in files)
    assert len(files) > 3


def test_damage_is_a_row_and_an_exit_status(log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    torn = tmp_path / log.name
    torn.write_bytes(log.read_bytes() + b"rest")
    assert dump(torn, format="json") == 1
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["kind"] == "garbage"
    assert dump(torn) == 1
    assert "garbage" in capsys.readouterr().out
    flipped = bytearray(log.read_bytes())
    flipped[-1] ^= 1
    torn.write_bytes(flipped)
    assert dump(torn, format="json") == 1
    assert json.loads(capsys.readouterr().out.splitlines()[0])["crc_valid"] is False
    (tmp_path / "9.snapshot").write_bytes(b"\0\1")
    assert dump(tmp_path / "9.snapshot") == 1


def test_a_file_that_is_none_of_kafkas(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "notes.txt").write_text("x")
    assert dump(tmp_path / "notes.txt") == 2
    assert dump(tmp_path / "nowhere.log") == 2
    told = capsys.readouterr()
    assert (told.out, len(told.err.splitlines())) == ("", 2)
