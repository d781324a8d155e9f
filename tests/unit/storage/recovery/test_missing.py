"""Acknowledged records that are gone: said once with their offsets, seen by `verify`, and nobody else gets their offsets."""

from __future__ import annotations

import logging
import re
import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from oncelog.storage.audit.verify import verify
from oncelog.storage.recovery.missing import MISSING_FILE, parse_missing
from support.damage import WAYS, damaged
from support.inline import delete_topic
from support.storage_kit import T0, Kit, offsets

pytestmark = pytest.mark.unit
MONTH_MS = 30 * 24 * 3600 * 1000
both = pytest.mark.parametrize("clean", [True, False], ids=["clean", "unclean"])


def filled(path: Path, **configs: str) -> Kit:
    kit = Kit(path, flush_on_ack=False)
    kit.create(**configs)
    for number in range(80):
        kit.append(number, pid=7)
    assert len(kit.log.segments) > 4
    kit.manager.chores.write_checkpoints(everything=True)
    return kit


def logs(kit: Kit) -> list[Path]:
    return sorted(kit.folder.glob("*.log"))


def remove(kit: Kit, slot: int) -> None:
    for path in kit.folder.glob(f"{logs(kit)[slot].stem}.*"):
        path.unlink()


def empty(kit: Kit, slot: int) -> None:
    logs(kit)[slot].write_bytes(b"")


def cut(kit: Kit, slot: int) -> None:
    data = logs(kit)[slot].read_bytes()
    logs(kit)[slot].write_bytes(data[: len(data) // 2])


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    found = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    caplog.clear()
    return found


LOSSES: dict[str, Callable[[Kit], None]] = {
    "first segment removed": lambda kit: remove(kit, 0),
    "middle segment removed": lambda kit: remove(kit, 2),
    "active segment removed": lambda kit: remove(kit, -1),
    "sealed segment empty": lambda kit: empty(kit, 1),
    "first segment empty": lambda kit: empty(kit, 0),
    "active segment empty": lambda kit: empty(kit, -1),
    "tail cut": lambda kit: cut(kit, -1),
    "folder emptied": lambda kit: [path.unlink() for path in kit.folder.iterdir()] and None,
    "folder removed": lambda kit: shutil.rmtree(kit.folder),
}


@both
@pytest.mark.parametrize("loss", LOSSES)
def test_what_is_missing_is_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture, loss: str, clean: bool) -> None:
    kit = filled(tmp_path)
    kit.stop() if clean else kit.kill()
    LOSSES[loss](kit)
    assert verify(tmp_path, records=False).errors
    lines(caplog)
    kit.start()
    assert kit.append().base_offset == 80
    there = offsets(kit.log)
    gone = sorted({*range(81)} - {*there})
    (line,) = [line for line in lines(caplog) if "data is missing" in line]
    told = [number for first, last in re.findall(r"(\d+)\.\.(\d+)", line) for number in range(int(first), int(last) + 1)]
    assert told == gone
    assert gone
    assert parse_missing((kit.folder / MISSING_FILE).read_bytes())
    for _ in range(2):
        kit.kill()
        kit.start()
        assert [line for line in lines(caplog) if "data is missing" in line] == []
        kit.restart()
        assert [line for line in lines(caplog) if "data is missing" in line] == []
    assert offsets(kit.log) == there
    assert kit.append().base_offset == 81


@both
@pytest.mark.parametrize("slot", [0, 1, -1], ids=["first", "sealed", "active"])
@pytest.mark.parametrize("loss", [empty, cut], ids=["emptied", "cut"])
def test_a_compacted_log_that_lost_a_file_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, loss: Callable[[Kit, int], None], slot: int, clean: bool
) -> None:
    """Though gaps mean nothing there."""
    kit = filled(tmp_path, cleanup_policy="compact")
    bases = [*(int(path.stem) for path in logs(kit)), 80]
    kit.stop() if clean else kit.kill()
    loss(kit, slot)
    assert [one for one in verify(tmp_path, records=False).findings if one.partition == "t-0"]
    lines(caplog)
    kit.start()
    (line,) = [line for line in lines(caplog) if "data is missing" in line]
    first, last = map(int, re.findall(r"(\d+)\.\.(\d+)", line)[0])
    following = min(base for base in bases if base > first)
    assert last == following - 1
    assert (first in bases) == (loss is empty)
    assert kit.append().base_offset == 80
    assert [*range(first), *range(last + 1, 81)] == offsets(kit.log)
    kit.restart()
    assert lines(caplog) == []


@both
@pytest.mark.parametrize("slots", [[0], [1], [3], [1, 2], [1, 3], [-1]], ids=str)
def test_a_compacted_log_whose_file_is_gone_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, slots: list[int], clean: bool
) -> None:
    """Its indexes are left, and tell that the gap is none that compaction made."""
    kit = filled(tmp_path, cleanup_policy="compact")
    files = logs(kit)
    bases = [*(int(path.stem) for path in files), 80]
    kit.stop() if clean else kit.kill()
    for slot in slots:
        files[slot].unlink()
    gone = [number for slot in slots for number in range(bases[slot % len(files)], bases[slot % len(files) + 1])]
    missing = [one for one in verify(tmp_path, records=False).errors if "in no segment" in one.message or "log end" in one.message]
    lines(caplog)
    kit.start()
    (line,) = [line for line in lines(caplog) if "data is missing" in line]
    told = [number for first, last in re.findall(r"(\d+)\.\.(\d+)", line) for number in range(int(first), int(last) + 1)]
    assert told == gone
    assert kit.append().base_offset == 80
    assert offsets(kit.log) == sorted({*range(81)} - {*gone})
    assert missing or slots in ([0], [-1])
    kit.restart()
    assert lines(caplog) == []


@both
def test_indexes_that_a_replacement_left_tell_of_no_loss(tmp_path: Path, caplog: pytest.LogCaptureFixture, clean: bool) -> None:
    """A crash in the middle of it: the segments that it covers go, with whatever is left of them."""
    kit = filled(tmp_path, cleanup_policy="compact")
    first, second = logs(kit)[1:3]
    kit.stop() if clean else kit.kill()
    for path in kit.folder.glob(f"{first.stem}.*"):
        if path.suffix in (".log", ".index", ".timeindex"):
            path.rename(path.with_name(path.name + ".swap"))
    second.rename(second.with_name(second.name + ".deleted"))
    assert not [one for one in verify(tmp_path, records=False).findings if "in no segment" in one.message]
    lines(caplog)
    kit.start()
    assert [line for line in lines(caplog) if "data is missing" in line] == []


@both
@pytest.mark.parametrize("outcomes", ["a" * 60, "ac" * 30], ids=["aborted", "both"])
@pytest.mark.parametrize("kept", [0.0, 0.3])
@pytest.mark.parametrize("ends_with_marker", [True, False], ids=["marker last", "record last"])
def test_records_in_front_of_markers_that_come_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, ends_with_marker: bool, kept: float, outcomes: str, clean: bool
) -> None:
    """The markers stand at their offsets again; what was lost beside them is named all the same."""
    kit = Kit(tmp_path, flush_on_ack=False)
    kit.create(internal_segment_bytes="2000")
    for epoch, outcome in enumerate(outcomes):
        for sequence in range(2):
            kit.append(sequence, pid=7, epoch=epoch, txn=True)
        kit.append()
        kit.mark(7, outcome == "c", epoch + 1)
    kit.manager.chores.write_checkpoints(everything=True)
    before = offsets(kit.log)
    kit.stop() if clean else kit.kill()
    path = next(one for one, after in pairwise(logs(kit)) if (int(after.stem) % 4 == 0) == ends_with_marker)
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * kept)])
    assert verify(tmp_path, records=False).errors
    lines(caplog)
    kit.start()
    there = offsets(kit.log)
    told = " ".join(line for line in lines(caplog) if "data is missing" in line)
    named = [number for first, last in re.findall(r"(\d+)\.\.(\d+)", told) for number in range(int(first), int(last) + 1)]
    assert len(there) < len(before)
    assert [number for number in named if number % 4 < 3] == sorted({*before} - {*there})
    kit.restart()
    assert [line for line in lines(caplog) if "data is missing" in line] == []


@both
def test_retention_is_no_loss(tmp_path: Path, caplog: pytest.LogCaptureFixture, clean: bool) -> None:
    """Whenever the broker is killed: the log start is on disk before a segment goes."""
    kit = filled(tmp_path, retention_ms="1000", file_delete_delay_ms="0")
    kit.clock.now_ms = T0 + MONTH_MS
    kit.append(80, pid=7)
    for _ in range(3):
        kit.clock.now_ms += 400_000
        kit.manager.maintenance(kit.clock.now_ms)
    assert kit.log.segments[0].base_offset > 0
    first = offsets(kit.log)
    kit.stop() if clean else kit.kill()
    assert [one for one in verify(tmp_path, records=False).errors if "segment" in one.message] == []
    lines(caplog)
    kit.start()
    assert [line for line in lines(caplog) if "data is missing" in line] == []
    assert offsets(kit.log) == first


@pytest.mark.parametrize("way", ["delete", *WAYS])
def test_a_spoilt_list_of_what_is_missing_is_told_and_written_again(tmp_path: Path, caplog: pytest.LogCaptureFixture, way: str) -> None:
    kit = filled(tmp_path)
    kit.stop()
    remove(kit, 2)
    kit.start()
    kit.stop()
    path = kit.folder / MISSING_FILE
    before = path.read_bytes()
    path.unlink() if way == "delete" else path.write_bytes(damaged(before, way, "middle"))
    kit.start()
    assert path.read_bytes() == before
    lines(caplog)
    kit.restart()
    assert lines(caplog) == []


def test_another_topic_of_the_name_owes_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    kit = filled(tmp_path)
    delete_topic(kit.manager, "t")
    kit.create()
    kit.append(0, pid=9)
    kit.kill()
    lines(caplog)
    kit.start()
    assert [line for line in lines(caplog) if "data is missing" in line] == []
    assert kit.log.log_end_offset == 1
