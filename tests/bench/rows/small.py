"""Small requests: what a broker does for each of them, whatever is in it."""

from __future__ import annotations

from functools import partial

from tests.bench import load, native
from tests.bench.load import Result
from tests.bench.stage import Outcome, Row, Stage, both

SECTION = "Small requests"
TOPIC = "small"
ACKS_ALL = -1
PRODUCE_ERROR_AT = 12 + len(TOPIC)  # behind correlation id, tags, topic array, name, partition array and index
FETCH_ERROR_AT = 22 + len(TOPIC)


def outcome(result: Result) -> Outcome:
    return Outcome(result.rate, result.requests, {"p50 ms": result.percentile_ms(0.5), "p99 ms": result.percentile_ms(0.99)})


def produce(stage: Stage, connections: int, partitions: int) -> Outcome:
    """100-byte records, one a batch, one request at a time on each connection."""
    load.create_topic(stage.server.port, TOPIC, partitions)
    records = load.batch(100)
    frames = [load.produce_frame(TOPIC, range(number, number + 1), records, ACKS_ALL) for number in range(partitions)]
    return _run(stage, frames, connections, PRODUCE_ERROR_AT)


def produce_wide(stage: Stage, connections: int, partitions: int) -> Outcome:
    """One request for many partitions."""
    load.create_topic(stage.server.port, TOPIC, partitions)
    return _run(stage, [load.produce_frame(TOPIC, range(partitions), load.batch(100), ACKS_ALL)], connections, PRODUCE_ERROR_AT)


def fetch(stage: Stage, connections: int) -> Outcome:
    """A batch of one 100-byte record, again and again."""
    load.create_topic(stage.server.port, TOPIC)
    load.exchange(stage.server.port, load.produce_frame(TOPIC, range(1), load.batch(100), ACKS_ALL))
    return _run(stage, [load.fetch_frame(TOPIC, 0, max_bytes=1 << 20)], connections, FETCH_ERROR_AT)


def _run(stage: Stage, frames: list[bytes], connections: int, error_at: int) -> Outcome:
    return outcome(
        native.run(
            stage.server.port,
            frames,
            connections=connections,
            seconds=stage.seconds,
            warm_seconds=stage.warm_seconds,
            error_at=error_at,
            window=stage.window,
        )
    )


ROWS = [
    row
    for connections, partitions in ((1, 1), (10, 1), (50, 1), (50, 50))
    for row in both(
        f"produce-small-{connections}" + (f"x{partitions}" if partitions > 1 else ""),
        f"produce 100 B, {connections} connection{'s' * (connections > 1)}" + (f" on {partitions} partitions" if partitions > 1 else ""),
        "req/s",
        partial(produce, connections=connections, partitions=partitions),
    )
] + [
    Row(
        "produce-wide", "produce for 50 partitions a request, 10 connections", "req/s", partial(produce_wide, connections=10, partitions=50)
    ),
    Row("fetch-small-50", "fetch 100 B, 50 connections", "req/s", partial(fetch, connections=50)),
]
