"""Few open files for many segments."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.storage_kit import Kit, offsets

pytestmark = pytest.mark.unit


def test_case_71_few_descriptors_serve_many_segments(tmp_path: Path) -> None:
    kit = Kit(tmp_path / "data", flush_on_ack=False)
    kit.manager.descriptors._limit = 4
    kit.create(internal_segment_bytes="300")
    for _ in range(60):
        kit.append()
    assert len(kit.log.segments) > 15
    assert offsets(kit.log) == list(range(60))
    assert len(kit.manager.descriptors) <= 4
