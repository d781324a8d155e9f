"""Rows → chunks of encoded records, on the executors and before the shuffle.

A chunk is the payload of one future batch: records with offset deltas from 0, all for one target partition. What Spark then moves to the
task that writes a partition is a few large values instead of many small rows, and that task has nothing left to do per record. This is
what makes the sink keep up with Spark's own, which needs no shuffle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from oncelog.spark_jobs.sink import batch_format, wire

CHUNK_BYTES = 512 << 10
"""Records per chunk, uncompressed; below `max.message.bytes` (1 MiB) whatever the codec makes of it."""
CHUNK_RECORDS = 8192
MOST_BUFFERED_BYTES = 64 << 20
"""Chunks being filled, per task, over all targets."""
KNOWN_KEYS = 1 << 16


class Chunk(NamedTuple):
    """Encoded records for one target."""

    records: int
    data: bytes


@dataclass(frozen=True)
class Target:
    """One partition to write to."""

    topic: str
    partition: int


class ChunkBuilder:
    """A chunk being filled."""

    __slots__ = ("bytes", "parts")

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.bytes = 0

    def add(self, record: bytes) -> None:
        self.parts.append(record)
        self.bytes += len(record)

    def take(self) -> Chunk:
        """What is filled so far; the next chunk begins empty."""
        chunk = Chunk(len(self.parts), b"".join(self.parts))
        self.parts = []
        self.bytes = 0
        return chunk


class Chooser:
    """Which target a row goes to: its `partition` if it names one, else its key's, else the next in turn."""

    def __init__(self, targets: Sequence[Target], default_topic: str | None, turn: int) -> None:
        self.default_topic = default_topic
        self.turn = turn
        self.first: dict[str, int] = {}
        self.counts: dict[str, int] = {}
        for index, target in enumerate(targets):
            self.first.setdefault(target.topic, index)
            self.counts[target.topic] = self.counts.get(target.topic, 0) + 1
        self._known: dict[tuple[str | None, bytes], int] = {}

    def choose(self, topic: str | None, partition: int | None, key: bytes | None) -> int:
        """Index of the target. Raises ValueError for a partition that does not exist."""
        if partition is None and key is not None:
            found = self._known.get((topic, key))  # keys repeat, and hashing one costs ten times as much
            if found is not None:
                return found
        name = topic if topic is not None else self.default_topic
        assert name is not None
        if partition is not None:
            if not 0 <= partition < self.counts[name]:
                raise ValueError(f"column partition says {partition}, but {name} has {self.counts[name]} partitions")
            return self.first[name] + partition
        if key is None:
            self.turn += 1
            return self.first[name] + self.turn % self.counts[name]
        chosen = self.first[name] + batch_format.partition_of(key, self.counts[name])
        if len(self._known) < KNOWN_KEYS:
            self._known[topic, key] = chosen
        return chosen


def encoder(targets: Sequence[Target], default_topic: str | None, slots: Sequence[int]) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The function for `mapInArrow`: rows in, chunks out (slot, target, records, data)."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None, "this runs inside a Spark task"
        chooser = Chooser(targets, default_topic, context.partitionId())
        builders = [ChunkBuilder() for _ in targets]
        for batch in batches:
            full = list(fill(batch, chooser, builders))
            if sum(builder.bytes for builder in builders) > MOST_BUFFERED_BYTES:
                full += drain(builders)
            if full:
                yield arrow_chunks(full, slots)
        rest = list(drain(builders))
        if rest:
            yield arrow_chunks(rest, slots)

    return run


def fill(batch: Any, chooser: Chooser, builders: Sequence[ChunkBuilder]) -> Iterator[tuple[int, Chunk]]:
    """Encode the rows of one Arrow batch; yields (target, chunk) as chunks become full."""
    named = batch.schema.names
    columns = [batch.column(name).to_pylist() if name in named else [None] * batch.num_rows for name in ("topic", "partition", "headers")]
    encode = batch_format.encode_record
    for key, value, topic, partition, headers in zip(
        batch.column("key").to_pylist(), batch.column("value").to_pylist(), *columns, strict=True
    ):
        target = chooser.choose(topic, partition, key)
        builder = builders[target]
        encoded = batch_format.encode_headers([(each["key"], each["value"]) for each in headers]) if headers else batch_format.NO_HEADERS
        record = encode(len(builder.parts), key, value, encoded)
        if builder.bytes + len(record) > CHUNK_BYTES and builder.parts:
            yield target, builder.take()
            record = encode(0, key, value, encoded)
        builder.add(record)
        if len(builder.parts) == CHUNK_RECORDS:
            yield target, builder.take()


def drain(builders: Sequence[ChunkBuilder]) -> Iterator[tuple[int, Chunk]]:
    """Everything that is not full yet."""
    return ((target, builder.take()) for target, builder in enumerate(builders) if builder.parts)


def arrow_chunks(chunks: Sequence[tuple[int, Chunk]], slots: Sequence[int]) -> Any:
    """An Arrow batch of chunks."""
    import pyarrow

    columns = [
        pyarrow.array([slots[target] for target, _ in chunks], pyarrow.int32()),
        pyarrow.array([target for target, _ in chunks], pyarrow.int32()),
        pyarrow.array([chunk.records for _, chunk in chunks], pyarrow.int32()),
        pyarrow.array([chunk.data for _, chunk in chunks], pyarrow.binary()),
    ]
    return pyarrow.RecordBatch.from_arrays(columns, ["slot", "target", "records", "data"])


def split(chunk: Chunk, records: int) -> tuple[Chunk, Chunk]:
    """The first `records` records of a chunk, and the rest, renumbered from 0."""
    reader = wire.Reader(chunk.data)
    for _ in range(records):
        size = reader.varint() >> 1
        reader.at += size
    head, rest = chunk.data[: reader.at], ChunkBuilder()
    while reader.at < len(chunk.data):
        begin = reader.at
        size = reader.varint() >> 1
        reader.at += size
        rest.add(renumbered(chunk.data[begin : reader.at], len(rest.parts)))
    return Chunk(records, head), rest.take()


def renumbered(record: bytes, offset_delta: int) -> bytes:
    """The same record at another place in its batch."""
    reader = wire.Reader(record)
    reader.varint()
    body = reader.at
    reader.at += 2  # attributes and timestamp delta, one byte each as `batch_format.encode_record` writes them
    reader.varint()
    renewed = record[body : body + 2] + batch_format.varint(offset_delta) + record[reader.at :]
    return batch_format.varint(len(renewed)) + renewed
