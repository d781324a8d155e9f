"""Checkpoints say what they can be believed: bounded by the log, vouched for by a CRC, taken for absent otherwise, in one line."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from oncelog.storage.audit.findings import Kind
from oncelog.storage.audit.raw_formats import parse_offset_checkpoint
from oncelog.storage.audit.verify import verify
from oncelog.storage.env import OsFileSystem
from oncelog.storage.files.checkpoints import read_checkpoint, read_epochs, write_offsets
from oncelog.storage.upkeep.retention import delete_records
from support.damage import PLACES, WAYS, damaged
from support.storage_kit import TP, Kit, offsets

pytestmark = pytest.mark.unit


FILES = ("recovery-point-offset-checkpoint", "replication-offset-checkpoint", "log-start-offset-checkpoint", "cleaner-offset-checkpoint")


ABSURD = (10**30, 2**63, 2**63 - 1, -1, 5000)


FS = OsFileSystem()


both = pytest.mark.parametrize("clean", [True, False], ids=["clean", "unclean"])


def filled(path: Path, **configs: str) -> Kit:
    """A log whose start was moved to 10, several segments, all checkpoints on disk."""
    kit = Kit(path, flush_on_ack=False)
    kit.create(**configs)
    for number in range(60):
        kit.append(number, pid=7)
    kit.log.advance_log_start(10)
    kit.manager.chores.write_checkpoints(everything=True)
    write_offsets(FS, path / FILES[3], {TP: 20})
    return kit


def stop(kit: Kit, clean: bool) -> None:
    kit.stop() if clean else kit.kill()


def lines(caplog: pytest.LogCaptureFixture, about: str = "") -> list[str]:
    found = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    caplog.clear()
    return [line for line in found if about in line]


@both
@pytest.mark.parametrize("value", ABSURD)
@pytest.mark.parametrize("name", FILES)
def test_an_absurd_number_without_a_crc_is_bounded(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str, value: int, clean: bool
) -> None:
    kit = filled(tmp_path)
    stop(kit, clean)
    (tmp_path / name).write_text(f"0\n1\nt 0 {value}\n")
    lines(caplog)
    kit.start()
    assert kit.log.log_end_offset == 60
    assert kit.append(60, pid=7).base_offset == 60
    seen = offsets(kit.log)
    assert seen[-50:] == list(range(11, 61))
    told = lines(caplog, "checkpoint")
    assert len(told) <= 1
    assert told or name in (FILES[0], FILES[3])  # these two only cost work
    kit.restart()
    assert lines(caplog) == []
    assert offsets(kit.log) == seen


@both
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", FILES)
def test_a_spoilt_checkpoint_is_taken_for_absent(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str, place: str, way: str, clean: bool
) -> None:
    kit = filled(tmp_path, cleanup_policy="compact", min_compaction_lag_ms="999999999")
    stop(kit, clean)
    path = tmp_path / name
    path.write_bytes(damaged(path.read_bytes(), way, place))
    harmless = read_checkpoint(FS, path) is not None  # the last byte is a newline
    assert harmless or any(one.kind is Kind.CHECKPOINT_DAMAGED and one.file == name for one in verify(tmp_path, records=False).errors)
    assert not harmless or place == "tail" or (name == FILES[3] and path.read_bytes() == b"")  # so Kafka leaves it
    lines(caplog)
    kit.start()
    kit.manager.maintenance(kit.clock.now_ms)
    assert kit.log.log_end_offset == 60
    assert offsets(kit.log)[-50:] == list(range(10, 60))
    assert len(lines(caplog, name)) == (not harmless)
    kit.restart()
    kit.manager.maintenance(kit.clock.now_ms)
    assert lines(caplog) == []


@pytest.mark.parametrize(
    "body", ["1\nt 0 x\n", "1\nt -1 5\n", "2\nt 0 5\nt 0 6\n", "1\nt 99999999999 5\n", "1\nt 0\n", "2\nt 0 5\n", "1\nt 0 ٣\n"]
)
def test_rows_that_cannot_be(tmp_path: Path, body: str) -> None:
    path = tmp_path / FILES[0]
    path.write_text(f"0\n{body}")
    assert read_checkpoint(FS, path) is None
    with pytest.raises(ValueError, match=r"\w"):
        parse_offset_checkpoint(path.read_bytes())


@pytest.mark.parametrize("row", ["2147483648 0", f"0 {2**63}", f"{10**30} 0", "-1 0", "0 -1", "0 0\n0 1", "1 5\n0 6", "0 5\n1 4"])
def test_epochs_that_cannot_be(tmp_path: Path, caplog: pytest.LogCaptureFixture, row: str) -> None:
    kit = filled(tmp_path)
    kit.stop()
    path = kit.folder / "leader-epoch-checkpoint"
    path.write_text(f"0\n{len(row.splitlines())}\n{row}\n")
    assert read_epochs(FS, path) == []
    lines(caplog)
    kit.start()
    assert kit.append(60, pid=7).base_offset == 60
    assert kit.log.epochs.entries == [(0, 10)]
    assert len(lines(caplog, path.name)) == 1
    kit.restart()
    assert lines(caplog) == []


def test_partition_ids_are_told_from_the_registry(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for number, content in enumerate(
        (b"", b"version: 0\ntopic_id: " + b"A" * 22, b"version: 0\ntopic_id: \xff", b"version: 99\n" * 9, None)
    ):
        kit = filled(tmp_path / str(number))
        topic_id = kit.log.topic_id
        kit.stop()
        path = kit.folder / "partition.metadata"
        before = path.read_bytes()
        path.unlink() if content is None else path.write_bytes(content)
        lines(caplog)
        kit.start()
        assert kit.log.topic_id == topic_id
        assert path.read_bytes() == before
        assert len(lines(caplog)) <= 1
        kit.restart()
        assert lines(caplog) == []


# --- the rest of the crash points


@both
def test_case_38_drafts_of_checkpoints_are_not_believed(tmp_path: Path, clean: bool) -> None:
    kit = Kit(tmp_path / "data", flush_on_ack=False)
    kit.create()
    for sequence in range(40):
        kit.append(sequence, pid=7)
    delete_records(kit.log, 5)
    kit.manager.chores.write_checkpoints(everything=True)
    kit.stop() if clean else kit.kill()
    drafts = [path.with_name(path.name + ".tmp") for path in kit.data_dir.iterdir() if path.name.endswith("checkpoint")]
    drafts += [kit.data_dir / "oncelog.topics.tmp", kit.data_dir / "meta.properties.tmp", kit.folder / "leader-epoch-checkpoint.tmp"]
    for path in drafts:
        path.write_text("0\n1\nt 0 3\n")
    kit.start()
    assert (kit.log.log_start_offset, kit.log.log_end_offset) == (5, 40)
    assert offsets(kit.log) == list(range(5, 40))
