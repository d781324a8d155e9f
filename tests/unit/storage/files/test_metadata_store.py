"""Users and rules, whatever befalls the store."""

from __future__ import annotations

from pathlib import Path

import pytest
from oncelog.storage.files.metadata_store import MetadataLost
from oncelog.storage.files.twin_file import parse_frame
from support.damage import WAYS
from support.own_files import TWINS, Directory, warnings
from support.storage_kit import Kit

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("way", ["delete", *WAYS])
def test_users_and_rules_are_never_given_up_unasked(tmp_path: Path, caplog: pytest.LogCaptureFixture, way: str) -> None:
    directory = Directory(tmp_path)
    directory.kit.stop()
    for name in ("oncelog.metadata", "oncelog.metadata.copy"):
        directory.spoil(name, way, "middle")
    assert directory.problems()
    for _ in range(2):
        with pytest.raises(MetadataLost, match=r"oncelog\.metadata: .*--accept-data-loss"):
            directory.kit.start()
        directory.kit.kill()
    kit = Kit(tmp_path, accept_data_loss=True)
    (line,) = warnings(caplog)
    assert "given up as asked" in line
    assert kit.manager.store.section("users") == {}
    assert kit.manager.topics.all() == directory.before[0]
    assert (way == "delete") == (not (tmp_path / "oncelog.metadata.damaged").exists())
    kit.stop()
    kit = Kit(tmp_path)
    assert warnings(caplog) == []


def test_plain_files_of_before_are_taken_over_quietly(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    directory = Directory(tmp_path)
    directory.kit.stop()
    for name in ("oncelog.topics", "oncelog.metadata"):
        path = tmp_path / name
        path.write_bytes(parse_frame(name, path.read_bytes()).payload)
        (tmp_path / f"{name}.copy").unlink()
    directory.kit.start()
    assert warnings(caplog) == []
    assert directory.state() == directory.before
    for name in TWINS:
        assert parse_frame(name.removesuffix(".copy"), (tmp_path / name).read_bytes()).generation == 1


def test_no_metadata_of_before_is_no_loss(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    directory = Directory(tmp_path)
    directory.kit.stop()
    path = tmp_path / "oncelog.topics"
    path.write_bytes(parse_frame(path.name, path.read_bytes()).payload)
    for name in TWINS[1:]:
        (tmp_path / name).unlink()
    for younger in (*tmp_path.glob("*/oncelog.topic"), tmp_path / "oncelog.spare"):
        younger.unlink()
    directory.kit.start()
    assert warnings(caplog) == []
    assert directory.kit.manager.topics.all() == directory.before[0]
