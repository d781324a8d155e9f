"""Topics known from their folders alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.storage_kit import Kit, offsets

pytestmark = pytest.mark.unit


def test_lost_registry_is_rebuilt_from_the_folders(tmp_path: Path) -> None:
    kit = Kit(tmp_path / "data")
    topic_id = kit.create().topic_id
    kit.append()
    kit.stop()
    (kit.data_dir / "oncelog.topics").unlink()
    kit.start()
    assert offsets(kit.log) == [0]
    assert kit.log.topic_id == topic_id
