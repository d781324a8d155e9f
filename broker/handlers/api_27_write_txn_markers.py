"""WriteTxnMarkers (27), v1-2: how administrators end hanging transactions (`kafka-transactions.sh abort`).

Our own coordinator does not use it. v1: flexible. v2: TransactionVersion, 2 wants an epoch above the transaction's (KIP-1228).
Results are grouped by producer id.
"""

from __future__ import annotations

from oncelog.broker.answers import all_of, then
from oncelog.broker.auth.acls import CLUSTER_NAME, AclOperation, ResourceType
from oncelog.broker.context import RequestContext
from oncelog.broker.net.dispatch import api
from oncelog.coordinator.deferred import Reply
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import TopicPartition

_Marker = messages.WriteTxnMarkersRequest.WritableTxnMarker
_Verdicts = dict[TopicPartition, ErrorCode]


@api(ApiKey.WRITE_TXN_MARKERS, 1, 2)
def handle(req: messages.WriteTxnMarkersRequest, ctx: RequestContext) -> Reply[messages.WriteTxnMarkersResponse]:
    """Write the markers."""
    may = any(
        ctx.authorize(operation, ResourceType.CLUSTER, CLUSTER_NAME) for operation in (AclOperation.ALTER, AclOperation.CLUSTER_ACTION)
    )
    replies = [_write(marker, ctx) if may else _refuse(marker) for marker in req.markers]
    producer_ids = [marker.producer_id for marker in req.markers]
    return then(all_of(replies), lambda results: _answer(producer_ids, results))


def _write(marker: _Marker, ctx: RequestContext) -> Reply[_Verdicts]:
    return ctx.broker.transactions.write_marker_from_admin(
        marker.producer_id,
        marker.producer_epoch,
        marker.coordinator_epoch,
        marker.transaction_result,
        _partitions(marker),
        transaction_version=marker.transaction_version,
        client=f"{ctx.client_id or ''}@{ctx.connection.client_host}",
    )


def _refuse(marker: _Marker) -> _Verdicts:
    return dict.fromkeys(_partitions(marker), ErrorCode.CLUSTER_AUTHORIZATION_FAILED)


def _partitions(marker: _Marker) -> list[TopicPartition]:
    return [TopicPartition(topic.name, partition) for topic in marker.topics for partition in topic.partition_indexes]


def _answer(producer_ids: list[int], results: list[_Verdicts]) -> messages.WriteTxnMarkersResponse:
    merged: dict[int, dict[str, dict[int, ErrorCode]]] = {}
    for producer_id, verdicts in zip(producer_ids, results, strict=True):
        topics = merged.setdefault(producer_id, {})
        for partition, code in verdicts.items():
            topics.setdefault(partition.topic, {})[partition.partition] = code
    marker = messages.WriteTxnMarkersResponse.WritableTxnMarkerResult
    topic = marker.WritableTxnMarkerTopicResult
    result = topic.WritableTxnMarkerPartitionResult
    return messages.WriteTxnMarkersResponse(
        markers=[
            marker(
                producer_id=producer_id,
                topics=[
                    topic(name=name, partitions=[result(partition_index=index, error_code=code) for index, code in codes.items()])
                    for name, codes in topics.items()
                ],
            )
            for producer_id, topics in merged.items()
        ]
    )
