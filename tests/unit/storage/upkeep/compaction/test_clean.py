"""Compaction: what stays, what goes, when, and that offsets, sequences and transactions survive it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from oncelog.protocol.config_def import parse_config
from oncelog.protocol.records import Record, build_batch, iter_records
from oncelog.storage.audit.verify import verify
from oncelog.storage.config import LogConfig
from oncelog.storage.env import OsFileSystem
from oncelog.storage.log.producer_state import CachedBatch, ProducerStateEntry
from oncelog.storage.upkeep.compaction import clean as cleaner
from oncelog.storage.upkeep.compaction.clean import CleaningAborted, clean, group_segments
from oncelog.storage.upkeep.compaction.driver import LogCleaner
from support.compacted_log import DAY, T0, FakeLog
from support.our_directory import COMPACT, SMALL, OurDirectory


def test_the_latest_value_of_each_key_stays_at_its_offset(log: FakeLog) -> None:
    log.write([("a", "1"), ("b", "1"), ("a", "2")])
    log.roll()
    log.write([("b", "2"), ("c", "1")])
    log.roll()
    log.write([("a", "3")])  # active: not read, not cleaned
    assert log.clean().first_dirty_offset == 5
    assert log.records() == {2: ("a", "2"), 3: ("b", "2"), 4: ("c", "1"), 5: ("a", "3")}
    assert [header.base_offset for header in log.headers()] == [0, 3, 5]  # batches keep their range
    assert log.audit() == []


@pytest.mark.parametrize("codec", range(5))
def test_every_codec_and_headers_survive(log: FakeLog, codec: int) -> None:
    fields = {"codec": codec, "producer_id": 7, "producer_epoch": 1, "base_sequence": 40}
    log.put(build_batch([(T0, b"a", b"1"), (T0 + 5, b"k" * 40, b"2", [("h", b"v"), ("n", None)]), (T0 + 9, b"a", b"3")], **fields))
    log.roll()
    log.clean()
    (header,) = log.headers()
    batch = log.segments[0].read_at(0, header.size_bytes)
    assert [(one.offset, one.timestamp, one.sequence, one.headers) for one in iter_records(batch)] == [
        (1, T0 + 5, 41, [("h", b"v"), ("n", None)]),
        (2, T0 + 9, 42, []),
    ]
    assert (header.codec, header.base_sequence, header.last_offset_delta, header.records_count) == (codec, 40, 2, 2)
    assert log.audit() == []


def test_a_tombstone_stays_until_its_horizon_and_then_goes(log: FakeLog) -> None:
    log.write([("a", "1"), ("b", "1")])
    log.write([("a", None)])
    log.roll()
    log.write([("z", "1")])
    log.roll()
    log.clean(now_ms=T0)
    tombstone = log.headers()[1]
    assert (tombstone.has_delete_horizon, tombstone.base_timestamp, tombstone.max_timestamp) == (True, T0 + DAY, T0)
    assert log.records() == {1: ("b", "1"), 2: ("a", None), 3: ("z", "1")}
    log.clean(now_ms=T0 + DAY - 1, first_dirty=0)
    assert 2 in log.records()
    log.clean(now_ms=T0 + DAY, first_dirty=0)
    assert log.records() == {1: ("b", "1"), 3: ("z", "1")}
    assert log.audit() == []


def test_the_last_sequence_of_a_producer_stays_as_an_empty_batch(log: FakeLog) -> None:
    log.write([("a", "1")], producer_id=5, producer_epoch=2, base_sequence=9)
    log.write([("a", "2")])
    log.roll()
    log.producer_entries = [ProducerStateEntry(5, 2, -1, T0, T0, None, (CachedBatch(9, 0, 0, T0),))]
    log.clean()
    empty = log.headers()[0]
    assert (empty.size_bytes, empty.records_count, empty.base_sequence, empty.producer_id, empty.base_timestamp) == (61, 0, 9, 5, -1)
    assert empty.max_timestamp == T0
    assert log.records() == {1: ("a", "2")}
    assert log.audit() == []


def test_a_full_map_ends_early_and_the_next_pass_goes_on(log: FakeLog) -> None:
    for number in range(6):
        log.write([(f"k{number % 3}", str(number)), (f"only{number}", "x")])
    log.roll()
    result = log.clean(max_keys=4)
    assert result.first_dirty_offset == 4
    passes = 1
    while result.first_dirty_offset < 12:
        result = log.clean(first_dirty=result.first_dirty_offset, max_keys=4)
        passes += 1
        assert passes < 10
    values = {key: value for key, value in log.records().values() if key.startswith("k")}
    assert values == {"k0": "3", "k1": "4", "k2": "5"}
    assert len([key for key, _ in log.records().values() if key.startswith("only")]) == 6


def test_records_without_a_key_go(log: FakeLog) -> None:
    log.put(build_batch([(T0, None, b"x"), (T0, b"a", b"1")]))
    log.roll()
    assert log.clean().records_without_key == 1
    assert log.records() == {1: ("a", "1")}


def test_small_segments_are_merged_and_big_ones_are_not(log: FakeLog) -> None:
    for number in range(4):
        log.write([(str(number), "x" * 300)])
        log.roll()
    config = parse_config(LogConfig, {"internal.log.segment.bytes": str(2 * log.segments[0].size + 10)})
    assert [[one.base_offset for one in group] for group in group_segments(list(log.segments)[:-1], config)] == [[0, 1], [2, 3]]
    log.clean()
    assert [segment.base_offset for segment in log.segments] == [0, 4]
    assert list(log.folder.glob("*.deleted"))
    log.segments.purge(T0 + log.config.file_delete_delay_ms)
    assert not list(log.folder.glob("*.deleted"))


def test_damage_stops_the_pass_and_leaves_the_log_alone(log: FakeLog) -> None:
    log.write([("a", "1")])
    log.write([("a", "2")])
    log.roll()
    path = Path(log.segments[0].log_path)
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(data)
    with pytest.raises(CleaningAborted, match="wrong CRC"):
        log.clean()
    assert path.read_bytes() == data
    assert not list(log.folder.glob("*.cleaned"))


def test_a_pass_that_is_dropped_leaves_nothing(log: FakeLog) -> None:
    log.write([("a", "1")])
    log.write([("a", "2")])
    log.roll()
    steps = clean(log, log.fs, 0, 2, T0)
    for _ in range(3):
        next(steps)
    steps.close()
    assert not list(log.folder.glob("*.cleaned"))
    assert len(log.records()) == 2


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_a_worker_unpacks_what_becomes_large(log: FakeLog, codec: int) -> None:
    """A few kilobytes may stand for many megabytes: they are never unpacked in a turn of the loop."""
    big = [(T0, b"k", bytes(3 << 20)), (T0, b"k", b"last")]
    log.put(build_batch(big, codec=codec))
    log.put(build_batch([(T0, b"other", b"v")], codec=codec))
    log.roll()
    unpacked: list[int] = []
    real = cleaner.decompress

    def watched(codec: int, data: Any, *limit: int) -> Any:
        found = real(codec, data, *limit)
        unpacked.append(len(found))
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cleaner, "decompress", watched)
        steps = clean(log, log.fs, 0, 3, T0, 1000)
        while True:
            unpacked.clear()
            try:
                job = next(steps)
            except StopIteration:
                break
            assert max(unpacked, default=0) <= cleaner.QUICK_UNPACKED_BYTES
            if job is not None:
                job()
    assert log.records() == {1: ("k", "last"), 2: ("other", "v")}


# --- the real log -----------------------------------------------------------------------------------------------------


class PowerCut(BaseException):
    """Not an error that anybody may handle."""


class CuttingFileSystem(OsFileSystem):
    """Ends everything at the `left`-th change of a name."""

    left = 10**9

    def _count(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise PowerCut

    def rename(self, old: Path, new: Path) -> None:
        self._count()
        super().rename(old, new)

    def unlink(self, path: Path) -> None:
        self._count()
        super().unlink(path)

    def sync_dir(self, path: Path) -> None:
        self._count()
        super().sync_dir(path)

    def set_mtime_ms(self, path: Path, value: int) -> None:
        self._count()
        super().set_mtime_ms(path, value)


def filled(folder: Path, fs: OsFileSystem) -> OurDirectory:
    """A compacted topic of several segments, 20 keys, values that rise."""
    directory = OurDirectory(folder, fs)
    directory.logs.create_topic("comp", 1, {**SMALL, **COMPACT})
    for number in range(700):
        directory.put("comp", 0, [f"{number:04d}"], key=f"key {number % 20}")
    return directory


def latest(directory: OurDirectory) -> dict[bytes | None, bytes | None]:
    return {record.key: record.value for record in read_all(directory)}


def read_all(directory: OurDirectory) -> list[Record]:
    log = directory.log("comp")
    return [
        record
        for segment in log.segments
        for position, header in segment.headers()
        for record in iter_records(segment.read_at(position, header.size_bytes))
    ]


def run_cleaner(directory: OurDirectory) -> None:
    cleaner = LogCleaner(directory.env.fs, directory.env.clock, lambda _partition, _offset: None)
    while cleaner.step([directory.log("comp")], {}, directory.now_ms):
        pass
    assert not cleaner.uncleanable


def test_a_cleaned_log_is_sound_and_survives_a_restart(tmp_path: Path) -> None:
    directory = filled(tmp_path, OsFileSystem())
    expected, end = latest(directory), directory.log("comp").log_end_offset
    assert len(directory.log("comp").segments) >= 3
    run_cleaner(directory)
    assert latest(directory) == expected
    assert len(read_all(directory)) < 250
    directory.close()
    assert verify(tmp_path).errors == ()
    again = OurDirectory(tmp_path)
    assert (latest(again), again.log("comp").log_end_offset) == (expected, end)
    again.close()
    assert verify(tmp_path).errors == ()


def test_a_cut_at_any_change_of_a_name_leaves_the_old_or_the_new(tmp_path: Path) -> None:
    origin = filled(tmp_path / "origin", OsFileSystem())
    expected, end = latest(origin), origin.log("comp").log_end_offset
    origin.close()
    cut = 0
    finished = False
    while not finished:
        folder = Path(shutil.copytree(tmp_path / "origin", tmp_path / str(cut)))
        fs = CuttingFileSystem()
        directory = OurDirectory(folder, fs)
        fs.left = cut
        try:
            run_cleaner(directory)
            finished = True
        except PowerCut:
            pass
        directory.abandon()
        again = OurDirectory(folder)
        assert (latest(again), again.log("comp").log_end_offset) == (expected, end), f"cut {cut}"
        assert not list(folder.glob("comp-0/*.cleaned")) + list(folder.glob("comp-0/*.swap"))
        again.close()
        assert verify(folder).errors == (), f"cut {cut}"
        cut += 1
    assert cut > 10
