"""Markers that damage took are written again at their offsets, so that stock clients neither drop nor see what they must not."""

from __future__ import annotations

from pathlib import Path

import pytest
from oncelog.protocol.control_records import parse_end_transaction_marker
from oncelog.protocol.records import iter_headers, iter_records
from oncelog.storage.log.log import Log
from oncelog.storage.recovery.missing import read_missing
from support.damage import Partition
from support.stock_reader import batches, shown
from support.storage_kit import TP, Kit

pytestmark = pytest.mark.unit
both = pytest.mark.parametrize("clean", [True, False], ids=["clean", "killed"])
OLD, ACTIVE = 0, -1


def committed(log: Log) -> list[int]:
    """Offsets that a stock client hands out, of answers as large as can be."""
    found, offset = list[int](), log.log_start_offset
    while offset < log.last_stable_offset:
        data = log.read(offset, 1 << 20, isolation=1, min_one_message=True)
        raw = bytes(data.records)
        found += [record.offset for _, batch in shown(raw, data.aborted) for record in iter_records(batch)]
        offset = max(header.next_offset for header, _ in batches(raw))
    return found


def markers(log: Log) -> list[tuple[int, int, int, bool]]:
    """(offset, producer id, epoch, commit)"""
    found = []
    for segment in log.segments:
        for header, batch in batches(segment.read_at(0, segment.size)):
            marker = parse_end_transaction_marker(batch)
            if marker is not None:
                found.append((header.base_offset, header.producer_id, header.producer_epoch, marker.commit))
    return found


def filled(tmp_path: Path, outcomes: str, *, epochs: bool, segment_bytes: int = 100_000, **configs: str) -> Kit:
    """Two records and an end by producer 7 for each of `outcomes` (c, a; o: left open), with an epoch for each or one for all."""
    kit = Kit(tmp_path / "data", flush_on_ack=False)
    kit.create(internal_segment_bytes=str(segment_bytes), **configs)
    sequence = 0
    for number, outcome in enumerate(outcomes):
        epoch = number if epochs else 0
        for more in range(2):
            kit.append(more if epochs else sequence, pid=7, epoch=epoch, txn=True)
            sequence += 1
        kit.append()
        if outcome != "o":
            kit.mark(7, outcome == "c", epoch + 1 if epochs else 0)
    return kit


def stop(kit: Kit, clean: bool) -> None:
    if clean:
        kit.stop()
        return
    kit.manager.chores.write_checkpoints(everything=True)
    kit.kill()
    (kit.data_dir / "recovery-point-offset-checkpoint").write_text("0\n0\n")


def marker_at(place: Partition, number: int, segment: int = OLD) -> int:
    return [index for index, (_, header) in enumerate(place.batches(segment)) if header.is_control][number]


@both
@pytest.mark.parametrize("at", [17, 30, 45, 52, 63, 70, 76], ids="byte {}".format)
@pytest.mark.parametrize("epochs", [True, False], ids=["tv2", "tv1"])
@pytest.mark.parametrize("which", range(5))
def test_a_flipped_marker_comes_back_as_it_was(tmp_path: Path, which: int, epochs: bool, at: int, clean: bool) -> None:
    kit = filled(tmp_path, "caaccc", epochs=epochs)
    seen, ends = committed(kit.log), markers(kit.log)
    stop(kit, clean)
    place = Partition(kit.data_dir, str(TP))
    place.change(marker_at(place, which), lambda batch: batch.__setitem__(at, batch[at] ^ 0x10), crc=False)
    kit.start()
    assert committed(kit.log) == seen
    assert kit.log.last_stable_offset == kit.log.log_end_offset
    kit.restart()
    assert committed(kit.log) == seen
    commit = ends[which][3]
    assert markers(kit.log) == ends or (commit and not epochs and at in (30, 45, 52))  # nothing tells that it was there


@both
def test_2400_committed_records_behind_a_lost_abort_marker(tmp_path: Path, clean: bool) -> None:
    kit = filled(tmp_path, "ca" + "ccca" * 60, epochs=False, segment_bytes=60_000)
    seen = committed(kit.log)
    assert len(kit.log.segments) > 1
    stop(kit, clean)
    place = Partition(kit.data_dir, str(TP))
    place.change(marker_at(place, 1), lambda batch: batch.__setitem__(slice(12, 78), bytes(66)), number=OLD, crc=False)
    kit.start()
    assert committed(kit.log) == seen


def test_a_sealed_segment_that_lost_its_tail_gets_its_last_markers_back(tmp_path: Path) -> None:
    kit = filled(tmp_path, "ca" * 40, epochs=True, segment_bytes=4000)
    ends = [end for end in markers(kit.log) if not end[3]]
    stop(kit, clean=True)
    place = Partition(kit.data_dir, str(TP))
    path = place.file("log", OLD)
    path.write_bytes(path.read_bytes()[:1000])
    kit.start()
    committed(kit.log)
    assert [end[:2] for end in markers(kit.log) if not end[3]] == [end[:2] for end in ends]


@both
@pytest.mark.parametrize("kept", [0, 1])
@pytest.mark.parametrize("more", [-1, 0, 2])
def test_an_active_segment_that_lost_its_tail_gets_its_aborts_back(tmp_path: Path, more: int, kept: int, clean: bool) -> None:
    """Of a transaction that began in the segment before, and whose producer committed since: nobody else knows how it ended."""
    kit = filled(tmp_path, "cao", epochs=False)
    kit.log.roll(kit.clock.now_ms)
    kit.append()
    kit.mark(7, False, 0)
    for number in range(more):
        kit.append(6 + number, pid=7, txn=True)
    if more >= 0:
        kit.mark(7, True, 0)
        kit.append()
    seen, end = committed(kit.log), kit.log.log_end_offset
    aborted = next(one for one in markers(kit.log) if one[0] > 10)
    assert not aborted[3]
    kit.manager.chores.write_checkpoints(everything=True)
    kit.stop() if clean else kit.kill()
    place = Partition(kit.data_dir, str(TP))
    position, _ = place.batches(ACTIVE)[kept]
    path = place.file("log", ACTIVE)
    path.write_bytes(path.read_bytes()[:position])
    kit.start()
    assert aborted in markers(kit.log)
    first = aborted[0] - 1 + kept
    assert read_missing(kit.fs, kit.folder) == [one for one in ((first, aborted[0]), (aborted[0] + 1, end)) if one[0] < one[1]]
    assert kit.log.last_stable_offset == kit.log.log_end_offset == end
    kit.append()
    assert [one for one in committed(kit.log) if one not in seen] == [end]


def test_a_commit_that_only_the_snapshot_behind_it_tells_of(tmp_path: Path) -> None:
    """The marker is gone without a trace, the next transaction of the same epoch is aborted in the next segment."""
    kit = filled(tmp_path, "c", epochs=False)
    kit.log.roll(kit.clock.now_ms)
    kit.append(2, pid=7, txn=True)
    kit.mark(7, commit=False)
    seen = committed(kit.log)
    stop(kit, clean=True)
    place = Partition(kit.data_dir, str(TP))
    position, header = place.batches(OLD)[-1]
    assert header.is_control
    path = place.file("log", OLD)
    path.write_bytes(path.read_bytes()[:position] + bytes(78))
    kit.start()
    assert committed(kit.log) == seen
    kit.kill()
    (kit.data_dir / "recovery-point-offset-checkpoint").write_text("0\n0\n")
    kit.start()
    assert committed(kit.log) == seen


@both
def test_an_open_transaction_stays_open(tmp_path: Path, clean: bool) -> None:
    """Damage beside it is no end of it."""
    kit = filled(tmp_path, "co", epochs=True)
    kit.append(n=3)
    kit.append()
    stop(kit, clean)
    place = Partition(kit.data_dir, str(TP))
    place.change(-2, lambda batch: batch.__setitem__(65, batch[65] ^ 1), number=ACTIVE, crc=False)
    kit.start()
    assert [first for _, _, first in kit.log.open_transactions()] == [4]
    assert kit.log.last_stable_offset == 4
    assert len(markers(kit.log)) == 1


@pytest.mark.parametrize("rolled", [False, True], ids=["active", "sealed"])
@pytest.mark.parametrize("commit", [False, True], ids=["abort", "commit"])
@pytest.mark.parametrize("lost", [(-4,), (-2,), (-4, -3, -2, -1), (-4, -1)], ids=str)
def test_a_marker_does_not_outlive_what_a_power_cut_took_in_front_of_it(
    tmp_path: Path, lost: tuple[int, ...], commit: bool, rolled: bool
) -> None:
    """Nothing of it was acknowledged: the log ends where the first write is lost, and the transaction is as open as it was there."""
    kit = filled(tmp_path, "ca", epochs=False)
    kit.append(4, pid=7, txn=True)
    kit.manager.chores.write_checkpoints(everything=True)
    safe, seen = kit.log.log_end_offset, committed(kit.log)
    kit.append(5, pid=7, txn=True)
    kit.append()
    kit.append()
    kit.mark(7, commit)
    if rolled:
        kit.log.roll(kit.clock.now_ms)
        kit.append()
    kit.kill()
    place = Partition(kit.data_dir, str(TP))
    for index in lost:
        place.change(index, lambda batch: batch.__setitem__(slice(61, 70), bytes(9)), number=OLD, crc=False)
    end = safe + min(4 + index for index in lost)
    for _ in range(2):
        kit.start()
        assert kit.log.log_end_offset == end
        assert [first for _, _, first in kit.log.open_transactions()] == [kit.log.last_stable_offset] == [safe - 1]
        assert committed(kit.log) == seen
        assert len(markers(kit.log)) == 2
        kit.kill()


@pytest.mark.parametrize("policy", ["delete", "compact"])
@pytest.mark.parametrize("outcome", "ac")
def test_segments_behind_damage_below_the_high_watermark_stay(tmp_path: Path, policy: str, outcome: str) -> None:
    """Bytes that were acknowledged are damaged; that their marker comes back does not make what follows a lost write."""
    kit = filled(tmp_path, outcome, epochs=True, cleanup_policy=policy)
    kit.append()
    kit.manager.chores.write_checkpoints(everything=True)
    safe = kit.log.log_end_offset
    kit.append()
    kit.log.roll(kit.clock.now_ms)
    kit.append()
    end = kit.log.log_end_offset
    kit.kill()
    place = Partition(kit.data_dir, str(TP))
    for index in (-3, -2, -1):
        place.change(index, lambda batch: batch.__setitem__(slice(17, 19), b"xx"), number=OLD, crc=False)
    kit.start()
    assert [found[0] for found in markers(kit.log)] == [safe - 2]
    assert (len(kit.log.segments), kit.log.log_end_offset) == (2, end)
    assert read_missing(kit.fs, kit.folder) == [(safe - 1, end - 1)]


def test_headers_of_a_restored_log_are_in_order(tmp_path: Path) -> None:
    kit = filled(tmp_path, "cacaca", epochs=True)
    stop(kit, clean=False)
    place = Partition(kit.data_dir, str(TP))
    path = place.file("log", OLD)
    data = path.read_bytes()
    path.write_bytes(data[:400] + bytes(800) + data[1200:])
    kit.start()
    committed(kit.log)
    offsets = [header.base_offset for _, header in iter_headers(path.read_bytes())]
    assert offsets == sorted(set(offsets))
