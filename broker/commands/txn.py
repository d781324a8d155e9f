"""`oncelog txn`: list, describe, producers, hanging, abort. Columns are those of Kafka's `kafka-transactions.sh`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter
from oncelog.broker.commands.client.cluster import TRANSACTION, Cluster, check
from oncelog.broker.commands.client.numbers import Int16, Int32, Int64, SignedInt64
from oncelog.broker.commands.client.options import DEFAULT, Connection
from oncelog.broker.commands.client.output import USAGE, done, fail, show
from oncelog.broker.commands.client.transactions import describe_producers, listed, write_abort
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from oncelog.protocol import messages

    ProducerState = messages.DescribeProducersResponse.TopicResponse.PartitionResponse.ProducerState
    ListedTransaction = messages.ListTransactionsResponse.TransactionState

app = App(name="txn", help="Transactions: list, describe, find hanging ones, abort them.")

LIST_COLUMNS = ["TransactionalId", "Coordinator", "ProducerId", "TransactionState"]
DESCRIBE_COLUMNS = [
    "CoordinatorId",
    "TransactionalId",
    "ProducerId",
    "ProducerEpoch",
    "TransactionState",
    "TransactionTimeoutMs",
    "CurrentTransactionStartTimeMs",
    "TransactionDurationMs",
    "TopicPartitions",
]
PRODUCER_COLUMNS = [
    "ProducerId",
    "ProducerEpoch",
    "LatestCoordinatorEpoch",
    "LastSequence",
    "LastTimestamp",
    "CurrentTransactionStartOffset",
]
HANGING_COLUMNS = [
    "Topic",
    "Partition",
    "ProducerId",
    "ProducerEpoch",
    "CoordinatorEpoch",
    "StartOffset",
    "LastTimestamp",
    "Duration(min)",
]
_PARTITIONS_A_REQUEST = 500
_MS_A_MINUTE = 60_000


@app.command(name="list")
def list_transactions(
    *,
    state: tuple[str, ...] = (),
    producer_id: tuple[Int64, ...] = (),
    duration_ms: SignedInt64 = -1,
    pattern: str | None = None,
    connection: Connection = DEFAULT,
) -> None:
    """List transactional ids of all coordinators.

    Parameters
    ----------
    state
        Only in this state (Empty, Ongoing, PrepareCommit, …); may be given several times.
    producer_id
        Only with this producer id; may be given several times.
    duration_ms
        Only those that run for longer.
    pattern
        Only ids that this regular expression (RE2) matches as a whole.
    """
    from oncelog.protocol import messages

    request = messages.ListTransactionsRequest(
        state_filters=list(state),
        producer_id_filters=list(producer_id),
        duration_filter=duration_ms,
        transactional_id_pattern=pattern,
    )
    with connection.open() as cluster:
        rows = [
            {
                "TransactionalId": each.transactional_id,
                "Coordinator": node.node_id,
                "ProducerId": each.producer_id,
                "TransactionState": each.transaction_state,
            }
            for node in cluster.nodes()
            for each in listed(cluster, node.node_id, request)
        ]
    show(rows, LIST_COLUMNS, connection.format, nothing="no transactional ids")


@app.command
def describe(*transactional_ids: str, connection: Connection = DEFAULT) -> None:
    """Show state, timeout, age and partitions of transactional ids."""
    if not transactional_ids:
        fail("name at least one transactional id", USAGE)
    with connection.open() as cluster:
        rows = [_description(cluster, id) for id in transactional_ids]
    show(rows, DESCRIBE_COLUMNS, connection.format)


@app.command
def producers(topic: str, partition: Int32, *, connection: Connection = DEFAULT) -> None:
    """Show every producer that a partition knows."""
    with connection.open() as cluster:
        rows = [_producer_row(producer) for producer in _producers_of(cluster, topic, partition)]
    show(rows, PRODUCER_COLUMNS, connection.format, nothing="no producers")


@app.command
def hanging(*, topic: tuple[str, ...] = (), max_transaction_timeout_min: Int32 = 15, connection: Connection = DEFAULT) -> None:
    """Find open transactions that no coordinator is going to end.

    Parameters
    ----------
    topic
        Only in this topic; all topics, Kafka's own too, if none is given.
    max_transaction_timeout_min
        A transaction whose producer wrote within this time is still alive; at least transaction.max.timeout.ms of the brokers.
    """
    with connection.open() as cluster:
        now_ms = time.time_ns() // 1_000_000
        oldest_ms = now_ms - max_transaction_timeout_min * _MS_A_MINUTE
        suspects = [row for row in _open_transactions(cluster, list(topic) or None, now_ms) if row["LastTimestamp"] < oldest_ms]
        rows = _without_owner(cluster, suspects)
    show(rows, HANGING_COLUMNS, connection.format, nothing="no hanging transactions")


@app.command
def abort(
    topic: str,
    partition: Int32,
    *,
    start_offset: Int64 | None = None,
    producer_id: Int64 | None = None,
    producer_epoch: Int16 | None = None,
    coordinator_epoch: Int32 = 0,
    yes: Annotated[bool, Parameter(negative=())] = False,
    connection: Connection = DEFAULT,
) -> None:
    """Write an ABORT marker for a hanging transaction into a partition.

    Parameters
    ----------
    start_offset
        Where the transaction begins, as `oncelog txn hanging` shows it.
    producer_id
        Instead of the start offset: the producer, together with --producer-epoch.
    producer_epoch
        The producer's epoch.
    coordinator_epoch
        With --producer-id: the epoch of the coordinator that last ended a transaction of it.
    yes
        Do not ask.
    """
    if (start_offset is None) == (producer_id is None) or (producer_id is None) != (producer_epoch is None):
        fail("give --start-offset, or --producer-id and --producer-epoch", USAGE)
    with connection.open() as cluster:
        if start_offset is not None:
            producer_id, producer_epoch, coordinator_epoch = _starting_at(cluster, topic, partition, start_offset)
        assert producer_id is not None
        assert producer_epoch is not None
        question = f"Abort the transaction of producer {producer_id} epoch {producer_epoch} on {topic}-{partition}? [y/N] "
        if not yes and input(question).strip().lower() not in ("y", "yes"):
            fail("nothing done")
        cluster.until_ready(lambda: write_abort(cluster, topic, partition, producer_id, producer_epoch, max(coordinator_epoch, 0)))
    done(
        f"aborted the transaction of producer {producer_id} on {topic}-{partition}",
        connection.format,
        topic=topic,
        partition=partition,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
    )


def _description(cluster: Cluster, transactional_id: str) -> dict[str, Any]:
    from oncelog.protocol import messages

    def ask() -> tuple[int, messages.DescribeTransactionsResponse.TransactionState]:
        coordinator = cluster.coordinator_id(TRANSACTION, transactional_id)
        request = messages.DescribeTransactionsRequest(transactional_ids=[transactional_id])
        found = cluster.node(coordinator).send(ApiKey.DESCRIBE_TRANSACTIONS, request).transaction_states[0]
        check(found.error_code, about=f"transactional id {transactional_id}")
        return coordinator, found

    coordinator, found = cluster.until_ready(ask)
    start_ms = found.transaction_start_time_ms
    is_open = found.transaction_state not in ("Empty", "CompleteCommit", "CompleteAbort") and start_ms >= 0
    return {
        "CoordinatorId": coordinator,
        "TransactionalId": transactional_id,
        "ProducerId": found.producer_id,
        "ProducerEpoch": found.producer_epoch,
        "TransactionState": found.transaction_state,
        "TransactionTimeoutMs": found.transaction_timeout_ms,
        "CurrentTransactionStartTimeMs": start_ms if is_open else None,
        "TransactionDurationMs": time.time_ns() // 1_000_000 - start_ms if is_open else None,
        "TopicPartitions": [f"{topic.topic}-{partition}" for topic in found.topics for partition in topic.partitions],
    }


def _producers_of(cluster: Cluster, topic: str, partition: int) -> list[ProducerState]:
    leader_id = cluster.leaders([topic]).get((topic, partition))
    if leader_id is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {topic} has no partition {partition}")
    return [producer for _, _, producer in describe_producers(cluster, leader_id, [(topic, partition)])]


def _producer_row(producer: ProducerState) -> dict[str, Any]:
    return {
        "ProducerId": producer.producer_id,
        "ProducerEpoch": producer.producer_epoch,
        "LatestCoordinatorEpoch": producer.coordinator_epoch,
        "LastSequence": producer.last_sequence,
        "LastTimestamp": producer.last_timestamp,
        "CurrentTransactionStartOffset": producer.current_txn_start_offset if producer.current_txn_start_offset >= 0 else None,
    }


def _open_transactions(cluster: Cluster, topics: list[str] | None, now_ms: int) -> Iterator[dict[str, Any]]:
    by_leader: dict[int, list[tuple[str, int]]] = {}
    for topic_partition, leader_id in cluster.leaders(topics).items():
        by_leader.setdefault(leader_id, []).append(topic_partition)
    for leader_id, partitions in by_leader.items():
        for first in range(0, len(partitions), _PARTITIONS_A_REQUEST):
            lot = partitions[first : first + _PARTITIONS_A_REQUEST]
            for topic, partition, producer in describe_producers(cluster, leader_id, lot):
                if producer.current_txn_start_offset >= 0:
                    yield {
                        "Topic": topic,
                        "Partition": partition,
                        "ProducerId": producer.producer_id,
                        "ProducerEpoch": producer.producer_epoch,
                        "CoordinatorEpoch": producer.coordinator_epoch,
                        "StartOffset": producer.current_txn_start_offset,
                        "LastTimestamp": producer.last_timestamp,
                        "Duration(min)": (now_ms - producer.last_timestamp) // _MS_A_MINUTE,
                    }


def _without_owner(cluster: Cluster, suspects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those whose producer id belongs to no transactional id, or to one whose transaction does not name the partition."""
    from oncelog.protocol import messages

    if not suspects:
        return []
    request = messages.ListTransactionsRequest(producer_id_filters=sorted({row["ProducerId"] for row in suspects}))
    owners = {each.producer_id: each.transactional_id for node in cluster.nodes() for each in listed(cluster, node.node_id, request)}
    partitions: dict[str, list[str]] = {}
    for id in set(owners.values()):
        try:
            partitions[id] = _description(cluster, id)["TopicPartitions"]
        except KafkaError as error:
            if error.code is not ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
                raise
    return [row for row in suspects if f"{row['Topic']}-{row['Partition']}" not in partitions.get(owners.get(row["ProducerId"], ""), ())]


def _starting_at(cluster: Cluster, topic: str, partition: int, start_offset: int) -> tuple[int, int, int]:
    found = [each for each in _producers_of(cluster, topic, partition) if each.current_txn_start_offset == start_offset]
    if not found:
        fail(f"{topic}-{partition} has no open transaction that starts at offset {start_offset}")
    return found[0].producer_id, found[0].producer_epoch, found[0].coordinator_epoch
