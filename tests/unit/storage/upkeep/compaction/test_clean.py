"""Compaction: what stays, what goes, when, and that offsets, sequences and transactions survive it."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from oncelog.protocol.config_def import parse_config
from oncelog.protocol.control_records import end_transaction_marker
from oncelog.protocol.names import TopicPartition
from oncelog.protocol.records import BatchHeader, Record, build_batch, iter_records, parse_header, patch_offset
from oncelog.storage.audit.findings import Findings
from oncelog.storage.audit.partition import PartitionContext, audit_partition
from oncelog.storage.audit.raw_directory import open_partition_folder
from oncelog.storage.audit.verify import verify
from oncelog.storage.config import LogConfig
from oncelog.storage.env import OsFileSystem
from oncelog.storage.files.descriptors import Descriptors
from oncelog.storage.files.txn_index import AbortedTxn
from oncelog.storage.log.producer_state import CachedBatch, ProducerStateEntry
from oncelog.storage.log.segment import Segment
from oncelog.storage.log.segments import Segments
from oncelog.storage.upkeep.compaction import clean as cleaner
from oncelog.storage.upkeep.compaction.batch import empty_batch
from oncelog.storage.upkeep.compaction.choice import cleanable_range
from oncelog.storage.upkeep.compaction.clean import CleaningAborted, CleanResult, clean, group_segments
from oncelog.storage.upkeep.compaction.driver import LogCleaner
from support.our_directory import COMPACT, SMALL, OurDirectory

T0 = 1_700_000_000_000
DAY = 86_400_000
Pairs = list[tuple[str, str | None]]


class FakeLog:
    """A log made of real segments, filled batch by batch; the last segment is active."""

    topic_partition = TopicPartition("comp", 0)
    offline: str | None = None
    log_start_offset = 0

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder = folder
        names = {"log.cleanup.policy": "compact", "log.segment.bytes": "1048576"}
        self.config: LogConfig = parse_config(LogConfig, {**names, **{name.replace("_", "."): value for name, value in settings.items()}})
        self.fs = OsFileSystem()
        self.descriptors = Descriptors(self.fs)
        self.log_end_offset = 0
        self.segments = Segments(self.fs, self.descriptors, folder, [self._new_segment()])
        self.first_open: int | None = None
        self.producer_entries: list[ProducerStateEntry] = []

    def _new_segment(self) -> Segment:
        return Segment.create(self.descriptors, self.folder, self.log_end_offset, 4096, T0)

    @property
    def settled_end(self) -> int:
        return self.log_end_offset

    @property
    def last_stable_offset(self) -> int:
        return self.log_end_offset if self.first_open is None else self.first_open

    def producers(self) -> list[ProducerStateEntry]:
        return self.producer_entries

    def roll(self) -> None:
        self.segments.active.save_indexes(final=True)
        self.segments.add(self._new_segment())

    def put(self, batch: bytearray) -> int:
        patch_offset(batch, self.log_end_offset, 0)
        header = parse_header(batch)
        self.segments.active.append([batch], len(batch), header.last_offset, header.max_timestamp, 1 << 20)
        self.log_end_offset = header.next_offset
        return header.base_offset

    def write(self, pairs: Pairs, **fields: Any) -> int:
        time = fields.pop("time", T0)
        return self.put(build_batch([(time, key.encode(), None if value is None else value.encode()) for key, value in pairs], **fields))

    def abort(self, producer_id: int, first_offset: int, epoch: int = 0) -> int:
        marker = self.put(end_transaction_marker(producer_id, epoch, False, 0, T0))
        self.segments.active.append_aborted(AbortedTxn(producer_id, first_offset, marker, marker + 1))
        return marker

    def headers(self) -> list[BatchHeader]:
        return [header for segment in self.segments for _, header in segment.headers()]

    def records(self) -> dict[int, tuple[str, str | None]]:
        found = {}
        for segment in self.segments:
            for position, header in segment.headers():
                if not header.is_control:
                    for record in iter_records(segment.read_at(position, header.size_bytes)):
                        assert record.key is not None
                        found[record.offset] = record.key.decode(), None if record.value is None else record.value.decode()
        return found

    def clean(self, now_ms: int = T0, first_dirty: int | None = None, max_keys: int = 1000) -> CleanResult:
        dirty = cleanable_range(self, first_dirty, now_ms)
        assert dirty is not None
        steps = clean(self, self.fs, dirty.start, dirty.end, now_ms, max_keys)
        while True:
            try:
                job = next(steps)
            except StopIteration as stop:
                result: CleanResult = stop.value
                return result
            if job is not None:
                job()

    def audit(self) -> list[str]:
        """The offline auditor on the folder: formats, CRCs, indexes."""
        self.segments.active.save_indexes(final=True)
        (self.folder / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
        findings = Findings()
        audit_partition(open_partition_folder(self.folder, "comp", 0), PartitionContext(False, True, False), findings)
        return [f"{item.kind} {item.message}" for item in findings.items if item.severity == "error"]


@pytest.fixture
def log(tmp_path: Path) -> Iterator[FakeLog]:
    made = FakeLog(tmp_path)
    yield made
    made.descriptors.close()


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


def test_aborted_data_goes_at_once_and_its_marker_later(log: FakeLog) -> None:
    transaction = {"producer_id": 5, "producer_epoch": 0, "is_transactional": True}
    log.write([("a", "committed")])
    first = log.write([("a", "aborted")], base_sequence=0, **transaction)
    log.abort(5, first)
    log.roll()
    log.clean(now_ms=T0)
    assert log.records() == {0: ("a", "committed")}
    marker = log.headers()[-1]
    assert marker.is_control
    assert not marker.has_delete_horizon
    assert log.segments[0].aborted == [AbortedTxn(5, 1, 2, 3)]
    log.write([("x", "1")])
    log.roll()
    log.clean(now_ms=T0, first_dirty=0)  # no data left: the marker begins to age
    aging = next(header for header in log.headers() if header.is_control)
    assert (aging.attributes, aging.size_bytes, aging.base_timestamp) == (0x70, 81, T0 + DAY)
    assert log.segments[0].aborted == []
    log.clean(now_ms=T0 + DAY, first_dirty=0)
    assert [header.base_offset for header in log.headers()] == [0, 3]


def test_aborted_data_supersedes_nothing_when_its_marker_stands_behind_the_range(log: FakeLog) -> None:
    transaction = {"producer_id": 5, "producer_epoch": 0, "is_transactional": True}
    log.write([("a", "committed")])
    first = log.write([("a", "aborted")], base_sequence=0, **transaction)
    log.roll()
    log.first_open = log.log_end_offset  # another transaction is open from here on
    log.abort(5, first)
    log.clean()
    assert log.records()[0] == ("a", "committed")


def test_a_committed_transaction_keeps_its_marker_while_it_has_data(log: FakeLog) -> None:
    log.write([("a", "1")], producer_id=5, producer_epoch=0, base_sequence=0, is_transactional=True)
    log.put(end_transaction_marker(5, 0, True, 0, T0))
    log.roll()
    log.clean(now_ms=T0)
    log.write([("z", "1")])
    log.roll()
    log.clean(now_ms=T0 + 9 * DAY, first_dirty=0)
    assert [(header.base_offset, header.has_delete_horizon) for header in log.headers()] == [(0, False), (1, False), (2, False)]


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


def test_nothing_at_or_above_an_open_transaction_is_touched(log: FakeLog) -> None:
    log.write([("a", "1")])
    log.write([("a", "2")])
    log.first_open = log.write([("a", "3")], producer_id=5, producer_epoch=0, base_sequence=0, is_transactional=True)
    second = log.write([("b", "x")], producer_id=6, producer_epoch=0, base_sequence=0, is_transactional=True)
    log.abort(6, second)
    log.write([("a", "4")])
    log.roll()
    result = log.clean()
    assert result.first_dirty_offset == log.first_open
    assert log.records() == {1: ("a", "2"), 2: ("a", "3"), 3: ("b", "x"), 5: ("a", "4")}
    assert log.segments[0].aborted == [AbortedTxn(6, 3, 4, 5)]


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


def test_what_is_cleanable(log: FakeLog) -> None:
    assert cleanable_range(log, None, T0) is None
    log.write([("a", "1")], time=T0)
    log.roll()
    dirty = cleanable_range(log, None, T0)
    assert dirty is not None
    assert dirty == (0, 1, 1.0, False)
    assert cleanable_range(log, 1, T0) is None
    assert cleanable_range(log, 99, T0) == dirty  # a checkpoint beyond the end counts as absent
    log.config = parse_config(LogConfig, {"log.cleanup.policy": "compact", "log.cleaner.min.compaction.lag.ms": "1000"})
    assert cleanable_range(log, None, T0 + 999) is None
    assert cleanable_range(log, None, T0 + 1000) == dirty
    log.config = parse_config(LogConfig, {"log.cleanup.policy": "compact", "log.cleaner.max.compaction.lag.ms": "1000"})
    late = cleanable_range(log, None, T0 + 1001)
    assert late is not None
    assert late.must
    log.config = parse_config(LogConfig, {"log.cleanup.policy": "delete"})
    assert cleanable_range(log, None, T0) is None


class Ticking:
    """Every look at the clock is one millisecond."""

    now = 0.0

    def time_ms(self) -> int:
        return T0

    def monotonic_ms(self) -> float:
        self.now += 1.0
        return self.now


def test_the_driver_works_in_small_steps_and_reports_the_checkpoint(log: FakeLog) -> None:
    for number in range(40):
        log.write([("a", str(number))])
    log.roll()
    done: list[tuple[TopicPartition, int]] = []
    cleaner = LogCleaner(log.fs, Ticking(), lambda partition, offset: done.append((partition, offset)))
    logs: Iterable[FakeLog] = [log]
    turns = 0
    while cleaner.step(logs, {}, T0, budget_ms=5.0):
        turns += 1
        assert turns < 200
    assert turns > 5
    assert done == [(log.topic_partition, 40)]
    assert log.records() == {39: ("a", "39")}
    assert cleaner.step(logs, {log.topic_partition: 40}, T0) is False


def test_the_driver_hands_syncs_to_a_worker_and_waits_for_it(log: FakeLog) -> None:
    class Held:
        finished = False

        def __init__(self, job: Any) -> None:
            self.job = job

        def done(self) -> bool:
            return self.finished

        def result(self) -> None:
            self.job()

    held: list[Held] = []

    def offload(job: Any) -> Held:
        held.append(Held(job))
        return held[-1]

    log.write([("a", "1"), ("a", "2")])
    log.roll()
    done: list[int] = []
    cleaner = LogCleaner(log.fs, Ticking(), lambda _partition, offset: done.append(offset), offload)
    for _ in range(50):
        cleaner.step([log], {}, T0)
    assert len(held) == 1
    assert not done
    held[0].finished = True
    while cleaner.step([log], {}, T0):
        pass
    assert done == [2]


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


def test_the_driver_marks_a_damaged_log_and_goes_on(log: FakeLog, tmp_path_factory: pytest.TempPathFactory) -> None:
    log.write([("a", "1")])
    log.roll()
    path = Path(log.segments[0].log_path)
    path.write_bytes(path.read_bytes()[:-1] + b"\xff")
    done: list[int] = []
    cleaner = LogCleaner(log.fs, Ticking(), lambda _partition, offset: done.append(offset))
    while cleaner.step([log], {}, T0):
        pass
    assert "wrong CRC" in cleaner.uncleanable[log.topic_partition]
    assert not done


def test_an_empty_batch_is_61_bytes_and_valid() -> None:
    header = parse_header(build_batch([(T0, b"a", b"b")], codec=3, producer_id=1, producer_epoch=0, base_sequence=4, base_offset=9))
    empty = parse_header(empty_batch(header))
    assert (empty.base_offset, empty.last_offset, empty.codec, empty.size_bytes) == (9, 9, 0, 61)


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
