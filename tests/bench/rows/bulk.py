"""Many bytes: large batches in and out, with transactions and without."""

from __future__ import annotations

import time
from functools import partial

from tests.bench import clients, load, native
from tests.bench.librdkafka import producer
from tests.bench.stage import Outcome, Row, Stage, both

SECTION = "Bulk"
TOPIC = "bulk"
ACKS_ALL = -1
KB, MB = 1_000, 1_000_000
BATCH_BYTES = 900 * KB
FETCH_BYTES = 1 << 20
STORED_BATCHES = 64
PRODUCE_ERROR_AT = 12 + len(TOPIC)
FETCH_ERROR_AT = 22 + len(TOPIC)
TRANSACTIONS, EVERY_ABORTED, TRANSACTION_RECORDS = 200, 10, 300


def produce(stage: Stage, record_bytes: int) -> Outcome:
    """Batches of nearly 1 MB to one partition, two connections with two in flight."""
    load.create_topic(stage.server.port, TOPIC)
    frame = _produce_frame(record_bytes)
    result = native.run(
        stage.server.port,
        [frame],
        connections=2,
        depth=2,
        seconds=stage.seconds,
        warm_seconds=stage.warm_seconds,
        error_at=PRODUCE_ERROR_AT,
        window=stage.window,
    )
    sent = result.requests * len(frame)
    return Outcome(sent / result.seconds / MB, sent / KB, {"p99 ms": result.percentile_ms(0.99)})


def consume(stage: Stage, record_bytes: int) -> Outcome:
    """1 MiB at a time from the page cache, four connections."""
    load.create_topic(stage.server.port, TOPIC)
    frame = _produce_frame(record_bytes)
    load.pump(stage.server.port, (frame for _ in range(STORED_BATCHES)), window=2)
    return _read(stage, isolation=0)


def read_committed(stage: Stage) -> Outcome:
    """The same over transactions of which every tenth was aborted."""
    load.create_topic(stage.server.port, TOPIC)
    sender = producer(stage.server.bootstrap, "bench-aborts")
    for number in range(TRANSACTIONS):
        sender.begin_transaction()
        for _ in range(TRANSACTION_RECORDS):
            sender.produce(TOPIC, b"x" * KB, partition=0)
        if number % EVERY_ABORTED == 0:
            sender.flush(60)
            sender.abort_transaction(60)
        else:
            sender.commit_transaction(60)
    return _read(stage, isolation=1)


def commits(stage: Stage, commit_ms: int) -> Outcome:
    """1 KB records from librdkafka as fast as it can."""
    load.create_topic(stage.server.port, TOPIC)
    result = clients.run(
        clients.LIBRDKAFKA,
        "bulk",
        stage.server.bootstrap,
        TOPIC,
        commit_ms,
        warm_seconds=stage.warm_seconds,
        seconds=stage.seconds,
        window=stage.window,
    )
    return Outcome(result.rate * KB / MB, result.requests)


def _produce_frame(record_bytes: int) -> bytes:
    return load.produce_frame(TOPIC, range(1), load.batch(record_bytes, BATCH_BYTES // record_bytes), ACKS_ALL)


def _read(stage: Stage, isolation: int) -> Outcome:
    frames = [
        load.fetch_frame(TOPIC, offset, max_bytes=FETCH_BYTES, isolation=isolation) for offset in _offsets(stage.server.port, isolation)
    ]
    result = native.run(
        stage.server.port,
        frames,
        connections=4,
        seconds=stage.seconds,
        warm_seconds=stage.warm_seconds,
        error_at=FETCH_ERROR_AT,
        window=stage.window,
    )
    return Outcome(result.bytes_in / result.seconds / MB, result.bytes_in / KB, {"p99 ms": result.percentile_ms(0.99)})


def _offsets(port: int, isolation: int) -> list[int]:
    """Where each fetch of a consumer that reads the whole log begins. Raises TimeoutError when its end does not become stable."""
    found, offset, deadline = [], 0, time.monotonic() + 60
    while True:
        frame = load.fetch_frame(TOPIC, offset, max_bytes=FETCH_BYTES, isolation=isolation)
        partition = load.fetched(load.exchange(port, frame))
        following = load.end_of(bytes(partition.records or b""))
        if following is not None:
            found.append(offset)
            offset = following
        elif offset >= partition.high_watermark:
            return found
        elif time.monotonic() > deadline:
            raise TimeoutError(f"the last stable offset stays at {offset}")
        else:
            time.sleep(0.05)  # the last marker is on its way


ROWS = [
    *both("produce-1kb", "produce 1 KB records, one partition", "MB/s", partial(produce, record_bytes=KB), per="KB"),
    *both("produce-10kb", "produce 10 KB records, one partition", "MB/s", partial(produce, record_bytes=10 * KB), per="KB"),
    Row("consume-1kb", "consume 1 KB records", "MB/s", partial(consume, record_bytes=KB), per="KB"),
    Row("consume-10kb", "consume 10 KB records", "MB/s", partial(consume, record_bytes=10 * KB), per="KB"),
    Row("read-committed", "consume 1 KB records, read_committed, 10 % aborted", "MB/s", read_committed, per="KB"),
    *both("bulk-plain", "1 KB records from librdkafka, no transactions", "MB/s", partial(commits, commit_ms=0), per="record"),
    *both("bulk-commits", "1 KB records from librdkafka, a commit each 100 ms", "MB/s", partial(commits, commit_ms=100), per="record"),
]
