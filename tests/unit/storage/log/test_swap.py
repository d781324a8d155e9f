"""Kills among the renames of a swap."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from oncelog.protocol.records import build_batch
from oncelog.storage.files.checkpoints import CLEAN_MARKER
from support.storage_kit import T0, Kit, offsets

pytestmark = pytest.mark.unit


both = pytest.mark.parametrize("clean", [True, False], ids=["clean", "unclean"])


# --- 34-37: kills among the renames of a swap


@pytest.fixture
def swapped(tmp_path: Path) -> tuple[Kit, list[int], dict[str, bytes], list[Path]]:
    """A compacted log before its cleaning, the offsets after it, the cleaned files, and the files that they replace."""
    kit = Kit(tmp_path / "data", flush_on_ack=False)
    kit.create(cleanup_policy="compact", min_cleanable_dirty_ratio="0.01")
    kit.log.append(build_batch([(T0, b"only here", b"v")]), T0)
    for _ in range(60):
        kit.append(n=3)
    kit.stop()
    twin = Kit(Path(shutil.copytree(tmp_path / "data", tmp_path / "twin")), flush_on_ack=False)
    for _ in range(40):
        twin.clock.now_ms += 31_000
        twin.manager.maintenance(twin.clock.now_ms)
    after = offsets(twin.log)
    assert after[0] == 0
    assert len(after) < 180
    end_of_first = twin.log.segments[1].base_offset
    twin.stop()
    cleaned = {path.name: path.read_bytes() for path in twin.folder.glob(f"{0:020d}.*") if path.suffix in (".log", ".index", ".timeindex")}
    replaced = [
        path for path in sorted(kit.folder.iterdir()) if path.suffix in (".log", ".index", ".timeindex") and int(path.stem) < end_of_first
    ]
    assert len(replaced) == len(cleaned) == 3
    return kit, after, cleaned, replaced


def leftovers(kit: Kit) -> list[str]:
    return [path.name for path in kit.folder.iterdir() if path.name.endswith((".swap", ".cleaned", ".deleted", ".tmp"))]


@both
def test_case_34_kill_between_two_swap_renames_keeps_the_originals(
    swapped: tuple[Kit, list[int], dict[str, bytes], list[Path]], clean: bool
) -> None:
    kit = swapped[0]
    logs = sorted(kit.folder.glob("*.log"))
    logs[0].with_name(logs[0].name + ".cleaned").write_bytes(b"half of something")
    logs[1].with_name(logs[1].name + ".swap").write_bytes(logs[1].read_bytes())
    before = {path: path.read_bytes() for path in logs}
    if not clean:
        (kit.data_dir / CLEAN_MARKER).unlink()
    kit.start()
    assert leftovers(kit) == []
    assert {path: path.read_bytes() for path in logs} == before
    assert offsets(kit.log) == list(range(181))


@both
@pytest.mark.parametrize("case", [35, 36, 37])
def test_cases_35_36_37_kill_after_the_offer_finishes_the_swap(
    swapped: tuple[Kit, list[int], dict[str, bytes], list[Path]], clean: bool, case: int
) -> None:
    """35: no original touched; 36: half of them `.deleted`; 37: the log has its final name, the indexes have not."""
    kit, after, cleaned, replaced = swapped
    going = {35: 0, 36: len(replaced) // 2, 37: len(replaced)}[case]
    for path in replaced[:going]:
        path.rename(path.with_name(path.name + ".deleted"))
    for name, content in cleaned.items():
        final = case == 37 and name.endswith(".log")
        (kit.folder / (name if final else f"{name}.swap")).write_bytes(content)
    if not clean:
        (kit.data_dir / CLEAN_MARKER).unlink()
    kit.start()
    assert leftovers(kit) == []
    seen, following = offsets(kit.log), kit.log.segments[1].base_offset
    assert [offset for offset in seen if offset < following] == [offset for offset in after if offset < following] == [0]
    assert seen[-1] == 180
    assert kit.append().base_offset == 181
