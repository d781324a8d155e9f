"""What the protocol tells of transactions, partitions and groups: questions to any Kafka, one after the other, on one thread.

A coordinator is asked for what it listed itself, so a question about a thousand ids is a few requests. What a cluster does not let
this client see raises KafkaError, as anything else it refuses.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from oncelog.broker.commands.client.cluster import TRANSACTION, Cluster, check
from oncelog.broker.commands.client.transactions import describe_producers, listed, write_abort
from oncelog.broker.commands.topic import EARLIEST, LATEST
from oncelog.broker.console.model import OpenTransaction, Partition, Producer, Refused, Transaction
from oncelog.coordinator.txn.state import TWO_PHASE_COMMIT_TIMEOUT_MS
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.names import TopicPartition

if TYPE_CHECKING:
    from oncelog.protocol import messages

FETCH_VERSION_MAX = 12  # v13 names topics by id
IDS_A_REQUEST, PARTITIONS_A_REQUEST = 500, 500
_GONE = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.LEADER_NOT_AVAILABLE})
_OPEN = ("Ongoing", "PrepareCommit", "PrepareAbort")


class Leaders:
    """Who leads what, as Metadata said last."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.cluster_id: str | None = None
        self.of: dict[TopicPartition, int] = {}
        self.topics = 0

    def refresh(self) -> None:
        """Ask again; topics that cannot be described are left out."""
        answer = self._cluster.metadata()
        self.cluster_id = answer.cluster_id
        self.of = {
            TopicPartition(topic.name or "", partition.partition_index): partition.leader_id
            for topic in answer.topics
            if not topic.error_code
            for partition in topic.partitions
            if partition.leader_id >= 0
        }
        self.topics = len({place.topic for place in self.of})

    def lots(self, places: Iterable[TopicPartition]) -> Iterator[tuple[int, list[TopicPartition]]]:
        """(node, some of its partitions), so many as one request is to name."""
        by_node: dict[int, list[TopicPartition]] = defaultdict(list)
        for place in places:
            if place in self.of:
                by_node[self.of[place]].append(place)
        for node_id, led in by_node.items():
            for first in range(0, len(led), PARTITIONS_A_REQUEST):
                yield node_id, led[first : first + PARTITIONS_A_REQUEST]


def transactions(cluster: Cluster, *, only_open: bool) -> list[Transaction]:
    """Every transactional id, or those with a transaction."""
    from oncelog.protocol import messages

    request = messages.ListTransactionsRequest(state_filters=list(_OPEN) if only_open else [], producer_id_filters=[])
    found = []
    for node in cluster.nodes():
        ids = [each.transactional_id for each in listed(cluster, node.node_id, request)]
        for first in range(0, len(ids), IDS_A_REQUEST):
            asked = messages.DescribeTransactionsRequest(transactional_ids=ids[first : first + IDS_A_REQUEST])
            answer = cluster.node(node.node_id).send(ApiKey.DESCRIBE_TRANSACTIONS, asked)
            found += [_transaction(each) for each in answer.transaction_states if not each.error_code]
    return found


def _transaction(told: messages.DescribeTransactionsResponse.TransactionState) -> Transaction:
    started = told.transaction_start_time_ms if told.transaction_state in _OPEN and told.transaction_start_time_ms >= 0 else None
    timed = told.transaction_state == "Ongoing" and told.transaction_timeout_ms != TWO_PHASE_COMMIT_TIMEOUT_MS
    return Transaction(
        told.transactional_id,
        told.producer_id,
        told.producer_epoch,
        told.transaction_state,
        told.transaction_timeout_ms,
        started,
        None,
        started + told.transaction_timeout_ms if timed and started is not None else None,
        None,
        frozenset(TopicPartition(topic.topic, number) for topic in told.topics for number in topic.partitions),
        (told.producer_id,),
    )


def edges(cluster: Cluster, leaders: Leaders, places: Iterable[TopicPartition]) -> dict[TopicPartition, Partition]:
    """Log start, last stable offset, high watermark; partitions that have gone meanwhile are left out.

    The last stable offset is asked for first: the high watermark that follows is never below it.
    """
    found = {}
    for node_id, lot in leaders.lots(places):
        stable = _offsets(cluster, node_id, lot, LATEST, isolation=1)
        high = _offsets(cluster, node_id, lot, LATEST, isolation=0)
        first = _offsets(cluster, node_id, lot, EARLIEST, isolation=0)
        for place in lot:
            if place in stable and place in high and place in first:
                found[place] = Partition(place, first[place], stable[place], high[place])
    return found


def offset_at(cluster: Cluster, leaders: Leaders, place: TopicPartition, time_ms: int) -> int | None:
    """The first offset with a timestamp from `time_ms` on; None for none."""
    offset = _offsets(cluster, leaders.of[place], [place], time_ms, isolation=0).get(place, -1) if place in leaders.of else -1
    return offset if offset >= 0 else None


def _offsets(
    cluster: Cluster, node_id: int, places: Sequence[TopicPartition], timestamp: int, *, isolation: int
) -> dict[TopicPartition, int]:
    from oncelog.protocol import messages

    kind = messages.ListOffsetsRequest.ListOffsetsTopic
    topics = [
        kind(
            name=name,
            partitions=[
                kind.ListOffsetsPartition(partition_index=number, current_leader_epoch=-1, timestamp=timestamp) for number in numbers
            ],
        )
        for name, numbers in by_topic(places).items()
    ]
    request = messages.ListOffsetsRequest(replica_id=-1, isolation_level=isolation, topics=topics)
    answer = cluster.node(node_id).send(ApiKey.LIST_OFFSETS, request)
    found = {}
    for topic in answer.topics:
        for part in topic.partitions:
            if part.error_code not in _GONE:
                check(part.error_code, about=f"offsets of {topic.name}-{part.partition_index}")
                found[TopicPartition(topic.name, part.partition_index)] = part.offset
    return found


def producers(cluster: Cluster, leaders: Leaders, places: Iterable[TopicPartition]) -> dict[TopicPartition, list[Producer]]:
    """Every producer that partitions know."""
    found: dict[TopicPartition, list[Producer]] = defaultdict(list)
    for node_id, lot in leaders.lots(places):
        for topic, number, each in describe_producers(cluster, node_id, [(place.topic, place.partition) for place in lot]):
            first = each.current_txn_start_offset if each.current_txn_start_offset >= 0 else None
            following = (each.last_sequence + 1) & 0x7FFFFFFF if each.last_sequence >= 0 else 0
            found[TopicPartition(topic, number)].append(
                Producer(each.producer_id, each.producer_epoch, following, each.last_timestamp, each.coordinator_epoch, first, None)
            )
    return found


def open_of(known: Iterable[Producer]) -> list[OpenTransaction]:
    """By first offset."""
    found = [
        OpenTransaction(each.producer_id, each.producer_epoch, each.first_offset, each.last_ms, each.coordinator_epoch or 0)
        for each in known
        if each.first_offset is not None
    ]
    return sorted(found, key=lambda each: each.first_offset)


def read(cluster: Cluster, leaders: Leaders, place: TopicPartition, offset: int, max_bytes: int) -> bytes:
    """Batches from the one that holds `offset`; nothing at the end."""
    from oncelog.protocol import messages

    if place not in leaders.of:
        return b""
    kind = messages.FetchRequest.FetchTopic
    part = kind.FetchPartition(
        partition=place.partition,
        current_leader_epoch=-1,
        fetch_offset=offset,
        last_fetched_epoch=-1,
        log_start_offset=-1,
        partition_max_bytes=max_bytes,
    )
    request = messages.FetchRequest(
        replica_id=-1,
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=max_bytes,
        isolation_level=0,
        session_id=0,
        session_epoch=-1,
        topics=[kind(topic=place.topic, partitions=[part])],
        forgotten_topics_data=[],
        rack_id="",
    )
    answer = cluster.node(leaders.of[place]).send(ApiKey.FETCH, request, max_version=FETCH_VERSION_MAX)
    check(answer.error_code)
    got = answer.responses[0].partitions[0]
    if got.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
        return b""
    check(got.error_code, about=f"records of {place}")
    return bytes(got.records or b"")


def abort(cluster: Cluster, transaction: Transaction) -> None:
    """Take the id over for a moment: its producer is fenced, and what it has open is aborted. Raises Refused, KafkaError."""
    from oncelog.protocol import messages

    id = transaction.transactional_id
    if transaction.timeout_ms == TWO_PHASE_COMMIT_TIMEOUT_MS:
        raise Refused(409, f"{id} is of two-phase commit: only its owner may end it")
    request = messages.InitProducerIdRequest(
        transactional_id=id, transaction_timeout_ms=transaction.timeout_ms, producer_id=-1, producer_epoch=-1
    )

    def ask() -> None:
        client = cluster.coordinator(TRANSACTION, id)
        code = client.send(ApiKey.INIT_PRODUCER_ID, request, max_version=5).error_code
        if code == ErrorCode.CONCURRENT_TRANSACTIONS:  # its markers are being written
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, f"the transaction of {id} is still being ended")
        check(code, about=f"transactional id {id}")

    cluster.until_ready(ask)


def abort_hanging(cluster: Cluster, place: TopicPartition, opened: OpenTransaction) -> None:
    """As `kafka-transactions.sh abort`. Raises KafkaError."""
    cluster.until_ready(
        lambda: write_abort(
            cluster, place.topic, place.partition, opened.producer_id, opened.producer_epoch, max(opened.coordinator_epoch, 0)
        )
    )


def by_topic(places: Iterable[TopicPartition]) -> Mapping[str, list[int]]:
    """Numbers of partitions by topic."""
    found: dict[str, list[int]] = defaultdict(list)
    for place in places:
        found[place.topic].append(place.partition)
    return found
