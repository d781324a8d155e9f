"""A replacement of segments is looked into before it takes their place."""

from __future__ import annotations

import logging
import struct
from pathlib import Path

import pytest
from oncelog.protocol.records import iter_headers
from oncelog.storage.env import OsFileSystem
from oncelog.storage.recovery.leftovers import settle_leftovers
from support.storage_kit import Kit, offsets

pytestmark = pytest.mark.unit


def sealed(tmp_path: Path) -> tuple[Path, list[Path], list[int]]:
    """A folder of three segments or more, its logs, and the offsets that a client sees."""
    kit = Kit(tmp_path / "data", flush_on_ack=False)
    kit.create()
    for _ in range(60):
        kit.append(n=2)
    seen = offsets(kit.log)
    kit.stop()
    return kit.folder, sorted(kit.folder.glob("*.log")), seen


def after_start(tmp_path: Path) -> list[int]:
    kit = Kit(tmp_path / "data", flush_on_ack=False)
    found = offsets(kit.log)
    kit.stop()
    return found


def spoil(data: bytes, how: str) -> bytes:
    return {
        "garbage": b"\x07" * 300,
        "empty": b"",
        "flipped": data[:90] + bytes([data[90] ^ 1]) + data[91:],
        "torn": data[:-10],
        "ends with zeros": data + bytes(100),
    }[how]


damaged = pytest.mark.parametrize("how", ["garbage", "empty", "flipped", "torn", "ends with zeros"])


@damaged
@pytest.mark.parametrize("renamed", [False, True], ids=["beside it", "renamed"])
def test_a_damaged_swap_leaves_what_it_was_to_replace(tmp_path: Path, caplog: pytest.LogCaptureFixture, how: str, renamed: bool) -> None:
    folder, logs, seen = sealed(tmp_path)
    swap = logs[0].with_suffix(".log.swap")
    swap.write_bytes(spoil(logs[0].read_bytes() + logs[1].read_bytes(), how))
    if renamed:
        logs[0].rename(logs[0].with_suffix(".log.deleted"))
    with caplog.at_level(logging.ERROR):
        assert after_start(tmp_path) == seen
    assert [record for record in caplog.messages if "refused" in record]
    assert not swap.exists()
    assert len(list(folder.glob("quarantine-swap-*"))) == 1
    caplog.clear()
    assert after_start(tmp_path) == seen
    assert not caplog.messages


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
def test_a_swap_that_ends_before_its_own_index_leaves_what_it_was_to_replace(tmp_path: Path, suffix: str) -> None:
    folder, logs, seen = sealed(tmp_path)
    base = int(logs[0].stem)
    last = list(iter_headers(logs[0].read_bytes()))[-1]
    assert last[0] > 0
    logs[0].with_suffix(".log.swap").write_bytes(logs[0].read_bytes()[: last[0]])  # cut where a batch ends
    entry = (last[1].last_offset - base, last[0]) if suffix == ".index" else (last[1].max_timestamp, last[1].last_offset - base)
    logs[0].with_suffix(f"{suffix}.swap").write_bytes(struct.pack(">ii" if suffix == ".index" else ">qi", *entry))
    assert after_start(tmp_path) == seen
    assert list(folder.glob("quarantine-swap-*"))


def test_a_damaged_swap_without_anything_it_could_replace_is_salvaged(tmp_path: Path) -> None:
    _, logs, seen = sealed(tmp_path)
    data = logs[0].read_bytes()
    logs[0].with_suffix(".log.swap").write_bytes(spoil(data, "flipped"))
    logs[0].unlink()
    assert after_start(tmp_path) == seen[2:]


def test_a_whole_swap_takes_its_place(tmp_path: Path) -> None:
    folder, logs, seen = sealed(tmp_path)
    logs[0].with_suffix(".log.swap").write_bytes(logs[0].read_bytes() + logs[1].read_bytes())
    assert after_start(tmp_path) == seen
    assert len(list(folder.glob("*.log"))) == len(logs) - 1


def test_a_damaged_index_swap_is_built_again(tmp_path: Path) -> None:
    folder, logs, seen = sealed(tmp_path)
    for suffix in (".index.swap", ".timeindex.swap"):
        logs[0].with_suffix(suffix).write_bytes(b"\x09" * 240)
    assert after_start(tmp_path) == seen
    assert not list(folder.glob("*.swap"))


def test_nothing_is_changed_without_leftovers(tmp_path: Path) -> None:
    folder, _, _ = sealed(tmp_path)
    names = sorted(path.name for path in folder.iterdir())
    assert settle_leftovers(OsFileSystem(), folder, names) == names
