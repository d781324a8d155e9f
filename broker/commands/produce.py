"""`oncelog produce`: lines of standard input become records, acknowledged by all replicas before the command ends."""

from __future__ import annotations

import itertools
import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Annotated, NamedTuple

from cyclopts import App, Parameter
from oncelog.broker.commands.client.cluster import Cluster, check
from oncelog.broker.commands.client.numbers import Int32
from oncelog.broker.commands.client.options import DEFAULT, Connection
from oncelog.broker.commands.client.output import USAGE, done, fail, note
from oncelog.broker.commands.client.wire import ConnectFailure
from oncelog.broker.ending import shortened
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import KafkaError

app = App(name="produce", help="Write records, one a line of standard input.")
RECORDS_PER_REQUEST = 500
BYTES_PER_REQUEST = 500_000  # half of what a broker takes in a batch unless it is told otherwise
# v13 names topics by id
PRODUCE_VERSION_MAX = 12
ALL_REPLICAS = -1

Headers = list[tuple[str, bytes | None]]
NewRecord = tuple[int, bytes | None, bytes | None, Headers]


class Line(NamedTuple):
    """A record to be."""

    key: bytes | None
    value: bytes


class BadLine(Exception):
    """A line without the separator."""


@app.default
def produce(
    topic: str,
    *,
    value: Annotated[tuple[str, ...], Parameter(negative=(), consume_multiple=False)] = (),
    key: str | None = None,
    key_separator: str | None = None,
    skip_bad_lines: Annotated[bool, Parameter(negative=())] = False,
    header: Annotated[tuple[str, ...], Parameter(negative=(), consume_multiple=False)] = (),
    partition: Int32 | None = None,
    connection: Connection = DEFAULT,
) -> None:
    """Write records, one a line of standard input. Bytes stay as they are. A topic that is missing is made if the broker does that.

    Parameters
    ----------
    value
        A record to write instead of standard input; may be given several times.
    key
        Key of every record; equal keys go to the same partition.
    key_separator
        What stands between key and value in a line.
    skip_bad_lines
        Leave out lines without the separator and say how many, instead of stopping at the first.
    header
        KEY=VALUE or KEY:VALUE for every record; may be given several times.
    partition
        Write to this partition only.
    """
    if key is not None and key_separator is not None:
        fail("--key and --key-separator exclude each other", USAGE)
    if key_separator == "":
        fail("--key-separator must not be empty", USAGE)
    headers = [_header(text) for text in header]
    given = [os.fsencode(text) for text in value]
    source = _Source(given or sys.stdin.buffer, key, key_separator, skip=skip_bad_lines)
    written: Counter[int] = Counter()
    with connection.open() as cluster, _telling_what_was_written(written):
        partitions = cluster.partitions_to_write(topic)
        if partition is not None and partition not in partitions:
            fail(f"topic {topic} has no partition {partition}")
        turn = itertools.cycle(partitions)
        for group in source.groups(at_once=not given and sys.stdin.isatty()):
            by_partition: dict[int, list[NewRecord]] = defaultdict(list)
            fallback = next(turn)
            for line in group:
                number = partition if partition is not None else _partition_of(line.key, partitions, fallback)
                by_partition[number].append((time.time_ns() // 1_000_000, line.key, line.value, headers))
            for number, records in by_partition.items():
                _send(cluster, topic, number, records, int(connection.timeout_s * 1000))
                written[number] += len(records)
        if source.bad:
            fail(f"{source.bad}; {written.total()} records were written before it (--skip-bad-lines leaves such lines out)")
    if source.skipped:
        note(f"left out {source.skipped} bad lines")
    facts = {str(number): count for number, count in sorted(written.items())}
    done(
        f"wrote {written.total()} records to {topic}",
        connection.format,
        topic=topic,
        records=written.total(),
        partitions=facts,
        skipped=source.skipped,
    )


class _Source:
    """Lines as records. A bad line ends them (`bad` says why), or with `skip` is only counted."""

    def __init__(self, lines: Iterable[bytes], key: str | None, separator: str | None, *, skip: bool) -> None:
        self.bad = ""
        self.skipped = 0
        self._lines = lines
        self._key = None if key is None else os.fsencode(key)
        self._separator = None if separator is None else os.fsencode(separator)
        self._skip = skip

    def groups(self, *, at_once: bool) -> Iterator[list[Line]]:
        """Records in groups for one request; a person who types sees each line written."""
        group: list[Line] = []
        size_bytes = 0
        for line in self._records():
            if group and (len(group) == RECORDS_PER_REQUEST or size_bytes + len(line.value) > BYTES_PER_REQUEST):
                yield group
                group, size_bytes = [], 0
            group.append(line)
            size_bytes += len(line.value)
            if at_once:
                yield group
                group, size_bytes = [], 0
        if group:
            yield group

    def _records(self) -> Iterator[Line]:
        for number, line in enumerate(self._lines, 1):
            try:
                yield self._split(line.removesuffix(b"\n"))
            except BadLine as bad:
                if not self._skip:
                    self.bad = f"line {number} {bad}"
                    return
                self.skipped += 1

    def _split(self, line: bytes) -> Line:
        if self._separator is None:
            return Line(self._key, line)
        key, found, value = line.partition(self._separator)
        if not found:
            raise BadLine(f"has no {os.fsdecode(self._separator)!r}: {shortened(line.decode(errors='backslashreplace'), 60)!r}")
        return Line(key, value)


@contextmanager
def _telling_what_was_written(written: Counter[int]) -> Iterator[None]:
    """A failure in the middle says how far it came."""
    try:
        yield
    except (KafkaError, ConnectFailure, KeyboardInterrupt):
        if written:
            note(f"{written.total()} records were written before this:")
        raise


def _header(text: str) -> tuple[str, bytes | None]:
    at = min((at for separator in "=:" if (at := text.find(separator)) > 0), default=0)
    if not at:
        fail(f"--header {shortened(text, 100)!r} is neither KEY=VALUE nor KEY:VALUE", USAGE)
    return text[:at], os.fsencode(text[at + 1 :])


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
