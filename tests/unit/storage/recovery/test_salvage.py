"""Damaged and torn batches, after an orderly stop and after a kill: what is mended, what is cut, what is put aside."""

from __future__ import annotations

import logging
import struct
from pathlib import Path

import pytest
from oncelog.protocol.records import iter_headers
from oncelog.storage.env import Env
from support.damaged_partition import both, damage, filled, logs, state, stop, which
from support.storage_kit import Kit, offsets

pytestmark = pytest.mark.unit


def batches(path: Path) -> list[tuple[int, int, int]]:
    """(position, size, base offset)"""
    return [(position, header.size_bytes, header.base_offset) for position, header in iter_headers(path.read_bytes())]


@pytest.mark.parametrize("tail", [b"\x01" * 10, bytes(64), bytes(range(200))], ids=["10 B", "64 zeros", "200 random"])
@both
def test_case_45_bytes_behind_the_end_are_cut(tmp_path: Path, clean: bool, tail: bytes) -> None:
    kit = filled(tmp_path)
    before = state(kit.log)
    stop(kit, clean)
    damage(logs(kit)[-1], lambda data: data.extend(tail))
    kit.start()
    assert state(kit.log) == before
    info = kit.append()
    assert info.base_offset in offsets(kit.log)


@both
def test_case_30_torn_at_each_byte(tmp_path: Path, clean: bool) -> None:
    kit = Kit(tmp_path / "data")
    kit.create()
    for _ in range(3):
        kit.append(n=2)
    stop(kit, clean)
    path = logs(kit)[-1]
    content = path.read_bytes()
    position, size, base = batches(path)[-1]
    marker = tmp_path / "data" / ".kafka_cleanshutdown"
    for kept in range(7, size, 7):
        path.write_bytes(content[: position + kept])
        path.with_suffix(".index").unlink(missing_ok=True)
        if clean:
            marker.write_bytes(b"")
        kit.start()
        assert kit.append().base_offset == 6, kept  # the checkpoints tell that 4 and 5 were acknowledged
        assert offsets(kit.log) == [*range(base), 6]
        kit.kill()
        for added in logs(kit)[1:]:
            added.unlink()


@both
@which
def test_case_46_bit_flip_is_quarantined_and_what_is_above_is_served(
    tmp_path: Path, clean: bool, slot: int, caplog: pytest.LogCaptureFixture
) -> None:
    kit = filled(tmp_path)
    before = offsets(kit.log)
    end = kit.log.log_end_offset
    stop(kit, clean)
    if not clean:
        (kit.data_dir / "recovery-point-offset-checkpoint").write_text("0\n0\n")
    path = logs(kit)[slot]
    position, size, base = batches(path)[0]
    damage(path, lambda data: data.__setitem__(position + 80, data[position + 80] ^ 4))
    with caplog.at_level(logging.ERROR):
        kit.start()
        seen = offsets(kit.log)  # after an orderly stop only tails are checked: then the first reader finds it
    lost = set(before) - set(seen)
    assert kit.log.log_end_offset == end
    assert lost
    assert min(lost) == base
    assert len(lost) <= 2
    kept = list(kit.folder.glob("quarantine-*"))
    assert len(kept) == 1
    assert kept[0].stat().st_size == size
    assert sum("damaged batches taken out" in line.getMessage() for line in caplog.records) == 1
    assert kit.append().base_offset == end
    kit.restart()
    assert offsets(kit.log) == [*seen, end]


@pytest.mark.parametrize(
    ("at", "form", "value"),
    [(0, ">q", 1 << 40), (0, ">q", 3), (12, ">i", 9), (16, ">b", 3), (16, ">b", 1), (8, ">i", -5), (8, ">i", 2**31 - 1)],
    ids=["offset far", "offset low", "leader epoch", "magic 3", "magic 1", "length -5", "length max"],
)
@which
@both
def test_case_48_fields_outside_the_crc_are_mended(tmp_path: Path, clean: bool, slot: int, at: int, form: str, value: int) -> None:
    kit = filled(tmp_path)
    before = state(kit.log)
    stop(kit, clean)
    if not clean:
        (kit.data_dir / "recovery-point-offset-checkpoint").write_text("0\n0\n")
    path = logs(kit)[slot]
    position = batches(path)[2][0]
    damage(path, lambda data: data.__setitem__(slice(position + at, position + at + struct.calcsize(form)), struct.pack(form, value)))
    kit.start()
    assert state(kit.log) == before


@pytest.mark.parametrize("times", [1, 12])
@both
def test_case_49_last_batch_duplicated(tmp_path: Path, times: int, clean: bool) -> None:
    kit = filled(tmp_path)
    before = state(kit.log)
    stop(kit, clean)
    path = logs(kit)[-1]
    position, size, _ = batches(path)[-1]
    damage(path, lambda data: data.extend(data[position : position + size] * times))
    kit.start()
    assert state(kit.log) == before


@pytest.mark.parametrize("what", ["killed", "power cut", "unknown machine", "spoilt note"])
def test_above_the_last_checkpoint_the_machine_must_not_have_gone_down(tmp_path: Path, what: str) -> None:
    """Then the page cache kept all writes in their order; a power cut may have kept any of them."""
    kit = Kit(tmp_path / "data", flush_on_ack=False, boot_id="" if what == "unknown machine" else "monday")
    kit.create()
    kit.manager.chores.write_checkpoints(everything=True)
    for number in range(30):
        kit.append(number, pid=7)
    kit.append(0, pid=8, txn=True)
    kit.mark(8, commit=True)
    before = offsets(kit.log)
    end = kit.log.log_end_offset
    assert len(kit.log.segments) > 1
    kit.kill()
    if what == "power cut":
        kit.env = Env(kit.env.clock, kit.env.random, kit.fs, "tuesday")
    if what == "spoilt note":
        (kit.data_dir / "oncelog.boot").write_bytes(b"?")
    path = logs(kit)[0]
    position, _, base = batches(path)[3]
    damage(path, lambda data: data.__setitem__(position + 80, data[position + 80] ^ 4))
    kit.start()
    if what == "killed":
        assert offsets(kit.log) == [offset for offset in before if offset != base]
        assert kit.append().base_offset == end
        assert kit.append(25, pid=7, n=1).duplicate
    else:
        assert offsets(kit.log) == list(range(base))


def test_a_marker_that_a_kill_tore_does_not_come_back(tmp_path: Path) -> None:
    """Its write was cut off in the middle, so nobody was told of it; what it said is not known."""
    kit = Kit(tmp_path / "data", boot_id="monday")
    kit.create()
    kit.append(0, pid=8, txn=True)
    kit.mark(8, commit=False)
    kit.manager.chores.write_checkpoints(everything=True)
    first = kit.append(1, pid=8, txn=True).base_offset
    before = {path: path.read_bytes() for path in kit.folder.glob("*.txnindex")}
    kit.mark(8, commit=False)
    kit.kill()
    for path, content in before.items():
        path.write_bytes(content)
    damage(logs(kit)[-1], lambda data: data.__delitem__(slice(len(data) - 7, None)))
    kit.start()
    assert kit.log.open_transactions() == [(8, 0, first)]
