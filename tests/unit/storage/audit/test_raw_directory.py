"""Folders and files of a data directory sorted by their names, and the batches of a log up to the first bytes that are none."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from oncelog.protocol.records import HEADER_SIZE, build_batch
from oncelog.storage.audit.raw_directory import (
    HIGH_WATERMARKS,
    RECOVERY_POINTS,
    BatchAt,
    Garbage,
    map_file,
    open_data_directory,
    open_partition_folder,
    scan_log,
    split_partition_name,
)

BATCHES = [build_batch([(1, None, b"x" * size)]) for size in (1, 50, 300)]
LOG = b"".join(BATCHES)


def scanned(data: bytes, position: int = 0) -> tuple[list[int], Garbage | None]:
    """(positions of batches, what follows them)."""
    items = list(scan_log(memoryview(data), position))
    garbage = [item for item in items if isinstance(item, Garbage)]
    assert garbage in ([], items[-1:])
    return [item.position for item in items if isinstance(item, BatchAt)], garbage[0] if garbage else None


def test_a_log_is_its_batches() -> None:
    starts = [0, len(BATCHES[0]), len(BATCHES[0]) + len(BATCHES[1])]
    assert scanned(LOG) == (starts, None)
    assert scanned(LOG, starts[1]) == (starts[1:], None)
    views = [bytes(item.view) for item in scan_log(memoryview(LOG)) if isinstance(item, BatchAt)]
    assert views == [bytes(batch) for batch in BATCHES]
    assert scanned(b"") == ([], None)


def test_wherever_a_log_is_cut_the_rest_is_torn() -> None:
    ends = [len(LOG[: sum(map(len, BATCHES[:count]))]) for count in range(4)]
    for size in range(len(LOG)):
        whole = [end for end in ends if end <= size]
        positions, garbage = scanned(LOG[:size])
        assert positions == whole[:-1]
        if size == whole[-1]:
            assert garbage is None
        else:
            assert garbage is not None
            assert (garbage.position, garbage.size, garbage.torn) == (whole[-1], size - whole[-1], True)


@pytest.mark.parametrize(
    ("layout", "at", "value", "reason"),
    [
        (">b", 16, 1, "magic 1"),
        (">i", 8, HEADER_SIZE - 12 - 1, "batch length 48 is smaller than a batch header"),
        (">i", 8, -1, "batch length -1 is smaller than a batch header"),
    ],
)
def test_what_no_batch_begins_with_is_garbage_up_to_the_end(layout: str, at: int, value: int, reason: str) -> None:
    data, second = bytearray(LOG), len(BATCHES[0])
    struct.pack_into(layout, data, second + at, value)
    assert scanned(bytes(data)) == ([0], Garbage(second, len(LOG) - second, reason, torn=False))


def test_a_batch_of_nothing_but_its_header_is_one() -> None:
    data = bytearray(LOG[:HEADER_SIZE])
    struct.pack_into(">i", data, 8, HEADER_SIZE - 12)
    assert scanned(bytes(data)) == ([0], None)


def test_an_empty_file_can_be_mapped(tmp_path: Path) -> None:
    path = tmp_path / "0.log"
    path.write_bytes(b"")
    assert map_file(path) == b""
    path.write_bytes(b"abc")
    assert map_file(path) == b"abc"
    with pytest.raises(FileNotFoundError):
        map_file(tmp_path / "1.log")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a-0", ("a", 0)),
        ("a-b-12", ("a-b", 12)),
        ("a.1-3", ("a.1", 3)),
        ("a--1", ("a-", 1)),
        ("a", None),
        ("a-", None),
        ("-1", None),
        ("a-1x", None),
    ],
)
def test_the_partition_is_what_follows_the_last_dash(name: str, expected: tuple[str, int] | None) -> None:
    assert split_partition_name(name) == expected


def test_files_of_a_folder_by_kind(tmp_path: Path) -> None:
    (tmp_path / "nested").mkdir()
    names = [f"{10:020d}.log", f"{2:020d}.log", f"{2:020d}.index", f"{7:020d}.snapshot", "2.log", "x.timeindex"]
    names += [f"{2:020d}.log.deleted", f"{2:020d}.log.cleaned", f"{2:020d}.log.swap", "leader-epoch-checkpoint.tmp", "partition.metadata"]
    for name in names:
        (tmp_path / name).write_bytes(b"")
    folder = open_partition_folder(tmp_path, "t", 0)
    assert (folder.bases, folder.snapshots, folder.offsets_of("index"), folder.offsets_of("txnindex")) == ([2, 10], [7], [2], [])
    assert folder.misnamed() == ["2.log", "x.timeindex"]
    assert folder.leftovers() == [f"{2:020d}.log.cleaned", f"{2:020d}.log.deleted", f"{2:020d}.log.swap", "leader-epoch-checkpoint.tmp"]
    assert (folder.has(10, "log"), folder.has(10, "index")) == (True, False)
    assert folder.file(10, "log") == tmp_path / f"{10:020d}.log"
    assert "nested" not in folder.names


def test_folders_of_a_directory_by_what_they_are(tmp_path: Path) -> None:
    aside = "0123456789abcdef0123456789abcdef"
    for name in (
        "a-0",
        "a-b-1",
        "__cluster_metadata-0",
        f"a-1.{aside}-delete",
        f"a-2.{aside}-stray",
        f"a-3.{aside[1:]}-future",
        "lost+found",
    ):
        (tmp_path / name).mkdir()
    (tmp_path / ".kafka_cleanshutdown").write_text("")
    (tmp_path / HIGH_WATERMARKS).write_text("0\n1\na 0 7\n")
    (tmp_path / RECOVERY_POINTS).write_text("0\n2\na 0 7\n")
    directory = open_data_directory(tmp_path)
    assert {name: (one.topic, one.partition) for name, one in directory.partitions.items()} == {"a-0": ("a", 0), "a-b-1": ("a-b", 1)}
    assert directory.set_aside == {f"a-1.{aside}-delete": "delete", f"a-2.{aside}-stray": "stray"}
    assert directory.foreign == [f"a-3.{aside[1:]}-future", "lost+found"]
    assert directory.clean
    assert directory.checkpoint(HIGH_WATERMARKS) == {("a", 0): 7}
    assert directory.checkpoint(RECOVERY_POINTS) == {}  # damaged
    assert directory.checkpoint("log-start-offset-checkpoint") == {}
    assert directory.read("meta.properties") is None
    (tmp_path / ".kafka_cleanshutdown").unlink()
    assert not open_data_directory(tmp_path).clean


def test_a_file_is_no_data_directory(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    with pytest.raises(NotADirectoryError, match="is not a directory"):
        open_data_directory(tmp_path / "a")
