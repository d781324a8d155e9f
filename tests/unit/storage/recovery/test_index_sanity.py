"""Indexes that lie are built again once, at the start, with one line; or by whoever follows the entry that lies."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from oncelog.storage.audit.verify import verify
from support.damage import Partition
from support.storage_kit import TP, Kit, offset_for_timestamp, offsets

pytestmark = pytest.mark.unit
SEALED, ACTIVE = 0, -1


def filled(tmp_path: Path, *, falling: bool = False) -> Kit:
    """Segments with an entry every few batches; each batch a millisecond after the one before (or before it)."""
    kit = Kit(tmp_path / "data", flush_on_ack=False)
    kit.create(internal_segment_bytes="20000")
    for _ in range(400):
        kit.clock.now_ms += -1 if falling else 1
        kit.append()
    assert len(kit.log.segments) > 2
    return kit


def times(kit: Kit) -> list[int]:
    first = kit.clock.now_ms - 400
    return [offset_for_timestamp(kit.log, first + number, 0)[0] for number in range(1, 401)]


def file(kit: Kit, suffix: str, slot: int) -> Path:
    return sorted(kit.folder.glob(f"*{suffix}"))[slot]


def spoil(path: Path, how: str) -> None:
    data = path.read_bytes()
    entry = 8 if path.suffix == ".index" else 12
    half = len(data) // entry // 2 * entry
    if how == "missing":
        path.unlink()
    else:
        path.write_bytes({"empty": b"", "zeros": bytes(len(data)), "half": data[:half], "torn": data[:-3]}[how])


@pytest.mark.parametrize("how", ["missing", "empty", "zeros", "half", "torn"])
@pytest.mark.parametrize("slot", [SEALED, ACTIVE], ids=["sealed", "active"])
@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
def test_built_again_at_the_start_with_one_line(tmp_path: Path, caplog: pytest.LogCaptureFixture, suffix: str, slot: int, how: str) -> None:
    kit = filled(tmp_path)
    seen, at = offsets(kit.log), times(kit)
    kit.stop()
    path = file(kit, suffix, slot)
    right = path.read_bytes()
    spoil(path, how)
    kit.start()
    assert [message for message in caplog.messages if "indexes rebuilt" in message], caplog.messages
    assert len(caplog.messages) == 1
    assert times(kit) == at
    assert offsets(kit.log) == seen
    assert len(caplog.messages) == 1
    caplog.clear()
    kit.restart()
    assert times(kit) == at
    assert path.read_bytes() == right
    assert not caplog.messages


@pytest.mark.parametrize("field", [0, 4], ids=["offset", "position"])
@pytest.mark.parametrize("change", [1, 40], ids=str)
def test_an_offset_entry_that_leads_astray_is_found_by_its_user(tmp_path: Path, field: int, change: int) -> None:
    kit = filled(tmp_path)
    seen = offsets(kit.log)
    kit.stop()
    path = file(kit, ".index", SEALED)
    right = path.read_bytes()
    data = bytearray(right)
    at = len(data) // 16 * 8 + field
    struct.pack_into(">i", data, at, struct.unpack_from(">i", data, at)[0] + change)
    path.write_bytes(data)
    kit.start()
    for offset in reversed(seen):
        for max_bytes in (1, 700, 5000):
            assert kit.log.read(offset, max_bytes, isolation=0, min_one_message=True).records
    assert offsets(kit.log, max_bytes=3000) == seen
    assert path.read_bytes() == right


@pytest.mark.parametrize("entry", [0, 20, -1])
@pytest.mark.parametrize("change", [-3, 3])
def test_a_time_entry_that_lies_is_found_by_its_user(tmp_path: Path, entry: int, change: int) -> None:
    kit = filled(tmp_path)
    at = times(kit)
    kit.stop()
    path = file(kit, ".timeindex", SEALED)
    data = bytearray(path.read_bytes())
    where = 12 * (entry % (len(data) // 12))
    struct.pack_into(">q", data, where, struct.unpack_from(">q", data, where)[0] + change)
    path.write_bytes(data)
    kit.start()
    assert times(kit) == at


def test_times_that_fall_are_no_damage(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    kit = filled(tmp_path, falling=True)
    kit.restart()
    assert offset_for_timestamp(kit.log, -3, 0)[0] == 0
    assert not caplog.messages


def test_the_last_time_entry_is_there_after_two_stops(tmp_path: Path) -> None:
    """The second one finds indexes that nobody loaded."""
    kit = filled(tmp_path)
    for _ in range(3):
        kit.restart()
        kit.clock.now_ms += 5
        kit.append()
    kit.stop()
    assert not verify(kit.data_dir).errors


def test_the_last_batch_of_a_sealed_segment_keeps_below_the_next(tmp_path: Path) -> None:
    """Its offset is outside of the CRC, and nothing in the file follows it."""
    kit = filled(tmp_path)
    seen = offsets(kit.log)
    kit.stop()
    Partition(kit.data_dir, str(TP)).change(-1, lambda batch: batch.__setitem__(6, 8), number=SEALED, crc=False)
    kit.start()
    assert offsets(kit.log) == seen
