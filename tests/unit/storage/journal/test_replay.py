"""What a start takes out of a journal, whole, torn, damaged or of another time."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from oncelog.protocol.records import build_batch, patch_offset
from oncelog.storage.journal.frames import BLOCK_BYTES, entry_head, pack_frame
from oncelog.storage.journal.journal import JOURNAL_FILES
from oncelog.storage.journal.replay import NOTHING, FoundJournal, JournaledBatches, clear_journal, find_journal
from support.simfs import SimFileSystem

pytestmark = pytest.mark.unit
LIFE = b"12345678"
ID = b"i" * 16
DATA = Path("/data")
A, B = JOURNAL_FILES
FILE_BLOCKS = 8  # a frame of two blocks must fit, else the file is full


def batch(offset: int, count: int = 1, size: int = 1) -> bytes:
    made = build_batch([(0, None, b"v" * size)] * count)
    patch_offset(made, offset, 0)
    return bytes(made)


def frame(sequence: int, *offsets: int, life: bytes = LIFE, partition: int = 0) -> bytes:
    return pack_frame(life, sequence, [part for offset in offsets for part in (entry_head(ID, partition), batch(offset))])


def file(*frames: bytes) -> bytes:
    return b"".join(frames).ljust(FILE_BLOCKS * BLOCK_BYTES, b"\0")


def offsets(found: FoundJournal, partition: int = 0) -> list[int]:
    return sorted(found.of(ID, partition)._batches)


def test_batches_of_both_files_by_partition() -> None:
    found = FoundJournal({A: file(frame(1, 5), frame(2, 6)), B: file(frame(3, 7, 8), frame(4, 0, partition=1))})
    assert (offsets(found), offsets(found, 1), offsets(found, 2), found.damaged) == ([5, 6, 7, 8], [0], [], [])
    assert (len(found), found.of(ID, 0).reach(6), found.of(ID, 0).reach(9), found.of(b"j" * 16, 0).reach(5)) == (5, 9, 9, 5)


def test_a_torn_last_frame_is_nothing_to_speak_of() -> None:
    torn = frame(3, 7)[:100]
    found = FoundJournal({A: file(frame(1, 5), frame(2, 6), torn)})
    assert (offsets(found), found.damaged) == ([5, 6], [])


def test_a_frame_that_is_missing_before_others_is_damage() -> None:
    found = FoundJournal({A: file(frame(1, 5), bytes(BLOCK_BYTES), frame(3, 7)), B: file(frame(4, 8))})
    assert (offsets(found), found.damaged) == ([5, 7, 8], ["2..2"])


def test_what_is_left_of_an_earlier_use_of_the_file_is_passed_over() -> None:
    """The sequences fall there."""
    found = FoundJournal({A: file(frame(9, 50), frame(2, 6), frame(3, 7)), B: file(*(frame(n, 40 + n) for n in range(4, 9)))})
    assert (offsets(found), found.damaged) == ([44, 45, 46, 47, 48, 50], [])


def test_a_file_that_was_begun_again_by_a_torn_frame_is_not_called_damaged() -> None:
    full = file(*(frame(n, n) for n in range(8, 15)))
    hit = file(frame(1, 1), b"torn, or hurt".ljust(BLOCK_BYTES), *(frame(n, n) for n in range(3, 8)))
    assert FoundJournal({A: hit, B: full}).damaged == []
    some = file(*(frame(n, n) for n in range(8, 11)))
    assert FoundJournal({A: hit, B: some}).damaged == ["2..2"]


def test_a_batch_that_looks_like_a_frame_is_none() -> None:
    """Its writer does not know the life; only damage of the frame around it would show it at all."""
    inner = frame(99, 1234, life=b"guessed!")
    outer = pack_frame(LIFE, 2, [entry_head(ID, 0), batch(6), bytes(BLOCK_BYTES - 24 - 20 - len(batch(6))), inner])
    hit = bytearray(file(frame(1, 5), outer))
    hit[BLOCK_BYTES + 30] ^= 1
    assert offsets(FoundJournal({A: bytes(hit)})) == [5]


def test_a_run_follows_offsets() -> None:
    held = {offset: memoryview(batch(offset, count)) for offset, count in ((5, 1), (6, 3), (9, 1), (20, 1))}
    journaled = JournaledBatches(held)
    assert journaled.run(5, 99, 9999) == batch(5) + batch(6, 3) + batch(9)
    assert journaled.run(7, 99, 9999) == b""
    assert journaled.run(5, 8, 9999) == batch(5) + batch(6, 3)
    assert journaled.run(5, 99, len(batch(5)) + 10) == batch(5)
    assert journaled.below(9).run(5, 99, 9999) == batch(5) + batch(6, 3)
    assert journaled.below(9).below(99).run(9, 99, 9999) == b""
    assert NOTHING.run(0, 99, 9999) == b""


def test_the_files_are_on_disk_before_a_log_takes_anything_from_them() -> None:
    fs = SimFileSystem(1)
    fs.mkdir(DATA)
    fs.open(DATA / A, create=True).pwrite([file(frame(1, 5))], 0)
    fs.sync_dir(DATA)
    assert offsets(find_journal(fs, DATA)) == [5]
    fs.crash()
    assert offsets(find_journal(fs, DATA)) == [5]


def test_damage_is_told_and_the_files_are_kept(caplog: pytest.LogCaptureFixture) -> None:
    fs = SimFileSystem(1)
    fs.mkdir(DATA)
    fs.open(DATA / B, create=True).pwrite([file(frame(1, 5), bytes(BLOCK_BYTES), frame(3, 7))], 0)
    with caplog.at_level(logging.INFO, "oncelog"):
        found = find_journal(fs, DATA)
    assert [record.levelname for record in caplog.records] == ["ERROR", "INFO"]
    assert "frames=2..2" in caplog.text
    clear_journal(fs, DATA, keep=bool(found.damaged))
    assert fs.list(DATA) == [f"quarantine-{B}"]


def test_an_emptied_journal_is_gone(caplog: pytest.LogCaptureFixture) -> None:
    fs = SimFileSystem(1)
    fs.mkdir(DATA)
    for name in JOURNAL_FILES:
        fs.open(DATA / name, create=True)
    clear_journal(fs, DATA, keep=False)
    assert fs.list(DATA) == []
    with caplog.at_level(logging.INFO, "oncelog"):
        assert len(find_journal(fs, DATA)) == 0
    assert caplog.text == ""
