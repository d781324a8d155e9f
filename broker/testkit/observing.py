"""Records of a broker's logs, as consumers see them, and what became of each; all else is in `state.py`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol, TypeAlias

from oncelog.broker.lifecycle import Broker
from oncelog.protocol.control_records import parse_end_transaction_marker
from oncelog.protocol.names import IsolationLevel, TopicPartition
from oncelog.protocol.records import BatchHeader, RecordHeader, iter_headers, iter_records
from oncelog.storage.log.log import Log
from oncelog.storage.log.stored_records import StoredRecords

_READ_BYTES = 1 << 20
_LEVELS = {"read_committed": IsolationLevel.READ_COMMITTED, "read_uncommitted": IsolationLevel.READ_UNCOMMITTED}


class Aborted(Protocol):
    """A transaction that a fetch names as aborted."""

    @property
    def producer_id(self) -> int: ...

    @property
    def first_offset(self) -> int: ...


Chunk: TypeAlias = tuple[memoryview, Sequence[Aborted]]  # whole batches as a fetch gets them, and the aborted transactions it is told of


class Record(NamedTuple):
    """One record as a consumer sees it, and who wrote it (-1: a producer without idempotence)."""

    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    headers: list[RecordHeader]
    producer_id: int
    producer_epoch: int


def records_of(broker: Broker, topic: str, isolation: str) -> list[Record]:
    """Raises LookupError for a topic that is not there, ValueError for another isolation level, KafkaError when the log is offline."""
    level = level_named(isolation)
    return [record for partition, log in _logs(broker, topic) for record in records_in(_chunks(log, level), partition)]


def level_named(isolation: str) -> IsolationLevel:
    """Raises ValueError."""
    level = _LEVELS.get(isolation)
    if level is None:
        raise ValueError(f'isolation="{isolation}": {" or ".join(_LEVELS)}')
    return level


def _logs(broker: Broker, topic: str) -> Iterator[tuple[int, Log]]:
    found = broker.logs.topics.get(topic)
    if found is None:
        raise LookupError(f"no topic {topic}; there are {', '.join(sorted(each.name for each in broker.logs.topics.all())) or 'none'}")
    for partition in range(found.partitions):
        log = broker.logs.log(TopicPartition(topic, partition))
        assert log is not None
        yield partition, log


def records_in(chunks: Iterable[Chunk], partition: int) -> list[Record]:
    """What a consumer makes of it."""
    got: list[Record] = []
    for chunk, told in chunks:
        aborted = sorted(told, key=lambda each: each.first_offset)
        aborting: set[int] = set()  # producers whose transaction here is going to be aborted
        for position, header in iter_headers(chunk):
            while aborted and aborted[0].first_offset <= header.base_offset:
                aborting.add(aborted.pop(0).producer_id)
            if header.is_control:
                aborting.discard(header.producer_id)
            elif not (header.is_transactional and header.producer_id in aborting):
                got += _of_batch(chunk[position : position + header.size_bytes], header, partition)
    return got


def _chunks(log: Log, level: IsolationLevel) -> Iterator[Chunk]:
    offset, end = log.log_start_offset, log.readable_end(level)
    while offset < end:
        data = log.read(offset, _READ_BYTES, isolation=level, min_one_message=True)
        stored = data.records
        chunk = memoryview(stored.read(0, len(stored)) if isinstance(stored, StoredRecords) else stored)
        if not chunk:
            break
        yield chunk, data.aborted or ()
        *_, (_, last) = iter_headers(chunk)
        offset = last.next_offset


def _of_batch(batch: memoryview, header: BatchHeader, partition: int) -> Iterator[Record]:
    for each in iter_records(batch):
        yield Record(partition, each.offset, each.timestamp, each.key, each.value, each.headers, header.producer_id, header.producer_epoch)


def outcomes_of(broker: Broker, topic: str) -> list[tuple[Record, str]]:
    """Every record of the log and what became of it, by the markers alone: "committed", "aborted", "open"; "plain" outside transactions.

    Raises LookupError for a topic that is not there, KafkaError when the log is offline.
    """
    level = IsolationLevel.READ_UNCOMMITTED
    return [told for partition, log in _logs(broker, topic) for told in outcomes_in(_chunks(log, level), partition)]


def outcomes_in(chunks: Iterable[Chunk], partition: int) -> list[tuple[Record, str]]:
    """Of what an uncommitted reader gets."""
    found: list[tuple[Record, str]] = []
    unended: dict[int, list[int]] = {}  # by producer id: where in `found` its records without a marker are
    for chunk, _told in chunks:
        for position, header in iter_headers(chunk):
            batch = chunk[position : position + header.size_bytes]
            if header.is_control:
                marker = parse_end_transaction_marker(batch)
                if marker is not None:
                    for at in unended.pop(header.producer_id, ()):
                        found[at] = (found[at][0], "committed" if marker.commit else "aborted")
                continue
            for record in _of_batch(batch, header, partition):
                if header.is_transactional:
                    unended.setdefault(header.producer_id, []).append(len(found))
                found.append((record, "open" if header.is_transactional else "plain"))
    return found
