"""`oncelog produce`: lines of standard input become records, acknowledged by all replicas before the command ends."""

from __future__ import annotations

import itertools
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Annotated

from cyclopts import App, Parameter
from oncelog.broker.commands.client.cluster import Cluster, check
from oncelog.broker.commands.client.options import DEFAULT, Connection
from oncelog.broker.commands.client.output import USAGE, done, fail
from oncelog.protocol.api_keys import ApiKey

app = App(name="produce", help="Write records, one a line of standard input.")
RECORDS_PER_REQUEST = 500
# v13 names topics by id
PRODUCE_VERSION_MAX = 12
ALL_REPLICAS = -1

Headers = list[tuple[str, bytes | None]]
NewRecord = tuple[int, bytes | None, bytes | None, Headers]


@app.default
def produce(
    topic: str,
    *,
    value: Annotated[tuple[str, ...], Parameter(negative=(), consume_multiple=False)] = (),
    key: str | None = None,
    key_separator: str | None = None,
    header: Annotated[tuple[str, ...], Parameter(negative=(), consume_multiple=False)] = (),
    partition: int | None = None,
    connection: Connection = DEFAULT,
) -> None:
    """Write records, one a line of standard input.

    Parameters
    ----------
    value
        A record to write instead of standard input; may be given several times.
    key
        Key of every record; equal keys go to the same partition.
    key_separator
        What stands between key and value in a line.
    header
        NAME=VALUE for every record; may be given several times.
    partition
        Write to this partition only.
    """
    if key is not None and key_separator is not None:
        fail("--key and --key-separator exclude each other", USAGE)
    headers = [_header(text) for text in header]
    lines = iter(value) if value else (line.rstrip("\n") for line in sys.stdin)
    written: Counter[int] = Counter()
    with connection.open() as cluster:
        partitions = sorted(number for _, number in cluster.leaders([topic]))
        if partition is not None and partition not in partitions:
            fail(f"topic {topic} has no partition {partition}")
        turn = itertools.cycle(partitions)
        for group in _groups(lines, at_once=sys.stdin.isatty() and not value):
            by_partition: dict[int, list[NewRecord]] = defaultdict(list)
            fallback = next(turn)
            for line in group:
                record_key, record_value = _split(line, key, key_separator)
                number = partition if partition is not None else _partition_of(record_key, partitions, fallback)
                by_partition[number].append((time.time_ns() // 1_000_000, record_key, record_value, headers))
            for number, records in by_partition.items():
                _send(cluster, topic, number, records, int(connection.timeout_s * 1000))
                written[number] += len(records)
    facts = {str(number): count for number, count in sorted(written.items())}
    done(f"wrote {written.total()} records to {topic}", connection.format, topic=topic, records=written.total(), partitions=facts)


def _groups(lines: Iterator[str], *, at_once: bool) -> Iterator[list[str]]:
    """Lines in groups for one request; a person who types sees each line written."""
    size = 1 if at_once else RECORDS_PER_REQUEST
    while group := list(itertools.islice(lines, size)):
        yield group


def _split(line: str, key: str | None, separator: str | None) -> tuple[bytes | None, bytes]:
    if separator is None:
        return (key.encode() if key is not None else None), line.encode()
    name, found, value = line.partition(separator)
    if not found:
        fail(f"no {separator!r} in line {line!r}")
    return name.encode(), value.encode()


def _header(text: str) -> tuple[str, bytes | None]:
    name, equals, value = text.partition("=")
    return name, value.encode() if equals else None


def _partition_of(key: bytes | None, partitions: list[int], fallback: int) -> int:
    """As Java's default partitioner: by hash of the key; records without one stay together for a request."""
    from oncelog.protocol.primitives import murmur2

    return fallback if key is None else partitions[(murmur2(key) & 0x7FFFFFFF) % len(partitions)]


def _send(cluster: Cluster, topic: str, partition: int, records: list[NewRecord], timeout_ms: int) -> None:
    from oncelog.protocol import messages
    from oncelog.protocol.records import build_batch

    data = messages.ProduceRequest.TopicProduceData
    batch = bytes(build_batch(records))
    request = messages.ProduceRequest(
        transactional_id=None,
        acks=ALL_REPLICAS,
        timeout_ms=timeout_ms,
        topic_data=[data(name=topic, partition_data=[data.PartitionProduceData(index=partition, records=batch)])],
    )
    answer = cluster.leader(topic, partition).send(ApiKey.PRODUCE, request, max_version=PRODUCE_VERSION_MAX)
    (result,) = answer.responses[0].partition_responses
    check(result.error_code, result.error_message, about=f"{topic}-{partition}")
