"""`oncelog.doubts`: what a start that finds a coordinator's log damaged leaves to the starts to come."""

from __future__ import annotations

from pathlib import Path

import pytest
from oncelog.storage.env import OsFileSystem
from oncelog.storage.files.damaged_file import DamagedFile
from oncelog.storage.files.twin_file import COPY
from oncelog.storage.recovery.doubts import DOUBTS_FILE, Doubts, parse_doubts, read_doubts, traces, write_doubts
from oncelog.storage.recovery.missing import MISSING_FILE
from support.damage import PLACES, WAYS, damaged

pytestmark = pytest.mark.unit
FS = OsFileSystem()
KNOWN = Doubts(frozenset({"5..7"}), frozenset({1 << 40, 3}))


def test_nothing_there_is_no_doubt(tmp_path: Path) -> None:
    assert read_doubts(FS, tmp_path) == Doubts()
    assert traces(FS, tmp_path / "absent") == frozenset()


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("way", ["delete", *WAYS])
@pytest.mark.parametrize("name", [DOUBTS_FILE, DOUBTS_FILE + COPY])
def test_one_copy_is_enough(tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str, way: str, place: str) -> None:
    write_doubts(FS, tmp_path, Doubts())
    write_doubts(FS, tmp_path, KNOWN)
    path = tmp_path / name
    path.unlink() if way == "delete" else path.write_bytes(damaged(path.read_bytes(), way, place))
    assert read_doubts(FS, tmp_path) == KNOWN
    assert len(caplog.records) == 1
    caplog.clear()
    assert read_doubts(FS, tmp_path) == KNOWN
    assert not caplog.records


def test_without_both_all_is_in_doubt_and_they_can_be_written(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for name in (DOUBTS_FILE, DOUBTS_FILE + COPY):
        (tmp_path / name).write_bytes(b"?")
    assert read_doubts(FS, tmp_path) is None
    assert len(caplog.records) == 1
    write_doubts(FS, tmp_path, KNOWN)
    assert read_doubts(FS, tmp_path) == KNOWN


@pytest.mark.parametrize("payload", [b"{}", b"[]", b'{"seen":[],"producer_ids":["x"]}', b"?"])
def test_a_payload_that_is_none(payload: bytes) -> None:
    with pytest.raises(DamagedFile):
        parse_doubts(payload)


def test_what_recovery_leaves_is_a_trace(tmp_path: Path) -> None:
    (tmp_path / "quarantine-00000000000000000000-7-3").touch()
    (tmp_path / MISSING_FILE).write_bytes(b'{"missing":[[3,9]]}')
    assert traces(FS, tmp_path) == {"quarantine-00000000000000000000-7-3", "3..8"}
