"""What `oncelog verify` and `oncelog graduate` say of a journal that was not emptied."""

from __future__ import annotations

from pathlib import Path

import pytest
from oncelog.protocol.primitives import uuid_to_kafka
from oncelog.storage.audit.dump import dump
from oncelog.storage.audit.findings import Kind, Severity
from oncelog.storage.audit.verify import verify
from oncelog.storage.journal.frames import BLOCK_BYTES
from oncelog.storage.journal.journal import JOURNAL_FILES
from oncelog.storage.moving.graduate import GraduationRefused, plan
from support.storage_kit import Kit, offsets


@pytest.fixture
def killed(tmp_path: Path) -> Kit:
    """Its newest five batches are in the journal only, as a power cut may leave it; the high watermark is told by a checkpoint."""
    kit = Kit(tmp_path / "data", journal_bytes=1 << 20)
    kit.create()
    kit.append()
    for _ in range(2):
        kit.manager.journal.want()
        kit.manager.maintenance(kit.clock.now_ms)
    size = kit.log.size_bytes()
    for _ in range(5):
        kit.append()
    kit.manager.chores.write_checkpoints(everything=True)
    kit.kill()
    log = kit.folder / f"{0:020d}.log"
    assert log.stat().st_size > size
    log.write_bytes(log.read_bytes()[:size])
    return kit


def journal_findings(path: Path) -> list[tuple[Severity, str]]:
    report = verify(path)
    return [(finding.severity, finding.message) for finding in report.findings if finding.kind is Kind.JOURNAL]


def test_what_will_be_put_back_is_not_missing(killed: Kit) -> None:
    report = verify(killed.data_dir)
    assert report.errors == ()
    assert journal_findings(killed.data_dir) == [
        (Severity.NOTE, "holds 5 batches: what the logs lack of them will be put back at the next start")
    ]
    killed.start()
    assert offsets(killed.log) == [0, 1, 2, 3, 4, 5]
    killed.stop()
    assert journal_findings(killed.data_dir) == []


def test_a_dump_shows_its_batches_and_whose_they_are(killed: Kit) -> None:
    rows = list(dump(killed.data_dir / JOURNAL_FILES[0]))
    assert [(row["kind"], row["sequence"], row["partition"], row["base_offset"], row["crc_valid"]) for row in rows] == [
        ("journaled", n, 0, n, True) for n in range(1, 6)
    ]
    assert {row["topic_id"] for row in rows} == {uuid_to_kafka(killed.log.topic_id)}
    assert sum(row["file"] == JOURNAL_FILES[0] for row in dump(killed.data_dir)) == 5


def test_without_the_journal_it_is_missing(killed: Kit) -> None:
    (killed.data_dir / JOURNAL_FILES[0]).unlink()
    assert {finding.kind for finding in verify(killed.data_dir).errors} == {Kind.LOG_END_BELOW_HIGH_WATERMARK}


def test_damage_is_an_error(killed: Kit) -> None:
    path = killed.data_dir / JOURNAL_FILES[0]
    data = bytearray(path.read_bytes())
    data[BLOCK_BYTES + 30] ^= 1
    path.write_bytes(data)
    (damage, rest) = journal_findings(killed.data_dir)
    assert damage == (Severity.ERROR, "frames 2..2 are damaged: of what they held the logs keep what they have")
    assert rest == (Severity.NOTE, "holds 4 batches: what the logs lack of them will be put back at the next start")


def test_after_an_orderly_stop_it_does_not_count(killed: Kit) -> None:
    left = (killed.data_dir / JOURNAL_FILES[0]).read_bytes()
    killed.start()
    killed.stop()
    (killed.data_dir / JOURNAL_FILES[0]).write_bytes(left)
    assert journal_findings(killed.data_dir) == [(Severity.NOTE, "left over: does not count after an orderly stop")]
    assert plan(killed.data_dir).log_ends["t-0"] == 6


def test_a_directory_that_lacks_what_the_journal_has_does_not_move(killed: Kit) -> None:
    with pytest.raises(GraduationRefused, match="its journal holds records of t-0: start oncelog on it and stop it"):
        plan(killed.data_dir)
    killed.start()
    killed.kill()
    assert plan(killed.data_dir).log_ends["t-0"] == 6
