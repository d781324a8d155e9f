"""`oncelog graduate`: the steps of the move, what was copied, and why not."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from oncelog.broker.commands.graduate import graduate
from support.golden_storage import emptied, facts, unpack

pytestmark = pytest.mark.unit


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack("killed", tmp_path_factory.mktemp("golden"))


@pytest.fixture
def source(golden: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(golden, tmp_path / "source"))


@pytest.fixture
def target(golden: Path, tmp_path: Path) -> Path:
    return emptied(golden, tmp_path / "target")


def test_without_a_target_it_prints_the_steps(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path: path.read_bytes() for path in source.rglob("*") if path.is_file()}
    assert graduate(source, bootstrap="kafka:19092") == 0
    told = capsys.readouterr().out
    assert [line[0] for line in told.splitlines() if line[:2] in {f"{number}." for number in range(1, 10)}][:3] == ["1", "2", "3"]
    assert "--bootstrap-server kafka:19092" in told
    assert {path: path.read_bytes() for path in source.rglob("*") if path.is_file() and path.name != ".lock"} == {
        path: data for path, data in before.items() if path.name != ".lock"
    }


def test_what_was_copied_and_what_is_left_to_do(source: Path, target: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert graduate(source, to=target) == 0
    *copied, summary, left = (line for line in capsys.readouterr().out.splitlines()[: len(facts("killed")["partitions"]) + 2])
    size = (target / "plain-0" / f"{0:020d}.log").stat().st_size
    known = {name: found["batches"] for name, found in facts("killed")["partitions"].items()}
    assert f"  plain-0: {known['plain-0']} batches, {size} bytes" in copied
    assert summary == f"{len(known)} partitions, {sum(known.values())} batches copied. What is left to do:"
    assert left.startswith("6.")


def test_a_second_time_it_must_be_meant(source: Path, target: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert graduate(source, to=target) == 0
    capsys.readouterr()
    assert graduate(source, to=target) == 1
    told = capsys.readouterr().out
    assert "holds records already" in told
    assert told.endswith("Nothing was copied. `oncelog graduate DIR` without --to prints the steps.\n")
    assert graduate(source, to=target, force=True) == 0


def test_every_reason_against_it_is_told(source: Path, target: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "empty").mkdir()
    assert graduate(source, to=tmp_path / "empty") == 1
    assert "no meta.properties" in capsys.readouterr().out
    for folder in ("plain-0", "plain-1"):
        shutil.rmtree(target / folder)
    assert graduate(source, to=target) == 1
    told = capsys.readouterr().out.splitlines()
    assert len(told) == 3
    assert ["plain-0" in told[0], "plain-1" in told[1]] == [True, True]


def test_folders_that_are_none(source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert graduate(tmp_path / "nowhere") == 2
    assert graduate(source, to=tmp_path / "nowhere") == 2
    assert capsys.readouterr().err.count("No such file or directory") == 2
    (tmp_path / "empty").mkdir()
    assert graduate(tmp_path / "empty") == 1
