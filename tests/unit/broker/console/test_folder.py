"""A partition folder walked: places to read from, what is open, damage told and not mended."""

from __future__ import annotations

from pathlib import Path

import pytest
from oncelog.broker.console import folder as module
from oncelog.broker.console.drawing import batches_in
from oncelog.broker.console.folder import Walked, walk
from oncelog.protocol.records import build_batch, patch_offset
from oncelog.storage.audit.raw_directory import open_partition_folder

pytestmark = pytest.mark.unit


def written(path: Path, *segments: tuple[int, list[bytes]]) -> Path:
    path.mkdir()
    for base, batches in segments:
        (path / f"{base:020d}.log").write_bytes(b"".join(batches))
    return path


def batch(offset: int, timestamp: int = 1, *, transactional: bool = False) -> bytes:
    made = build_batch(
        [(timestamp, b"k", b"v" * 50)], producer_id=7, producer_epoch=2, base_sequence=offset, is_transactional=transactional
    )
    patch_offset(made, offset, 0)
    return bytes(made)


def walked(path: Path, log_start: int | None = None) -> Walked:
    return walk(open_partition_folder(path, "t", 0), log_start)


def test_reading_goes_on_over_segments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_EVERY_BYTES", 300)
    path = written(tmp_path / "t-0", (0, [batch(n, 10 * n) for n in range(5)]), (5, [batch(n, 10 * n) for n in range(5, 8)]))
    seen = walked(path, 2)
    assert len(seen.places) > 2
    assert (seen.partition.log_start_offset, seen.partition.log_end_offset, seen.partition.high_watermark) == (2, 8, 8)
    assert [row["base_offset"] for row in batches_in(seen.read(3, 1 << 20))] == [3, 4, 5, 6, 7]
    assert [row["base_offset"] for row in batches_in(seen.read(6, 1))] == [6]
    assert seen.read(8, 100) == seen.read(-1, 100) == b""
    found = seen.offset_at(60)
    assert found is not None
    assert 5 <= found <= 6
    assert seen.offset_at(71) is None
    assert [(each.base_offset, each.active) for each in seen.pieces.segments] == [(0, False), (5, True)]


def test_an_open_transaction_pins_the_last_stable_offset(tmp_path: Path) -> None:
    seen = walked(written(tmp_path / "t-0", (0, [batch(0), batch(1, transactional=True), batch(2, transactional=True)])))
    assert (seen.partition.last_stable_offset, seen.partition.behind) == (1, 2)
    assert [(each.producer_id, each.first_offset) for each in seen.opened] == [(7, 1)]
    assert [len(each.batches or ()) for each in seen.producers] == [3]


def test_damage_is_told_a_torn_tail_is_none(tmp_path: Path) -> None:
    torn = walked(written(tmp_path / "a-0", (0, [batch(0), batch(1)[:-9]])))
    assert (torn.damage, torn.partition.log_end_offset) == (None, 1)
    cut = walked(written(tmp_path / "b-0", (0, [batch(0), b"\x00" * 100]), (1, [batch(1)])))
    assert cut.damage is not None
    assert "b-0/00000000000000000000.log" in cut.damage
    assert cut.partition.log_end_offset == 2


def test_nothing_is_written(tmp_path: Path) -> None:
    path = written(tmp_path / "t-0", (0, [batch(0), batch(1)[:-9]]))
    before = {each.name: (each.read_bytes(), each.stat().st_mtime_ns) for each in path.iterdir()}
    walked(path).read(0, 100)
    assert {each.name: (each.read_bytes(), each.stat().st_mtime_ns) for each in path.iterdir()} == before


def test_an_empty_folder(tmp_path: Path) -> None:
    path = tmp_path / "t-0"
    path.mkdir()
    assert (walked(path).partition.high_watermark, walked(path).read(0, 1), walked(path).offset_at(0)) == (0, b"", None)
