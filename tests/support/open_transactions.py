"""Transactions that one broker leaves open and another goes on with.

`leave_open` makes, in either dialect of clients, an id whose transaction is to go on (records on two partitions, pending offsets of a
group) and one whose transaction is to be fenced. What the next broker has to know is read from the files of the first, by a walk that
asks no broker. The `check_*` run in this order; each leaves less open.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Consumer, KafkaError
from confluent_kafka import TopicPartition as Assigned
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.control_records import parse_end_transaction_marker
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import CONSUMER_OFFSETS, TopicPartition
from oncelog.protocol.records import iter_records, patch_offset
from oncelog.storage.audit.raw_directory import BatchAt, map_file, open_data_directory, scan_log

from support.golden_storage import facts
from support.process import wait_until
from support.txn_client import TV0, TV2, Client, Dialect, Pair, one_record

BEFORE, AFTER = b"before the move", b"after the move"


@dataclass(frozen=True, slots=True)
class Open:
    """An open transaction. `pending`: what it holds for `group`; `committed`: what the group has there without it, -1 for nothing.

    `fenced`: its producer does not come back, the next instance does.
    """

    transactional_id: str
    dialect: Dialect
    pair: Pair
    fenced: bool = False
    group: str | None = None
    pending: tuple[tuple[TopicPartition, int], ...] = ()
    committed: tuple[tuple[TopicPartition, int], ...] = ()


# -- making


def leave_open(bootstrap: str) -> list[Open]:
    """Committed, aborted and open records of both dialects, and pending offsets."""
    with Client(bootstrap) as client:
        for key_type in (0, 1):
            client.until_ready(ApiKey.FIND_COORDINATOR, 3, lambda got: int(got.error_code), key="any", key_type=key_type)
        return [made for dialect in (TV0, TV2) for made in _leave_open(client, dialect)]


def _leave_open(client: Client, dialect: Dialect) -> Iterator[Open]:
    topic, id, group = f"moved-{dialect.name}", f"{dialect.name}-goes-on", f"group-{dialect.name}"
    first, second = TopicPartition(topic, 0), TopicPartition(topic, 1)
    client.create(topic, 2)
    pair, sequence = client.init(id), 0
    for commit in (True, False):
        value = b"committed" if commit else b"aborted"
        assert client.produce(dialect, id, pair, sequence, first, value) is ErrorCode.NONE
        if commit:
            assert client.send_offsets(dialect, id, pair, group, [(first, 3)]) is ErrorCode.NONE
        error, pair = client.end(dialect, id, pair, commit)
        assert error is ErrorCode.NONE
        sequence = 0 if dialect.bumps_epoch else sequence + 1
    for place, begin in ((first, sequence), (second, 0)):
        for number in range(2):
            assert client.produce(dialect, id, pair, begin + number, place, BEFORE) is ErrorCode.NONE
    pending = ((first, 7), (second, 9))
    assert client.send_offsets(dialect, id, pair, group, pending) is ErrorCode.NONE
    yield Open(id, dialect, pair, False, group, pending, ((first, 3), (second, -1)))
    fenced = f"{dialect.name}-fenced"
    pair = client.init(fenced)
    assert client.produce(dialect, fenced, pair, 0, second, b"fenced") is ErrorCode.NONE
    assert client.produce(dialect, None, (-1, -1), -1, second, b"behind them") is ErrorCode.NONE
    yield Open(fenced, dialect, pair, fenced=True)


def recorded() -> list[Open]:
    """The three that are open in the directory of a killed Kafka (golden_storage); the producer of one is not to come back."""
    known = facts("killed")
    ((group, offsets),) = known["pendingOffsets"].items()
    ((name, pending),) = offsets.items()
    topic, _, partition = name.rpartition("-")
    place = TopicPartition(topic, int(partition))
    found = []
    for id, state in known["transactions"].items():
        if state["status"] != "Ongoing":
            continue
        pair = state["pid"], state["epoch"]
        if pair[0] == pending["pid"]:
            found.append(Open(id, TV0, pair, False, group, ((place, pending["offset"]),), ((place, -1),)))
        else:
            found.append(Open(id, TV0, pair, fenced=id == "tx-1"))
    assert len(found) == 3
    return found


# -- what the files say, asking no broker


def batches_of(directory: Path, place: TopicPartition) -> Iterator[BatchAt]:
    folder = open_data_directory(directory).partitions[f"{place.topic}-{place.partition}"]
    for base in folder.bases:
        yield from (item for item in scan_log(map_file(folder.file(base, "log"))) if isinstance(item, BatchAt))


def user_partitions(directory: Path) -> list[TopicPartition]:
    folders = open_data_directory(directory).partitions.values()
    return [TopicPartition(folder.topic, folder.partition) for folder in folders if not folder.topic.startswith("__")]


def open_batches(directory: Path, place: TopicPartition) -> dict[int, list[BatchAt]]:
    """By producer id: the batches of its transaction that has no marker yet."""
    opened: dict[int, list[BatchAt]] = {}
    for batch in batches_of(directory, place):
        if batch.header.is_control:
            opened.pop(batch.header.producer_id, None)
        elif batch.header.is_transactional:
            opened.setdefault(batch.header.producer_id, []).append(batch)
    return opened


def committed_records(directory: Path, place: TopicPartition) -> list[tuple[int, bytes | None]]:
    """(offset, value) of what a reader of committed data may see: up to the first open transaction, without the aborted ones."""
    stable = min((batches[0].header.base_offset for batches in open_batches(directory, place).values()), default=None)
    seen: dict[int, BatchAt] = {}
    of_producer: dict[int, list[int]] = {}
    for batch in batches_of(directory, place):
        header = batch.header
        if stable is not None and header.base_offset >= stable:
            break
        if not header.is_control:
            seen[header.base_offset] = batch
            if header.is_transactional:
                of_producer.setdefault(header.producer_id, []).append(header.base_offset)
            continue
        held = of_producer.pop(header.producer_id, [])
        marker = parse_end_transaction_marker(batch.view)
        for offset in held if marker is not None and not marker.commit else []:
            del seen[offset]
    return [(record.offset, record.value) for batch in seen.values() for record in iter_records(batch.view)]


def last_batches(directory: Path, transaction: Open) -> dict[TopicPartition, BatchAt]:
    """The newest batch of the open transaction on each of its partitions."""
    found = ((place, open_batches(directory, place).get(transaction.pair[0])) for place in user_partitions(directory))
    return {place: batches[-1] for place, batches in found if batches}


# -- asking a broker, by a stock consumer and raw requests


def read_committed(bootstrap: str, place: TopicPartition) -> list[tuple[int | None, bytes | None]]:
    """(offset, value) as a stock consumer is served."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "reader",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
            "check.crcs": True,
        }
    )
    consumer.assign([Assigned(place.topic, place.partition, -2)])
    served = []
    try:
        while True:
            (message,) = wait_until(lambda: consumer.consume(1, 0.2), 30.0, f"the end of {place}")
            if message.error() is not None:
                assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
                return served
            served.append((message.offset(), message.value()))
    finally:
        consumer.close()


@dataclass(frozen=True, slots=True)
class Moved:
    """`directory` as the first broker left it, open at `bootstrap` now."""

    bootstrap: str
    directory: Path
    transactions: list[Open]

    def places(self) -> list[TopicPartition]:
        """Partitions with something open."""
        return [place for place in user_partitions(self.directory) if open_batches(self.directory, place)]

    @property
    def fenced(self) -> list[Open]:
        """The ids whose next instance comes without having ended."""
        return [one for one in self.transactions if one.fenced]


def check_open_and_aborted_are_hidden(moved: Moved) -> None:
    assert moved.places()
    with Client(moved.bootstrap) as client:
        for place in moved.places():
            first = min(batches[0].header.base_offset for batches in open_batches(moved.directory, place).values())
            assert client.end_offset(place, committed=True) == first < client.end_offset(place, committed=False), place
            assert read_committed(moved.bootstrap, place) == committed_records(moved.directory, place), place


def check_coordinator_knows_them(moved: Moved) -> None:
    with Client(moved.bootstrap) as client:
        for transaction in moved.transactions:
            told = client.describe(transaction.transactional_id)
            assert (told.error_code, told.transaction_state) == (0, "Ongoing"), transaction
            assert (told.producer_id, told.producer_epoch) == transaction.pair
            listed = {TopicPartition(topic.topic, partition) for topic in told.topics for partition in topic.partitions}
            assert {place for place in listed if place.topic != CONSUMER_OFFSETS} == last_batches(moved.directory, transaction).keys()
            assert any(place.topic == CONSUMER_OFFSETS for place in listed) == (transaction.group is not None)


def check_pending_offsets_are_unstable(moved: Moved) -> None:
    with Client(moved.bootstrap) as client:
        for transaction in moved.transactions:
            for place, before in transaction.committed:
                assert transaction.group is not None
                unstable = client.group_offset(transaction.group, place, stable=True)[0]
                assert unstable is ErrorCode.UNSTABLE_OFFSET_COMMIT, (transaction, place)
                assert client.group_offset(transaction.group, place, stable=False) == (ErrorCode.NONE, before), (transaction, place)


def check_resent_batch_is_recognised(moved: Moved) -> None:
    """The producer does not know whether its newest batch arrived before the move."""
    with Client(moved.bootstrap) as client:
        for transaction in moved.transactions:
            for place, batch in last_batches(moved.directory, transaction).items():
                before = client.end_offset(place, committed=False)
                again = bytearray(batch.view)
                patch_offset(again, 0, -1)
                answer = client.send(transaction.dialect, transaction.transactional_id, place, bytes(again))
                assert answer == (ErrorCode.NONE, batch.header.base_offset), (transaction, place)
                assert client.end_offset(place, committed=False) == before


def check_next_instance_fences(moved: Moved) -> None:
    """It aborts what was open and gets a higher epoch; the old one may write and end nothing more."""
    assert moved.fenced
    with Client(moved.bootstrap) as client:
        for transaction in moved.fenced:
            id, dialect, old = transaction.transactional_id, transaction.dialect, transaction.pair
            new = client.init(id)
            assert new[0] == old[0]
            assert new[1] > old[1]
            for place, batch in last_batches(moved.directory, transaction).items():
                late = _next(batch, b"too late")
                assert client.send(dialect, id, place, late)[0] is ErrorCode.INVALID_PRODUCER_EPOCH, (transaction, place)
                assert client.end(dialect, id, old, commit=True)[0] is ErrorCode.PRODUCER_FENCED, transaction
                if not dialect.bumps_epoch:
                    assert client.add(id, new, place) is ErrorCode.NONE
                assert client.send(dialect, id, place, _next(batch, AFTER, new))[0] is ErrorCode.NONE
            assert client.end(dialect, id, new, commit=True)[0] is ErrorCode.NONE


def check_the_others_go_on_and_commit(moved: Moved) -> None:
    """Same pair, next sequence: what came before the move and after it becomes visible together, and so do the offsets."""
    with Client(moved.bootstrap) as client:
        for transaction in moved.transactions:
            if not transaction.fenced:
                _go_on(client, moved, transaction)
        for place in moved.places():
            assert client.end_offset(place, committed=True) == client.end_offset(place, committed=False), place
    for place in moved.places():
        served = read_committed(moved.bootstrap, place)
        for transaction in moved.transactions:
            batches = open_batches(moved.directory, place).get(transaction.pair[0], [])
            mine = [(record.offset, record.value) for batch in batches for record in iter_records(batch.view)]
            assert [record for record in mine if record in served] == ([] if transaction.fenced else mine), (transaction, place)
        expected = sum(place in last_batches(moved.directory, transaction) for transaction in moved.transactions)
        assert [value for _, value in served].count(AFTER) == expected, place


def _next(batch: BatchAt, value: bytes, pair: Pair | None = None) -> bytes:
    """What the producer sends after `batch`: soon, by the clock of then; under another pair as its first."""
    header = batch.header
    sequence = header.last_sequence + 1 if pair is None else 0
    return one_record(pair or (header.producer_id, header.producer_epoch), sequence, value, timestamp_ms=header.max_timestamp + 1)


def _go_on(client: Client, moved: Moved, transaction: Open) -> None:
    id, dialect, pair = transaction.transactional_id, transaction.dialect, transaction.pair
    for place, batch in last_batches(moved.directory, transaction).items():
        assert client.send(dialect, id, place, _next(batch, AFTER))[0] is ErrorCode.NONE, (transaction, place)
    error, after = client.end(dialect, id, pair, commit=True)
    assert error is ErrorCode.NONE
    assert after == ((pair[0], pair[1] + 1) if dialect.bumps_epoch else pair)
    for place, offset in transaction.pending:
        assert transaction.group is not None
        settled = wait_until(lambda place=place: _settled(client, transaction.group, place), what="the pending offset")  # type: ignore[misc]
        assert settled == (ErrorCode.NONE, offset), (transaction, place)


def _settled(client: Client, group: str, place: TopicPartition) -> tuple[ErrorCode, int] | None:
    """Kafka answers EndTxn before the markers are written."""
    answer = client.group_offset(group, place, stable=True)
    return None if answer[0] is ErrorCode.UNSTABLE_OFFSET_COMMIT else answer
