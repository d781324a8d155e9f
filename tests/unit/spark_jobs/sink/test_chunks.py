"""Rows become chunks: each row once, in order, where its key belongs, and no chunk larger than a batch may be."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oncelog.protocol.records import iter_records
from oncelog.spark_jobs.sink import batch_format, chunks
from oncelog.spark_jobs.sink.chunks import Chooser, Chunk, ChunkBuilder, Target, drain, fill, renumbered, split

TARGETS = [Target("a", 0), Target("a", 1), Target("a", 2), Target("b", 0)]


@given(st.integers(0, 20_000), st.integers(0, 20_000), st.none() | st.binary(max_size=100), st.binary(max_size=100))
def test_renumbering_changes_the_number_only(old: int, new: int, key: bytes | None, value: bytes) -> None:
    assert renumbered(batch_format.encode_record(old, key, value), new) == batch_format.encode_record(new, key, value)


@given(st.lists(st.binary(max_size=10), min_size=1, max_size=200), st.data())
def test_a_chunk_splits_anywhere(values: list[bytes], data: st.DataObject) -> None:
    at = data.draw(st.integers(1, len(values)))
    whole, head, rest = (
        b"".join(batch_format.encode_record(number, None, value) for number, value in enumerate(part))
        for part in (values, values[:at], values[at:])
    )
    assert split(Chunk(len(values), whole), at) == (Chunk(at, head), Chunk(len(values) - at, rest))


def test_a_partition_that_is_named_is_taken() -> None:
    chooser = Chooser(TARGETS, "a", 0)
    assert [chooser.choose(None, partition, b"key") for partition in (0, 1, 2)] == [0, 1, 2]
    assert chooser.choose("b", 0, None) == 3
    for topic, partition in ((None, 3), (None, -1), ("b", 1)):
        with pytest.raises(ValueError, match=f"column partition says {partition}, but {topic or 'a'} has"):
            chooser.choose(topic, partition, None)


@given(st.binary(max_size=8))
def test_a_key_always_goes_to_the_same_partition(key: bytes) -> None:
    chooser = Chooser(TARGETS, "a", 0)
    expected = batch_format.partition_of(key, 3)
    assert [chooser.choose(None, None, key) for _ in range(2)] == [expected] * 2
    assert chooser.choose("a", None, key) == expected
    assert chooser.choose("b", None, key) == 3
    assert chooser.choose(None, (expected + 1) % 3, key) == (expected + 1) % 3  # a named partition comes before what is known of the key


def test_more_keys_than_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "KNOWN_KEYS", 3)
    chooser = Chooser(TARGETS, "a", 0)
    for _ in range(2):
        assert [chooser.choose(None, None, b"%d" % number) for number in range(50)] == [
            batch_format.partition_of(b"%d" % n, 3) for n in range(50)
        ]
    assert len(chooser._known) == 3


@pytest.mark.parametrize("turn", [0, 1, 5])
def test_rows_without_key_go_round(turn: int) -> None:
    chooser = Chooser(TARGETS, "a", turn)
    chosen = [chooser.choose(None, None, None) for _ in range(6)]
    assert chosen == [(turn + 1 + number) % 3 for number in range(6)]


def test_a_builder_begins_empty_again() -> None:
    builder = ChunkBuilder()
    builder.add(b"ab")
    builder.add(b"c")
    assert (builder.bytes, builder.take()) == (3, Chunk(2, b"abc"))
    assert (builder.bytes, builder.take()) == (0, Chunk(0, b""))


class Column(list[Any]):
    def to_pylist(self) -> list[Any]:
        return list(self)


class Batch:
    """As much of an Arrow batch as is asked for."""

    def __init__(self, **columns: Sequence[Any]) -> None:
        self.columns = columns
        self.schema = self
        self.names = list(columns)
        self.num_rows = len(next(iter(columns.values())))

    def column(self, name: str) -> Column:
        return Column(self.columns[name])


def read(chunk: Chunk) -> list[tuple[bytes | None, bytes | None, list[Any]]]:
    """Records of a chunk, as the broker reads them in a batch."""
    batch = batch_format.record_batch(chunk.data, chunk.records, 5, 1, 0, 0, 0)
    records = list(iter_records(batch))
    assert [record.offset for record in records] == list(range(chunk.records))
    return [(record.key, record.value, list(record.headers or ())) for record in records]


def filled(batch: Any, builders: Sequence[ChunkBuilder]) -> Iterator[tuple[int, Chunk]]:
    yield from fill(batch, Chooser(TARGETS, "a", 0), builders)
    yield from drain(builders)


def test_columns_that_are_missing_say_nothing() -> None:
    builders = [ChunkBuilder() for _ in TARGETS]
    found = dict(filled(Batch(key=[b"k"], value=[b"v"]), builders))
    assert list(found) == [batch_format.partition_of(b"k", 3)]
    assert [read(chunk) for chunk in found.values()] == [[(b"k", b"v", [])]]


def test_all_columns() -> None:
    builders = [ChunkBuilder() for _ in TARGETS]
    headers = [None, [], [{"key": "h", "value": None}, {"key": "i", "value": b"1"}]]
    batch = Batch(key=[None, b"k", None], value=[b"1", None, b"3"], topic=["b", None, "a"], partition=[None, 1, 1], headers=headers)
    found = dict(filled(batch, builders))
    assert sorted(found) == [1, 3]
    assert read(found[3]) == [(None, b"1", [])]
    (one, two) = read(found[1])
    assert (one, two[:2]) == ((b"k", None, []), (None, b"3"))
    assert [(str(name), value) for name, value in two[2]] == [("h", None), ("i", b"1")]


@pytest.mark.parametrize("seed", range(5))
def test_every_row_once_in_order_and_no_chunk_too_large(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "CHUNK_BYTES", 200)
    monkeypatch.setattr(chunks, "CHUNK_RECORDS", 5)
    chance = random.Random(seed)
    builders = [ChunkBuilder() for _ in TARGETS]
    sent: dict[int, list[bytes]] = {0: [], 1: [], 2: []}
    found: dict[int, list[bytes]] = {0: [], 1: [], 2: []}
    chooser = Chooser(TARGETS, "a", 0)
    out: list[tuple[int, Chunk]] = []
    for _ in range(10):
        values = [b"%d:" % chance.randrange(10**6) + b"x" * chance.choice((0, 10, 100, 500)) for _ in range(20)]
        partitions = [chance.randrange(3) for _ in values]
        for partition, value in zip(partitions, values, strict=True):
            sent[partition].append(value)
        out += fill(Batch(key=[None] * 20, value=values, partition=partitions), chooser, builders)
    assert all(builder.bytes <= 200 or len(builder.parts) == 1 for builder in builders)
    for target, chunk in [*out, *drain(builders)]:
        assert 0 < chunk.records <= 5
        assert len(chunk.data) <= 200 or chunk.records == 1
        found[target] += [value for _, value, _ in read(chunk) if value is not None]
    assert found == sent
    assert list(drain(builders)) == []
