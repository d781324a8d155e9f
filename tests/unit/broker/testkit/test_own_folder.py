"""What a reset may delete."""

from __future__ import annotations

from pathlib import Path

import pytest
from oncelog.broker.testkit.own_folder import LEFT_ALONE, OwnFolder

pytestmark = pytest.mark.unit


def test_what_was_empty_is_emptied_of_all_but_the_volumes_own(tmp_path: Path) -> None:
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "data"
    for each in (elsewhere, folder / LEFT_ALONE):
        each.mkdir(parents=True)
    (elsewhere / "kept").touch()
    own = OwnFolder(folder, allowed=False)
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "link").symlink_to(elsewhere)
    own.empty()
    assert [each.name for each in folder.iterdir()] == [LEFT_ALONE]
    assert (elsewhere / "kept").exists()
    OwnFolder(tmp_path / "nowhere", allowed=False).empty()


def test_what_held_something_is_not_unless_that_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    own = OwnFolder(tmp_path, allowed=False)
    (tmp_path / "mine").unlink()
    (tmp_path / "later").touch()
    with pytest.raises(PermissionError, match=r"control\.reset\.enable=true"):
        own.empty()
    assert (tmp_path / "later").exists()
    OwnFolder(tmp_path, allowed=True).empty()
    assert list(tmp_path.iterdir()) == []
