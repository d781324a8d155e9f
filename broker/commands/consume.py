"""`oncelog consume`: records of a topic on standard output, one a line, without joining a group."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import App, Parameter
from oncelog.broker.commands.client.cluster import Cluster, check
from oncelog.broker.commands.client.numbers import Amount, Int32, whole_number
from oncelog.broker.commands.client.options import DEFAULT, Connection
from oncelog.broker.commands.client.output import USAGE, Format, fail
from oncelog.broker.commands.client.wire import WireClient
from oncelog.broker.commands.topic import EARLIEST, LATEST, offsets
from oncelog.broker.ending import shortened
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.names import IsolationLevel

if TYPE_CHECKING:
    from oncelog.protocol import messages
    from oncelog.protocol.records import Record

app = App(name="consume", help="Read records, one a line on standard output.")
# v13 names topics by id
FETCH_VERSION_MAX = 12
FETCH_MAX_BYTES = 32 << 20
PARTITION_MAX_BYTES = 1 << 20
WAIT_MS = 500


@dataclass(slots=True)
class Position:
    """How far a partition is read, and (None: for ever) where to stop. `aborted`: producers whose open transaction was aborted."""

    offset: int
    end: int | None
    aborted: set[int] = field(default_factory=set)

    @property
    def finished(self) -> bool:
        return self.end is not None and self.offset >= self.end


@app.default
def consume(
    topic: str,
    *,
    partition: Annotated[tuple[Int32, ...], Parameter(negative=(), consume_multiple=False)] = (),
    from_: Annotated[str, Parameter(name="--from")] = "earliest",
    follow: Annotated[bool, Parameter(negative=(), name=["--follow", "-f"])] = False,
    max_records: Annotated[Amount | None, Parameter(name=["--max-records", "-n"])] = None,
    isolation: Literal["read_committed", "read_uncommitted"] = "read_committed",
    connection: Connection = DEFAULT,
) -> None:
    """Read records, one a line on standard output: the value, or with --format json all of it.

    Parameters
    ----------
    partition
        Only this partition; may be given several times.
    from_
        earliest, latest or an offset.
    follow
        Wait for more at the end instead of stopping.
    max_records
        Stop after that many.
    isolation
        read_committed hides records of open and aborted transactions.
    """
    if from_ not in ("earliest", "latest") and whole_number(from_) is None:
        fail(f"--from {shortened(from_, 100)!r} is neither earliest, latest nor an offset", USAGE)
    level = IsolationLevel[isolation.upper()]
    with connection.open() as cluster:
        positions = _positions(cluster, topic, partition, from_, follow)
        _print(_records(cluster, topic, positions, level), connection.format, max_records)


def _positions(cluster: Cluster, topic: str, chosen: tuple[int, ...], start: str, follow: bool) -> dict[int, Position]:
    known = sorted(number for _, number in cluster.leaders([topic]))
    for number in chosen:
        if number not in known:
            fail(f"topic {topic} has no partition {number}")
    partitions = [(topic, number) for number in chosen or known]
    last = offsets(cluster, partitions, LATEST)
    first = last if start == "latest" else offsets(cluster, partitions, EARLIEST)
    wanted = whole_number(start)
    begin = {p: first[p] if wanted is None else min(max(wanted, first[p]), last[p]) for p in partitions}
    return {number: Position(begin[topic, number], None if follow else last[topic, number]) for topic, number in partitions}


def _records(cluster: Cluster, topic: str, positions: dict[int, Position], level: IsolationLevel) -> Iterator[tuple[int, Record]]:
    """(partition, Record) until every partition is finished. A read_committed reader stops at an open transaction."""
    leaders = cluster.leaders([topic])
    while any(not position.finished for position in positions.values()):
        by_node: dict[int, list[int]] = defaultdict(list)
        for number, position in positions.items():
            if not position.finished:
                by_node[leaders[topic, number]].append(number)
        moved = False
        for node_id, numbers in by_node.items():
            before = [positions[number].offset for number in numbers]
            yield from _fetch(cluster.node(node_id), topic, numbers, positions, level)
            moved = moved or before != [positions[number].offset for number in numbers]
        if not moved and all(position.end is not None for position in positions.values()):
            return  # what is left belongs to open transactions


def _fetch(
    client: WireClient, topic: str, numbers: list[int], positions: dict[int, Position], level: IsolationLevel
) -> Iterator[tuple[int, Record]]:
    from oncelog.protocol import messages

    fetch_topic = messages.FetchRequest.FetchTopic
    partitions = [
        fetch_topic.FetchPartition(
            partition=number,
            current_leader_epoch=-1,
            fetch_offset=positions[number].offset,
            last_fetched_epoch=-1,
            log_start_offset=-1,
            partition_max_bytes=PARTITION_MAX_BYTES,
        )
        for number in numbers
    ]
    request = messages.FetchRequest(
        replica_id=-1,
        max_wait_ms=WAIT_MS,
        min_bytes=1,
        max_bytes=FETCH_MAX_BYTES,
        isolation_level=level,
        session_id=0,
        session_epoch=-1,
        topics=[fetch_topic(topic=topic, partitions=partitions)],
        forgotten_topics_data=[],
        rack_id="",
    )
    answer = client.send(ApiKey.FETCH, request, max_version=FETCH_VERSION_MAX)
    check(answer.error_code)
    for response in answer.responses:
        for partition in response.partitions:
            check(partition.error_code, about=f"{topic}-{partition.partition_index}")
            position = positions[partition.partition_index]
            for record in _visible(partition, position):
                yield partition.partition_index, record


def _visible(partition: messages.FetchResponse.FetchableTopicResponse.PartitionData, position: Position) -> Iterator[Record]:
    """The records of one partition's answer that the reader should see; moves `position` past all of them."""
    from oncelog.protocol.control_records import parse_end_transaction_marker
    from oncelog.protocol.records import iter_headers, iter_records

    data = memoryview(partition.records or b"")
    aborts = sorted((entry.first_offset, entry.producer_id) for entry in partition.aborted_transactions or ())
    for at, header in iter_headers(data):
        batch = data[at : at + header.size_bytes]
        while aborts and aborts[0][0] <= header.last_offset:
            position.aborted.add(aborts.pop(0)[1])
        if header.is_control:
            marker = parse_end_transaction_marker(batch)
            if marker is not None and not marker.commit:
                position.aborted.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in position.aborted):
            for record in iter_records(batch):
                if record.offset >= position.offset and (position.end is None or record.offset < position.end):
                    yield record
        position.offset = max(position.offset, header.next_offset)


def _print(records: Iterator[tuple[int, Record]], how: Format, limit: int | None) -> None:
    for count, (partition, record) in enumerate(records, 1):
        if how is Format.JSON:
            sys.stdout.write(json.dumps(_as_json(partition, record), ensure_ascii=False) + "\n")
        else:
            sys.stdout.write(_text(record.value) + "\n")
        sys.stdout.flush()
        if count == limit:
            return


def _as_json(partition: int, record: Record) -> dict[str, Any]:
    return {
        "partition": partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": None if record.key is None else _text(record.key),
        "value": None if record.value is None else _text(record.value),
        "headers": {name: None if value is None else _text(value) for name, value in record.headers},
    }


def _text(value: bytes | None) -> str:
    """Bytes that are no UTF-8 are shown with escapes; a tombstone is empty."""
    return "" if value is None else value.decode(errors="backslashreplace")
