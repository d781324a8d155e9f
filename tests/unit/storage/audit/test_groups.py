"""Committed offsets beyond the end of their log, and group records that make no sense."""

from __future__ import annotations

from pathlib import Path

import pytest
from oncelog.protocol.internal.records import OffsetCommitKey, OffsetCommitValue
from oncelog.protocol.records import build_batch
from oncelog.storage.audit.findings import Kind
from support.damage import Partition
from support.plants import NOW, Expected, Plants

plant = Plants()


@plant
def an_offset_committed_beyond_the_end(data: Path) -> Expected:
    log = Partition(data, "__consumer_offsets-0")
    record = (NOW, OffsetCommitKey("g", "plain", 0).encode(), OffsetCommitValue(5_000).encode())
    return Kind.COMMITTED_BEYOND_END, "__consumer_offsets-0", log.append(build_batch([record]))


@plant
def a_group_record_cut_short(data: Path) -> Expected:
    log = Partition(data, "__consumer_offsets-0")
    record = (NOW, OffsetCommitKey("g", "plain", 0).encode(), OffsetCommitValue(5).encode()[:-9])
    return Kind.GROUP_RECORD, "__consumer_offsets-0", log.append(build_batch([record]))


@pytest.mark.parametrize("name", plant)
def test_planted_damage_is_found(name: str, directory: Path) -> None:
    assert plant.complaint(name, directory) is None
