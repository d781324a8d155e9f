"""The walk sees what `iter_records` sees, in one go or in turns, record by record or many together."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from oncelog.protocol import record_walk
from oncelog.protocol.record_walk import Allowance, CorruptRecords, RecordWalk
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
