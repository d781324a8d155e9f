"""The straight append is the twin of `Log.append`: what it takes leaves the same bytes, indexes and producers, and it takes nothing that
the other one would refuse or change."""

from __future__ import annotations

import random
from typing import Any

import pytest
from oncelog.protocol.compression import Codec
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.records import HEADER_SIZE, NewRecord, build_batch, rewrite_crc
from oncelog.storage.log.plain_append import NOT_PLAIN
from support.flushed_when_told import DATA, sim
from support.simfs import SimFileSystem
from support.storage_kit import T0, Kit

pytestmark = pytest.mark.unit


def rows(rng: random.Random) -> list[NewRecord]:
    count = rng.choice([1, 1, 1, 1, 2, 5, 40])
    made: list[NewRecord] = []
    for _ in range(count):
        key = rng.choice([None, b"", b"key", b"k" * rng.randrange(70)])
        value = rng.choice([None, b"", b"v" * 50, b"v" * 100, b"v" * rng.randrange(300)])
        late = rng.choice([0, 0, 0, 1, 500, 3_600_001, -90_000])
        made.append((T0 + late, key, value, rng.choice([[], [], [("h", b"x")]])))
    return made


class Producers:
    """Batches as honest and as confused producers send them."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.next: dict[int, int] = {}

    def batch(self) -> bytearray:
        rng = self.rng
        records = rows(rng)
        producer_id = rng.choice([-1, -1, 7, 8])
        sequence = epoch = -1
        if producer_id >= 0:
            sequence, epoch = self.next.get(producer_id, 2**31 - 5), 0
            self.next[producer_id] = (sequence + len(records)) & (2**31 - 1)
            if rng.random() < 0.1:
                sequence, epoch = max(0, sequence + rng.choice([-1, 1])), rng.choice([0, 1])
        codec = rng.choice([Codec.NONE] * 6 + [Codec.GZIP])
        batch = build_batch(records, codec=codec, producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)
        if rng.random() < 0.3:
            self._spoil(batch)
        return batch

    def _spoil(self, batch: bytearray) -> None:
        rng = self.rng
        place = rng.choice([rng.randrange(HEADER_SIZE), rng.randrange(len(batch)), 22, 26, 42, 60, 61, 62, 63, 64, 65, len(batch) - 1])
        batch[place] ^= 1 << rng.randrange(8)
        if rng.random() < 0.3:
            del batch[rng.randrange(len(batch)) :]
        if rng.random() < 0.1:
            batch += bytes(rng.randrange(80))
        if rng.random() < 0.8 and len(batch) >= HEADER_SIZE:
            rewrite_crc(batch)


def outcome(kit: Kit, batch: bytearray) -> Any:
    try:
        info = kit.log.append(batch, kit.clock.now_ms)
    except KafkaError as error:
        return error.code, error.message
    return info.base_offset, info.last_offset, info.log_append_time_ms, info.duplicate


def everything(kit: Kit) -> Any:
    log = kit.log
    segments = [
        (
            (one.base_offset, one.size, one.max_timestamp, one.max_timestamp_offset, one.bytes_since_index),
            (one.index.encode(), one.time_index.encode(), one.read_at(0, one.size)),
        )
        for one in log.segments
        if one.size
    ]
    state = (log.state.copy_packed(), log.state.map_end_offset)
    return segments, state, log.log_end_offset, log.high_watermark, log.durability.durable_end, log.epochs.entries


SETTINGS: list[dict[str, str]] = [
    {},
    {"flush.on.ack": "false"},
    {"cleanup.policy": "compact"},
    {"message.timestamp.type": "LogAppendTime"},
    {"compression.type": "lz4"},
    {"message.timestamp.before.max.ms": "60000"},
    {"max.message.bytes": "300"},
    {"segment.ms": "400"},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda settings: ",".join(settings) or "plain")
def test_it_takes_what_the_long_way_takes_and_leaves_the_same(settings: dict[str, str], seed: int) -> None:
    for number in range(seed, seed + 4):
        straight, long = (Kit(DATA, SimFileSystem(number, now_ms=lambda: T0)) for _ in range(2))
        for kit in (straight, long):
            kit.create(**settings)
        producers = Producers(random.Random(number))
        taken = 0
        for step in range(250):
            batch = producers.batch()
            copy = bytearray(batch)
            expected = outcome(long, batch)
            before = bytes(copy)
            base = straight.log.plain.append(memoryview(copy), straight.clock.now_ms)
            where = f"--seed {number}, batch {step}"
            if base == NOT_PLAIN:
                assert copy == before, where
                assert outcome(straight, copy) == expected, where
            else:
                taken += 1
                assert (base, straight.log.log_end_offset - 1, -1, False) == expected, where
            if step % 25 == 0:
                assert everything(straight) == everything(long), where
            for kit in (straight, long):
                kit.clock.now_ms += step % 7
        assert everything(straight) == everything(long), f"--seed {number}"
        never = "LogAppendTime" in settings.values() or "lz4" in settings.values()
        assert taken == 0 if never else taken > 25, f"--seed {number}: {taken} were plain"
        straight.stop()
        long.stop()


@pytest.mark.parametrize("tv2", [True, False], ids=["adds", "verified"])
def test_transactional_batches_begin_and_go_on_as_the_long_way_has_it(tv2: bool, seed: int) -> None:
    taken, asked = 0, 0
    for number in range(seed, seed + 6):
        straight, long = (Kit(DATA, SimFileSystem(number, now_ms=lambda: T0)) for _ in range(2))
        for kit in (straight, long):
            kit.create()
        rng = random.Random(number)
        sequences: dict[tuple[int, int], int] = {}
        epochs = {5: 0, 6: 0}
        for step in range(300):
            pid, known = rng.choice([5, 5, 6]), rng.random() < 0.8
            epoch = epochs[pid] = max(0, epochs[pid] + rng.choice([0] * 30 + [1, -1]))
            if rng.random() < 0.2:
                commit = rng.random() < 0.5
                epoch += tv2
                ends = []
                for kit in (straight, long):
                    try:
                        ends.append(kit.log.append_marker(pid, epoch, 0, commit, T0, transaction_version=2 if tv2 else 0))
                    except KafkaError as error:
                        ends.append(error.code)
                assert ends[0] == ends[1]
                epochs[pid] = epoch
                continue
            sequence = sequences.get((pid, epoch), 0) + rng.choice([0, 0, 0, 0, 0, 1])
            batch = build_batch(
                rows(rng),
                producer_id=pid,
                producer_epoch=epoch,
                base_sequence=sequence,
                is_transactional=rng.random() < 0.9,
                codec=rng.choice([Codec.NONE] * 9 + [Codec.GZIP]),
            )
            if rng.random() < 0.1:
                batch[rng.randrange(len(batch))] ^= 1 << rng.randrange(8)
            copy = bytearray(batch)
            expected = appended(long, batch, known, tv2)
            questions: list[tuple[int, int]] = []

            def may_begin(*pair: int, known: bool = known, questions: list[tuple[int, ...]] = questions) -> bool:
                questions.append(pair)
                return known

            opened = straight.log.has_open_transaction(pid, epoch)
            base = straight.log.plain.append(memoryview(copy), T0, may_begin)
            if base == NOT_PLAIN:
                assert appended(straight, copy, known, tv2) == expected, f"--seed {number}, batch {step}"
            else:
                taken += 1
                assert (base, straight.log.log_end_offset - 1, -1, False) == expected, f"--seed {number}, batch {step}"
            assert len(questions) <= (not opened)
            asked += len(questions)
            if isinstance(expected[0], int) and not isinstance(expected[0], ErrorCode) and not expected[3]:
                sequences[pid, epoch] = sequence + expected[1] - expected[0] + 1
        assert everything(straight) == everything(long), f"--seed {number}"
        assert straight.log.open_transactions() == long.log.open_transactions()
        assert straight.log.last_stable_offset == long.log.last_stable_offset
        straight.stop()
        long.stop()
    assert taken > 60, f"--seed {seed}: {taken} were plain"
    assert asked > 20


def appended(kit: Kit, batch: bytearray, known: bool, tv2: bool) -> Any:
    try:
        info = kit.log.append(batch, T0, verified=known, tv2=tv2)
    except KafkaError as error:
        return error.code, error.message
    return info.base_offset, info.last_offset, info.log_append_time_ms, info.duplicate


def test_who_asks_nobody_appends_no_transactional_batch(kit: Kit) -> None:
    kit.append()
    batch = build_batch([(T0, b"k", b"v")], producer_id=5, producer_epoch=0, base_sequence=0, is_transactional=True)
    assert kit.log.plain.append(memoryview(batch), T0) == NOT_PLAIN
    assert kit.log.plain.append(memoryview(batch), T0, lambda *_: False) == NOT_PLAIN
    assert kit.log.plain.append(memoryview(batch), T0, lambda *_: True) == 1


def plain() -> memoryview:
    return memoryview(build_batch([(T0, b"k", b"v" * 50)]))


def test_it_knows_nothing_before_the_long_way_has_begun_the_segment(kit: Kit) -> None:
    assert kit.log.plain.append(plain(), T0) == NOT_PLAIN
    kit.append()
    assert kit.log.plain.append(plain(), T0) == 1


def test_new_settings_count_at_once(kit: Kit) -> None:
    kit.append()
    assert kit.log.plain.append(plain(), T0) == 1
    kit.manager.alter_topic_configs("t", {"max.message.bytes": "100"})
    assert kit.log.plain.append(plain(), T0) == NOT_PLAIN
    kit.manager.alter_topic_configs("t", {})
    assert kit.log.plain.append(plain(), T0) == 2


def test_a_deleted_or_stopped_log_takes_nothing(kit: Kit) -> None:
    kit.append()
    kit.log.retire("gone")
    assert kit.log.plain.append(plain(), T0) == NOT_PLAIN


def test_it_is_visible_and_acknowledged_when_it_is_durable() -> None:
    kit, _fs, flusher = sim(1)
    kit.append()
    flusher.flush()
    assert kit.log.plain.append(plain(), T0) == 1
    told: list[KafkaError | None] = []
    kit.log.when_durable(2, told.append)
    assert (kit.log.high_watermark, told) == (1, [])
    flusher.flush()
    assert (kit.log.high_watermark, told) == (2, [None])


def test_a_disk_that_fails_takes_the_log_offline(kit: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    kit.append()

    def fails(*_args: object) -> int:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(type(kit.log.active_segment), "write", fails)
    with pytest.raises(KafkaError) as caught:
        kit.log.plain.append(plain(), T0)
    assert caught.value.code == ErrorCode.KAFKA_STORAGE_ERROR
    assert (kit.log.log_end_offset, kit.log.offline is None) == (1, False)
