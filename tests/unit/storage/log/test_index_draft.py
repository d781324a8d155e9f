"""Indexes made from batches are those that appending them makes."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from oncelog.storage.log.index_draft import IndexDraft
from support.storage_kit import Kit

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("seed", range(5))
def test_the_same_as_by_appending(tmp_path: Path, seed: int) -> None:
    chance = Random(seed)
    kit = Kit(tmp_path)
    log = kit.create(internal_segment_bytes="100000")
    for _ in range(100):
        kit.clock.now_ms += chance.randrange(-5, 10)
        kit.append(n=chance.randrange(1, 5))
    segment = log.active_segment
    draft = IndexDraft(segment.base_offset, segment.index_interval_bytes)
    for position, header in segment.headers():
        draft.add(position, header.size_bytes, header.last_offset, header.max_timestamp)
    assert draft.index.encode() == segment.index.encode()
    assert draft.time_index.encode() == segment.time_index.encode()
    assert (draft.since, draft.newest) == (segment.bytes_since_index, segment.largest_timestamp)
    assert draft.newest_offset == segment.max_timestamp_offset


def test_without_batches() -> None:
    draft = IndexDraft(7, 100)
    assert (draft.since, draft.newest, draft.newest_offset, len(draft.index), len(draft.time_index)) == (0, -1, 7, 0, 0)
