"""What the broker writes itself is the same whichever way it goes; what does not fit finds its words."""

from __future__ import annotations

import random
from typing import Any

import pytest
from oncelog.protocol.control_records import end_transaction_marker
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.records import batch_at, iter_records, parse_header, record_of
from oncelog.storage.log.own_append import OwnAppends
from support.flushed_when_told import DATA
from support.simfs import SimFileSystem
from support.storage_kit import T0, Kit

pytestmark = pytest.mark.unit

SETTINGS: list[dict[str, str]] = [
    {},
    {"flush.on.ack": "false"},
    {"cleanup.policy": "compact", "compression.type": "uncompressed"},
    {"segment.ms": "300"},
    {"index.interval.bytes": "100"},
]


def stored(kit: Kit) -> Any:
    log = kit.log
    segments = [
        (one.base_offset, one.read_at(0, one.size), one.index.encode(), one.time_index.encode(), one.max_timestamp) for one in log.segments
    ]
    return segments, log.log_end_offset, log.high_watermark, log.durability.durable_end, log.state.copy_packed(), log.epochs.entries


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda settings: ",".join(settings) or "plain")
def test_both_ways_leave_the_same(settings: dict[str, str], seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    straight, long = (Kit(DATA, SimFileSystem(seed, now_ms=lambda: T0)) for _ in range(2))
    for kit in (straight, long):
        kit.create(**settings)
        rng = random.Random(seed)
        with monkeypatch.context() as patch:
            if kit is long:
                patch.setattr(OwnAppends, "_write", lambda *_: False)
            now_ms = T0
            for step in range(120):
                now_ms += step % 9
                if rng.random() < 0.3:
                    kit.log.append_marker(rng.randrange(3), 0, rng.randrange(2, 3), rng.random() < 0.5, now_ms)
                    continue
                count = rng.choice([1, 1, 2, 5])
                framed = b"".join(record_of(n, b"k%d" % n, rng.choice([None, b"v" * rng.randrange(200)])) for n in range(count))
                assert kit.log.own.records(count, framed, now_ms, -1) == kit.log.log_end_offset - count
    assert stored(straight) == stored(long)
    assert len(straight.log.segments) > 1 or "segment.ms" not in settings
    straight.stop()
    long.stop()


def test_what_is_written_is_a_batch_of_nobody(kit: Kit) -> None:
    kit.append()
    for offset in (1, 2):
        assert kit.log.own.records(1, record_of(0, b"k", b"v" * 90), T0, 0) == offset
    data = kit.log.read(2, 1000, isolation=0, min_one_message=True).records
    assert isinstance(data, bytes)
    assert data == batch_at(2, 0, T0, 1, record_of(0, b"k", b"v" * 90), base_sequence=0)
    assert [record.value for record in iter_records(data)] == [b"v" * 90]
    assert parse_header(data).producer_id == -1


def test_a_marker_stands_as_it_is_made(kit: Kit) -> None:
    kit.append(0, pid=7, txn=True)
    assert kit.log.append_marker(7, 1, 0, True, T0 + 5, transaction_version=2) == 1
    assert kit.log.read(1, 1000, isolation=0, min_one_message=True).records == bytes(end_transaction_marker(7, 1, True, 0, T0 + 5, 1))
    assert kit.log.last_stable_offset == 2


def test_records_that_are_too_large_are_refused_and_markers_never_are(kit: Kit) -> None:
    kit.append()
    kit.manager.alter_topic_configs("t", {"max.message.bytes": "70"})
    with pytest.raises(KafkaError) as refused:
        kit.log.own.records(1, record_of(0, b"k", b"v" * 90), T0, -1)
    assert refused.value.code is ErrorCode.MESSAGE_TOO_LARGE
    assert kit.log.log_end_offset == 1
    assert kit.log.append_marker(7, 0, 0, True, T0) == 1


def test_a_disk_that_fails_and_a_log_that_is_offline(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    kit.append()

    def fails(*_args: object) -> int:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(type(kit.log.active_segment), "write", fails)
        with pytest.raises(KafkaError) as caught:
            kit.log.own.records(1, record_of(0, b"k", b"v"), T0, -1)
        assert caught.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert kit.log.offline is not None
    with pytest.raises(KafkaError):
        kit.log.own.records(1, record_of(0, b"k", b"v"), T0, -1)
    assert kit.log.log_end_offset == 1
