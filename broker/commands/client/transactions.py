"""Questions about transactions that commands and the inspector share, and the marker that ends a hanging one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from oncelog.broker.commands.client.cluster import Cluster, check
from oncelog.broker.commands.client.output import USAGE, fail
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from oncelog.protocol import messages

    ProducerState = messages.DescribeProducersResponse.TopicResponse.PartitionResponse.ProducerState
    ListedTransaction = messages.ListTransactionsResponse.TransactionState

# the same that Kafka's own tool retries: another leader, or one that comes in a moment
_RETRIED = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.NOT_LEADER_OR_FOLLOWER})


def listed(cluster: Cluster, node_id: int, request: messages.ListTransactionsRequest) -> list[ListedTransaction]:
    """Transactional ids of one coordinator. A filter that names no state ends the command. Raises KafkaError."""

    def ask() -> list[ListedTransaction]:
        answer = cluster.node(node_id).send(ApiKey.LIST_TRANSACTIONS, request)
        check(answer.error_code, about=f"transactions of broker {node_id}")
        if answer.unknown_state_filters:
            fail(f"no such state: {', '.join(answer.unknown_state_filters)}", USAGE)
        return answer.transaction_states

    return cluster.until_ready(ask)


def describe_producers(cluster: Cluster, node_id: int, partitions: list[tuple[str, int]]) -> Iterator[tuple[str, int, ProducerState]]:
    """(topic, partition, producer) of partitions that the node leads. Raises KafkaError."""
    from oncelog.protocol import messages

    topics: dict[str, list[int]] = {}
    for name, index in partitions:
        topics.setdefault(name, []).append(index)
    asked = [messages.DescribeProducersRequest.TopicRequest(name=name, partition_indexes=indexes) for name, indexes in topics.items()]
    answer = cluster.node(node_id).send(ApiKey.DESCRIBE_PRODUCERS, messages.DescribeProducersRequest(topics=asked))
    for topic in answer.topics:
        for partition in topic.partitions:
            check(partition.error_code, partition.error_message, about=f"producers of {topic.name}-{partition.partition_index}")
            for producer in partition.active_producers:
                yield topic.name, partition.partition_index, producer


def write_abort(cluster: Cluster, topic: str, partition: int, producer_id: int, producer_epoch: int, coordinator_epoch: int) -> None:
    """An ABORT marker on one partition. Raises KafkaError; 15 while there is no leader."""
    from oncelog.protocol import messages

    kind = messages.WriteTxnMarkersRequest.WritableTxnMarker
    marker = kind(
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transaction_result=False,
        coordinator_epoch=coordinator_epoch,
        topics=[kind.WritableTxnMarkerTopic(name=topic, partition_indexes=[partition])],
    )
    answer = cluster.leader(topic, partition).send(ApiKey.WRITE_TXN_MARKERS, messages.WriteTxnMarkersRequest(markers=[marker]))
    code = answer.markers[0].topics[0].partitions[0].error_code
    if code in _RETRIED:
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{topic}-{partition} has no leader at the moment")
    check(code, about=f"marker on {topic}-{partition}")
