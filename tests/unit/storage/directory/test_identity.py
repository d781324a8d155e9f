"""Whose directory it is, whatever befalls the files that say so."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.own_files import SPOILT, Directory, warnings
from support.storage_kit import Kit

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(("way", "place"), SPOILT)
def test_the_identity_is_kept_twice(tmp_path: Path, caplog: pytest.LogCaptureFixture, way: str, place: str) -> None:
    directory = Directory(tmp_path)
    directory.kit.stop()
    directory.spoil("meta.properties", way, place)
    directory.kit.start()
    assert directory.state() == directory.before
    assert len([line for line in warnings(caplog) if "restored from oncelog.metadata" in line]) <= 1
    directory.kit.restart()
    assert warnings(caplog) == []
    assert directory.state() == directory.before


@pytest.mark.parametrize("line", ["node.id=-3", "node.id=9999999999999999999999", "node.id=²", "node.id=1\nnode.id=2"])
def test_an_absurd_node_id_is_none(tmp_path: Path, line: str) -> None:
    (tmp_path / "meta.properties").write_text(f"version=1\ncluster.id=abc\n{line}\n")
    kit = Kit(tmp_path)
    assert (kit.manager.node_id, kit.manager.cluster_id) == (1, "abc")
