"""The walk sees what `iter_records` sees, in one go or in turns, record by record or many together."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from oncelog.protocol import record_walk
from oncelog.protocol.record_walk import UNKNOWN, WITH_KEY, WITHOUT_KEY, Allowance, CorruptRecords, RecordWalk, lone_record
from oncelog.protocol.records import HEADER_SIZE, NewRecord, build_batch, iter_records, parse_header

T = 1_700_000_000_000


def uneven(rng: random.Random, count: int) -> list[NewRecord]:
    """Records of all kinds, some of them in rows of the same size."""
    rows: list[NewRecord] = []
    while len(rows) < count:
        key = rng.choice([None, b"", b"k" * rng.randrange(200)])
        value = rng.choice([None, b"", b"v" * rng.randrange(90), b"v" * rng.randrange(20_000)])
        headers = rng.choice([[], [], [("h", b"x"), ("", None)]])
        for _ in range(rng.choice([1, 1, 1, 2, 5, 40, 300])):
            rows.append((T + rng.choice([0, 1, -3, 40, 5000, -70_000, 1 << 40]) * rng.randrange(2), key, value, headers))
    return rows[:count]


def finish(walk: RecordWalk, steps: int) -> int:
    """How often it had to be called."""
    turns = 1
    while not walk.run(Allowance(steps)):
        turns += 1
    return turns


def walked(batch: bytearray, steps: int = 1 << 40) -> tuple[int, int, int, int]:
    header = parse_header(batch)
    walk = RecordWalk(memoryview(batch)[HEADER_SIZE:], header.records_count)
    finish(walk, steps)
    return header.base_timestamp + walk.largest, header.base_timestamp + walk.smallest, walk.keyless, walk.misplaced


def seen(batch: bytearray) -> tuple[int, int, int, int]:
    found = list(iter_records(batch))
    times = [record.timestamp for record in found]
    keyless = next((index for index, record in enumerate(found) if record.key is None), -1)
    misplaced = next((index for index, record in enumerate(found) if record.offset != index), -1)
    return max(times), min(times), keyless, misplaced


@pytest.mark.parametrize("window", [1 << 16, 3000, 64])
@pytest.mark.parametrize("steps", [1 << 40, 150, 1])
def test_it_sees_what_the_records_say(window: int, steps: int, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record_walk, "WINDOW_BYTES", window)
    for number in range(seed, seed + 12):
        batch = build_batch(uneven(random.Random(number), 700))
        assert walked(batch, steps) == seen(batch), f"--seed {number}"


@pytest.mark.parametrize("count", [1, 63, 64, 65, 8191, 8192, 8193, 20_000])
def test_records_of_one_size_are_taken_together(count: int) -> None:
    """And cost a sixteenth of a step each."""
    batch = build_batch([(T + index // 50, b"key", b"value") for index in range(count)])
    assert walked(batch) == seen(batch)
    allowance = Allowance(200 + count // 10)
    assert RecordWalk(memoryview(batch)[HEADER_SIZE:], count).run(allowance)


def outcome(look: Callable[[], object]) -> object:
    try:
        return look()
    except ValueError:
        return "refused"


@pytest.mark.parametrize(
    "rows",
    [
        [(1_000, b"k", b"value", [("h", b"x")]), (1_001, None, b"w")],
        [(1_000 + index, b"k", b"v") for index in range(90)],
        [(1_000 + 70 * index, None, b"w" * 70) for index in range(24)],
    ],
    ids=["two", "short ones", "longer ones"],
)
def test_a_flipped_bit_is_seen_by_both_or_by_none(rows: list[NewRecord]) -> None:
    whole = build_batch(rows)
    for position in range(HEADER_SIZE, len(whole)):
        for bit in range(8):
            batch = bytearray(whole)
            batch[position] ^= 1 << bit
            assert outcome(lambda: walked(batch)) == outcome(lambda: seen(batch)), (position, bit)  # noqa: B023


@pytest.mark.parametrize("steps", [1 << 40, 3])
def test_count_and_bytes_must_agree(steps: int) -> None:
    payload = memoryview(build_batch([(T, b"k", b"v")] * 500))[HEADER_SIZE:]
    for data, count, message in (
        (payload, 501, "record 500: "),
        (payload, 499, "10 bytes after the last record"),
        (payload[:-1], 500, "record 499: "),
        (b"", 1, "record 0: "),
        (b"x", 0, "1 bytes after"),
    ):
        walk = RecordWalk(data, count)
        with pytest.raises(CorruptRecords, match=message):
            finish(walk, steps)


def test_headers_are_steps_too() -> None:
    batch = build_batch([(T, b"k", b"v", [("", b"")] * 50_000)] * 2)
    assert finish(RecordWalk(memoryview(batch)[HEADER_SIZE:], 2), 1000) >= 100
    assert walked(batch, 1000) == seen(batch)


SIZES = [*range(12), 57, 58, 59, 60, 61, 62, 63, 64, 65, 120, 126, 127, 128, 4000, 8191, 8192]


@pytest.mark.parametrize("key", [None, b"", b"k", b"k" * 63, b"k" * 64], ids=lambda key: "null" if key is None else str(len(key)))
def test_a_record_alone_is_what_the_walk_says(key: bytes | None) -> None:
    for value in (None, *(b"v" * size for size in SIZES)):
        data = bytes(build_batch([(T, key, value)]))[HEADER_SIZE:]
        short = (data[0] < 0x80 or data[1] < 0x80) and len(key or b"") < 64
        verdict = lone_record(b"before" + data + b"behind", 6, 6 + len(data))
        assert verdict == (UNKNOWN if not short else WITHOUT_KEY if key is None else WITH_KEY), value


def test_a_spoilt_record_alone_is_left_to_the_walk(seed: int) -> None:
    rng, known = random.Random(seed), 0
    for number in range(20_000):
        key = rng.choice([None, b"", b"k" * rng.randrange(80)])
        value = rng.choice([None, b"", b"v" * rng.randrange(150)])
        data = bytearray(build_batch([(T, key, value, rng.choice([[], [], [("h", b"x")]]))])[HEADER_SIZE:])
        for _ in range(rng.randrange(3)):
            data[rng.choice([rng.randrange(len(data)), rng.randrange(min(len(data), 9))])] = rng.randrange(256)
        if rng.random() < 0.2:
            del data[rng.randrange(len(data)) :]
        verdict = lone_record(data, 0, len(data))
        if verdict == UNKNOWN:
            continue
        known += 1
        walk = RecordWalk(data, 1)
        assert walk.run(Allowance()), (seed, number)
        assert (walk.largest, walk.smallest, walk.misplaced) == (0, 0, -1), (seed, number)
        assert (walk.keyless < 0) == (verdict == WITH_KEY), (seed, number)
    assert known > 5000
