"""A leader epoch that was never given out reaches no client: batches are held to the checkpoint, the checkpoint to the batches."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from support.damage import Partition
from support.stock_reader import batches
from support.storage_kit import TP, Kit

pytestmark = pytest.mark.unit
STOPS = ["clean", "killed", "killed, nothing checkpointed"]


def filled(tmp_path: Path) -> Kit:
    """Epochs 0, 5 and 7, the last two as another leader would have written; several segments."""
    kit = Kit(tmp_path / "data", flush_on_ack=False)
    kit.create()
    for number in range(60):
        kit.log.leader_epoch = 0 if number < 20 else 5 if number < 45 else 7
        kit.append(n=2)
    kit.log.flush()
    return kit


def epochs(kit: Kit) -> list[tuple[int, int]]:
    """(base offset, leader epoch) as a client gets them."""
    log, offset, found = kit.log, 0, list[tuple[int, int]]()
    while offset < log.high_watermark:
        read = [header for header, _ in batches(bytes(log.read(offset, 900, isolation=0, min_one_message=True).records))]
        found += [(header.base_offset, header.partition_leader_epoch) for header in read]
        offset = read[-1].next_offset
    return found


def stop(kit: Kit, how: str) -> None:
    if how == "clean":
        kit.stop()
        return
    kit.manager.chores.write_checkpoints(everything=True)
    kit.kill()
    if how != "killed":
        (kit.data_dir / "recovery-point-offset-checkpoint").write_text("0\n0\n")


@pytest.mark.parametrize("how", STOPS)
@pytest.mark.parametrize("value", [-1, 1, 3, 6, 9, 1 << 30], ids=str)
@pytest.mark.parametrize(("segment", "batch"), [(0, 0), (0, 3), (1, 0), (-2, -1), (-1, 0), (-1, 1), (-1, -1)], ids=str)
def test_of_a_batch(tmp_path: Path, segment: int, batch: int, value: int, how: str) -> None:
    kit = filled(tmp_path)
    right, lines = epochs(kit), list(kit.log.epochs.entries)
    stop(kit, how)
    Partition(kit.data_dir, str(TP)).set_field(batch, ">i", 12, value, number=segment, crc=False)
    kit.start()
    assert epochs(kit) == right
    assert kit.log.epochs.entries == lines
    assert kit.log.leader_epoch == 7
    kit.restart()
    assert epochs(kit) == right


@pytest.mark.parametrize("how", STOPS)
@pytest.mark.parametrize("line", range(3))
@pytest.mark.parametrize("change", [(1, 0), (-1, 0), (0, 4), (0, -4), (1 << 20, 0)], ids=str)
def test_of_the_checkpoint(tmp_path: Path, line: int, change: tuple[int, int], how: str) -> None:
    kit = filled(tmp_path)
    right, lines = epochs(kit), list(kit.log.epochs.entries)
    stop(kit, how)
    wrong = [list(entry) for entry in lines]
    wrong[line] = [wrong[line][0] + change[0], wrong[line][1] + change[1]]
    text = "".join(f"{epoch} {start}\n" for epoch, start in wrong)
    (kit.folder / "leader-epoch-checkpoint").write_text(f"0\n{len(wrong)}\n{text}")
    kit.start()
    assert epochs(kit) == right
    assert kit.log.leader_epoch == 7
    assert kit.log.epochs.entries == lines or (line == 0 and change[1] < 0)


def test_without_a_checkpoint_one_flipped_batch_counts_for_nothing(tmp_path: Path) -> None:
    kit = filled(tmp_path)
    lines = list(kit.log.epochs.entries)
    stop(kit, "clean")
    (kit.folder / "leader-epoch-checkpoint").unlink()
    Partition(kit.data_dir, str(TP)).change(3, lambda batch: struct.pack_into(">i", batch, 12, 1 << 24), number=0, crc=False)
    kit.start()
    assert kit.log.epochs.entries == lines
