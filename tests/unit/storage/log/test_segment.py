"""Indexes are those that Apache Kafka would have written, also when they are built again."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from oncelog.protocol.records import build_batch
from oncelog.storage.config import LogConfig
from oncelog.storage.directory.manager import LogManager
from oncelog.storage.env import system_env
from support.golden_storage import unpack
from support.inline import InlineFlusher
from support.storage_kit import Kit

pytestmark = pytest.mark.unit


def test_cases_22_and_25_index_rules(tmp_path: Path) -> None:
    kit = Kit(tmp_path / "data", flush_on_ack=False)
    log = kit.create(segment_index_bytes="48")
    for number in range(200):
        kit.clock.now_ms += 1
        kit.append(n=number % 5 + 1)
    kit.stop()
    for path in sorted(kit.folder.glob("*.index")):
        assert path.stat().st_size <= 48
    written = {path: path.read_bytes() for path in kit.folder.iterdir() if path.suffix in (".index", ".timeindex")}
    for path in written:
        path.unlink()
    kit.start()
    for segment in kit.log.segments:
        segment.rebuild_indexes("test")
    assert {path: path.read_bytes() for path in written} == written
    assert log.log_end_offset == kit.log.log_end_offset


def test_case_22_ten_thousand_batches_rebuild_to_the_same_indexes(tmp_path: Path) -> None:
    kit = Kit(tmp_path / "data", flush_on_ack=False)
    log = kit.create(internal_segment_bytes="400000", index_interval_bytes="4096")
    chance = random.Random(22)
    for _ in range(10_000):
        kit.clock.now_ms += chance.randrange(3)
        late = kit.clock.now_ms - chance.choice((0, 0, 0, 5000))
        log.append(build_batch([(late, None, b"v" * chance.randrange(250))] * chance.randrange(1, 4)), kit.clock.now_ms)
    kit.stop()
    written = {path: path.read_bytes() for path in kit.folder.iterdir() if path.suffix in (".index", ".timeindex")}
    assert len(written) > 8
    for path in written:
        path.unlink()
    kit.start()
    for segment in kit.log.segments:
        segment.rebuild_indexes("test")
    assert {path: path.read_bytes() for path in written} == written


def test_case_1_indexes_made_from_kafkas_logs_are_kafkas(tmp_path: Path) -> None:
    """Of sealed segments; the few that Kafka wrote across a restart, where its counter began again, differ."""
    manager = LogManager(system_env(), unpack("clean", tmp_path), LogConfig(producer_id_expiration_ms=2**31 - 1), InlineFlusher())
    manager.start()
    same = other = 0
    for log in manager.logs():
        for segment in list(log.segments)[:-1]:
            paths = [Path(segment.log_path).with_suffix(suffix) for suffix in (".index", ".timeindex")]
            before = [path.read_bytes() for path in paths]
            segment.rebuild_indexes("test")
            segment.save_indexes(final=True)
            same, other = (same + 1, other) if [path.read_bytes() for path in paths] == before else (same, other + 1)
    manager.stop()
    print(f"same={same} other={other}")
    assert same > 20
    assert other <= 5
