"""Files kept twice: one sound copy is enough."""

from __future__ import annotations

from pathlib import Path

import pytest
from oncelog.storage.files.damaged_file import DamagedFile
from oncelog.storage.files.twin_file import frame, parse_frame
from support.own_files import SPOILT, TWINS, Directory, warnings

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize(("way", "place"), SPOILT)
@pytest.mark.parametrize("name", TWINS)
def test_one_of_two_copies_is_enough(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str, way: str, place: str, clean: bool
) -> None:
    directory = Directory(tmp_path)
    directory.kit.stop() if clean else directory.kit.kill()
    sound = directory.problems()
    directory.spoil(name, way, place)
    (seen,) = [problem for problem in directory.problems() if problem not in sound]
    assert seen.startswith(f"{name}: ")
    warnings(caplog)
    directory.kit.start()
    assert directory.state() == directory.before
    (line,) = warnings(caplog)
    assert line.startswith("restored from its other copy")
    assert f"{name} (" in line
    directory.kit.restart()
    assert warnings(caplog) == []
    assert directory.state() == directory.before
    directory.kit.stop()
    assert directory.problems() == []


def test_a_crash_between_the_copies_leaves_the_newer_one(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    directory = Directory(tmp_path)
    directory.kit.stop()
    for name in ("oncelog.topics", "oncelog.metadata"):
        path = tmp_path / name
        held = parse_frame(name, path.read_bytes())
        (tmp_path / f"{name}.copy").write_bytes(frame(name, held.generation - 1, b'{"version":1,"topics":[]}'))
    directory.kit.start()
    assert warnings(caplog) == []
    assert directory.state() == directory.before


def test_a_frame_is_bound_to_its_name_and_version() -> None:
    whole = frame("oncelog.topics", 17, b"{}")
    assert parse_frame("oncelog.topics", whole) == (17, b"{}")
    for bad in (whole.replace(b" 17 ", b" 18 "), whole.replace(b"{}", b"[]"), whole[:-1], b"", b"{"):
        with pytest.raises(DamagedFile):
            parse_frame("oncelog.topics", bad)
    with pytest.raises(DamagedFile, match="does not begin"):
        parse_frame("oncelog.metadata", whole)
