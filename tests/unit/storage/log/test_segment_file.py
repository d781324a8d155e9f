"""The `.log` file by position: what is read, what a failing write leaves, what is cut, kept aside, renamed."""

from __future__ import annotations

import random
import struct
from pathlib import Path

import pytest
from oncelog.protocol.records import HEADER_SIZE, build_batch, parse_header
from oncelog.storage.files.descriptors import Descriptors
from oncelog.storage.log import segment_file
from oncelog.storage.log.segment_file import PREALLOCATE_BYTES, SCAN_BYTES, SegmentFile, file_name
from oncelog.storage.memory_fs import MemoryFile
from support.simfs import SimFileSystem

FOLDER = Path("/d")
BIG = 1 << 30


@pytest.fixture
def fs() -> SimFileSystem:
    made = SimFileSystem(1)
    made.mkdir(FOLDER)
    return made


def empty(fs: SimFileSystem, base: int = 42) -> SegmentFile:
    file = SegmentFile(Descriptors(fs), FOLDER, base, 0)
    file.descriptors.get(file.log_path, create=True)
    return file


def batches(*sizes: int) -> list[bytes]:
    return [bytes(build_batch([(1, None, b"x" * size)])) for size in sizes]


def holding(fs: SimFileSystem, *sizes: int, base: int = 42) -> SegmentFile:
    file = empty(fs, base)
    for number, batch in enumerate(batches(*sizes)):
        file.put(batch, base + number, BIG)
    return file


def content(fs: SimFileSystem, file: SegmentFile) -> bytes:
    return fs.read(Path(file.log_path))


def test_names() -> None:
    assert file_name(42, ".log") == "00000000000000000042.log"
    assert file_name(2**63 - 1, ".index") == f"0{2**63 - 1}.index"


def test_whatever_the_windows_are_the_batches_are_the_same(fs: SimFileSystem, monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(3)
    sizes = [chance.choice((1, 50, 500, 5_000)) for _ in range(60)]
    file, data = holding(fs, *sizes), batches(*sizes)
    starts = [sum(map(len, data[:number])) for number in range(len(data))]
    for window in (HEADER_SIZE, 100, 4_096, 6_000, SCAN_BYTES):
        monkeypatch.setattr(segment_file, "SCAN_BYTES", window)
        assert [(at, head) for at, head in file.heads()] == [(at, one[:HEADER_SIZE]) for at, one in zip(starts, data, strict=True)], window
        if window > 5_100:  # `headers` wants room for a whole batch
            assert list(file.headers()) == [(at, parse_header(one)) for at, one in zip(starts, data, strict=True)]
    assert [at for at, _ in file.headers(starts[30])] == [at for at, _ in file.heads(starts[30])] == starts[30:]


@pytest.mark.parametrize("length", [-1, 0, HEADER_SIZE - 13, 1 << 20])
def test_walking_ends_at_the_first_bytes_that_cannot_be_a_batch(fs: SimFileSystem, length: int) -> None:
    file = holding(fs, 10, 10, 10)
    second = len(batches(10)[0])
    file.overwrite(second + 8, struct.pack(">i", length))
    assert [at for at, _ in file.headers()] == [at for at, _ in file.heads()] == [0]


def test_bytes_behind_the_size_do_not_count(fs: SimFileSystem) -> None:
    file = holding(fs, 10, 10)
    file.size -= 1
    assert len(list(file.headers())) == len(list(file.heads())) == 1
    assert len(file.read_at(0, 10_000)) == file.size
    assert file.read_at(file.size + 5, 10) == b""
    assert file.read_at(3, 4) == content(fs, file)[3:7]


def test_of_large_batches_only_heads_are_read(fs: SimFileSystem) -> None:
    file = holding(fs, *[100_000] * 40)
    read: list[int] = []
    pread = MemoryFile.pread
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MemoryFile, "pread", lambda self, size, offset: (read.append(size), pread(self, size, offset))[1])
        assert len(list(file.heads())) == 40
    assert sum(read) < SCAN_BYTES + 40 * HEADER_SIZE


def test_a_failing_write_leaves_the_file_as_it_was(fs: SimFileSystem) -> None:
    file = holding(fs, 10)
    before = content(fs, file)
    fs.free_bytes = 3
    with pytest.raises(OSError, match="no space"):
        file.put(b"A" * 100, 42, BIG)
    assert (content(fs, file), file.size) == (before, len(before))
    fs.free_bytes = 1 << 40
    assert file.put(b"ABC", 42, BIG) == len(before)
    assert content(fs, file) == before + b"ABC"


def test_space_is_reserved_ahead_for_logs_that_have_grown(fs: SimFileSystem, monkeypatch: pytest.MonkeyPatch) -> None:
    reserved: list[int] = []
    monkeypatch.setattr(MemoryFile, "allocate", lambda _self, size: reserved.append(size))
    file, piece = empty(fs), bytes(300_000)
    for _ in range(5):
        file.put(piece, 42, BIG)
    assert reserved == [900_000 + PREALLOCATE_BYTES]
    small = empty(fs, 43)
    for _ in range(5):
        small.put(piece, 42, 1_300_000)
    assert reserved[1:] == [1_300_000, 1_500_000]  # no further than the segment will grow, and what is written in any case


def test_reserved_space_is_given_back_once(fs: SimFileSystem, monkeypatch: pytest.MonkeyPatch) -> None:
    cut: list[int] = []
    truncate = MemoryFile.truncate
    monkeypatch.setattr(MemoryFile, "truncate", lambda self, size: (cut.append(size), truncate(self, size))[1])
    for trim in (SegmentFile.trim, SegmentFile.trim_sealed):
        file = empty(fs)
        trim(file)
        assert cut == []
        file.put(bytes(2 << 20), 42, BIG)
        trim(file)
        trim(file)
        assert cut == [2 << 20]
        cut.clear()
        file.remove()


def test_a_cut_is_on_disk_when_it_returns(fs: SimFileSystem) -> None:
    file = holding(fs, 10, 10)
    half = file.size // 2
    file.descriptors.get(file.log_path).datasync()
    fs.sync_dir(FOLDER)
    file.cut(half)
    fs.crash()
    assert (file.size, len(fs.read(Path(file.log_path)))) == (half, half)


def test_mending_in_place_is_on_disk_when_it_returns(fs: SimFileSystem) -> None:
    file = holding(fs, 10)
    file.descriptors.get(file.log_path).datasync()
    fs.sync_dir(FOLDER)
    file.overwrite(4, b"mend")
    fs.crash()
    assert fs.read(Path(file.log_path))[4:8] == b"mend"


def test_a_rewrite_is_old_or_new_whatever_call_fails() -> None:
    data = b"".join(batches(10, 20, 30))
    first, second = len(batches(10)[0]), len(batches(10, 20)[0] + batches(10, 20)[1])
    new = data[second:] + b"added" + data[:first]
    outcomes = set()
    for nth in range(1, 12):
        fs = SimFileSystem(nth)
        fs.mkdir(FOLDER)
        file = holding(fs, 10, 20, 30)
        file.descriptors.get(file.log_path).datasync()
        fs.sync_dir(FOLDER)
        fs.fail(nth)
        try:
            file.rewrite([(second, len(data)), b"added", (0, first)])
        except OSError:
            assert file.size == len(data)
        else:
            assert (file.size, content(fs, file)) == (len(new), new)
        fs.crash()
        outcomes.add(fs.read(Path(file.log_path)))
    assert outcomes == {data, new}


def test_long_ranges_are_copied_in_pieces(fs: SimFileSystem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segment_file, "SCAN_BYTES", 7)
    file = holding(fs, 10, 20)
    data = content(fs, file)
    assert file.copy_aside("kept", 3, len(data) - 2) == FOLDER / "kept"
    assert fs.read(FOLDER / "kept") == data[3:-2]
    assert content(fs, file) == data


def test_a_whole_segment_set_aside(fs: SimFileSystem) -> None:
    file = holding(fs, 10)
    data = content(fs, file)
    for suffix in (".index", ".txnindex"):
        fs.write_atomic(file.path(suffix), b"x")
    target = file.set_aside()
    assert target.name == f"quarantine-{42:020d}-0-42"
    assert fs.list(FOLDER) == [target.name]
    fs.crash()
    assert fs.list(FOLDER) == [target.name]
    assert len(fs.read(target)) <= len(data)


def test_files_of_a_segment_are_removed_and_renamed_as_far_as_they_exist(fs: SimFileSystem) -> None:
    file = holding(fs, 10)
    fs.write_atomic(file.path(".timeindex"), b"x")
    fs.write_atomic(FOLDER / file_name(43, ".log"), b"a neighbour")
    renamed = file.rename_files(".deleted")
    assert [path.name for path in renamed] == [file_name(42, ".log.deleted"), file_name(42, ".timeindex.deleted")]
    again = holding(fs, 10)
    again.remove()
    again.remove()
    assert fs.list(FOLDER) == [file_name(42, ".log.deleted"), file_name(42, ".timeindex.deleted"), file_name(43, ".log")]
