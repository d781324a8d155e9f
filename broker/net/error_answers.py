"""The answer to a request that is refused as a whole: its error wherever the API keeps one (`AbstractRequest.getErrorResponse`).

APIs whose answers keep their errors only with single items have one here if clients send them first on a connection; the others have none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode

FIRST_BATCHED_FIND_COORDINATOR = 4
FIRST_BATCHED_OFFSET_FETCH = 8
FIRST_BATCHED_ADD_PARTITIONS = 4


def error_answer(key: ApiKey, version: int, request: Any, error: ErrorCode) -> Any | None:
    """The answer, None if there is none: then the connection is closed at once."""
    made = _WITH_ITEMS.get(key)
    if made is not None:
        return made(request, version, error)
    answer = getattr(messages, f"{key.schema_name}Response")()
    if not hasattr(answer, "error_code"):
        return None
    answer.error_code = error
    return answer


def _metadata(request: Any, version: int, error: ErrorCode) -> Any:
    topic = messages.MetadataResponse.MetadataResponseTopic
    return messages.MetadataResponse(
        error_code=error, topics=[topic(error_code=error, name=asked.name or "") for asked in request.topics or ()]
    )


def _find_coordinator(request: Any, version: int, error: ErrorCode) -> Any:
    if version < FIRST_BATCHED_FIND_COORDINATOR:
        return messages.FindCoordinatorResponse(error_code=error, node_id=-1)
    coordinator = messages.FindCoordinatorResponse.Coordinator
    found = [coordinator(key=key, node_id=-1, port=-1, error_code=error) for key in request.coordinator_keys]
    return messages.FindCoordinatorResponse(coordinators=found)


def _produce(request: Any, version: int, error: ErrorCode) -> Any | None:
    if request.acks == 0:
        return None
    kind = messages.ProduceResponse.TopicProduceResponse
    partition = kind.PartitionProduceResponse
    topics = [
        kind(
            name=topic.name,
            topic_id=topic.topic_id,
            partition_responses=[partition(index=each.index, error_code=error, base_offset=-1) for each in topic.partition_data],
        )
        for topic in request.topic_data
    ]
    return messages.ProduceResponse(responses=topics)


def _fetch(request: Any, version: int, error: ErrorCode) -> Any:
    kind = messages.FetchResponse.FetchableTopicResponse
    partition = kind.PartitionData
    topics = [
        kind(
            topic=topic.topic,
            topic_id=topic.topic_id,
            partitions=[partition(partition_index=each.partition, error_code=error, high_watermark=-1) for each in topic.partitions],
        )
        for topic in request.topics
    ]
    return messages.FetchResponse(error_code=error, responses=topics)


def _list_offsets(request: Any, version: int, error: ErrorCode) -> Any:
    kind = messages.ListOffsetsResponse.ListOffsetsTopicResponse
    partition = kind.ListOffsetsPartitionResponse
    topics = [
        kind(name=topic.name, partitions=[partition(partition_index=each.partition_index, error_code=error) for each in topic.partitions])
        for topic in request.topics
    ]
    return messages.ListOffsetsResponse(topics=topics)


def _create_topics(request: Any, version: int, error: ErrorCode) -> Any:
    topic = messages.CreateTopicsResponse.CreatableTopicResult
    return messages.CreateTopicsResponse(topics=[topic(name=asked.name, error_code=error) for asked in request.topics])


def _offset_commit(request: Any, version: int, error: ErrorCode) -> Any:
    kind = messages.OffsetCommitResponse.OffsetCommitResponseTopic
    return messages.OffsetCommitResponse(topics=_by_index(kind, kind.OffsetCommitResponsePartition, request, error))


def _txn_offset_commit(request: Any, version: int, error: ErrorCode) -> Any:
    kind = messages.TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic
    return messages.TxnOffsetCommitResponse(topics=_by_index(kind, kind.TxnOffsetCommitResponsePartition, request, error))


def _by_index(topic_kind: Any, partition_kind: Any, request: Any, error: ErrorCode) -> list[Any]:
    made = []
    for topic in request.topics:
        answered = topic_kind(
            name=topic.name,
            partitions=[partition_kind(partition_index=each.partition_index, error_code=error) for each in topic.partitions],
        )
        if hasattr(topic, "topic_id"):
            answered.topic_id = topic.topic_id
        made.append(answered)
    return made


def _offset_fetch(request: Any, version: int, error: ErrorCode) -> Any:
    if version < FIRST_BATCHED_OFFSET_FETCH:
        return messages.OffsetFetchResponse(error_code=error)
    group = messages.OffsetFetchResponse.OffsetFetchResponseGroup
    return messages.OffsetFetchResponse(groups=[group(group_id=asked.group_id, error_code=error) for asked in request.groups])


def _add_partitions(request: Any, version: int, error: ErrorCode) -> Any:
    if version >= FIRST_BATCHED_ADD_PARTITIONS:
        return messages.AddPartitionsToTxnResponse(error_code=error)
    kind = messages.AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult
    partition = kind.AddPartitionsToTxnPartitionResult
    topics = [
        kind(
            name=topic.name,
            results_by_partition=[partition(partition_index=index, partition_error_code=error) for index in topic.partitions],
        )
        for topic in request.v3_and_below_topics
    ]
    return messages.AddPartitionsToTxnResponse(results_by_topic_v3_and_below=topics)


def can_be_refused(key: ApiKey) -> bool:
    """Is there a place for an error in the answer to `key`?"""
    return key in _WITH_ITEMS or hasattr(getattr(messages, f"{key.schema_name}Response", None), "error_code")


_WITH_ITEMS: dict[ApiKey, Callable[[Any, int, ErrorCode], Any | None]] = {
    ApiKey.PRODUCE: _produce,
    ApiKey.FETCH: _fetch,
    ApiKey.LIST_OFFSETS: _list_offsets,
    ApiKey.METADATA: _metadata,
    ApiKey.FIND_COORDINATOR: _find_coordinator,
    ApiKey.CREATE_TOPICS: _create_topics,
    ApiKey.OFFSET_COMMIT: _offset_commit,
    ApiKey.OFFSET_FETCH: _offset_fetch,
    ApiKey.ADD_PARTITIONS_TO_TXN: _add_partitions,
    ApiKey.TXN_OFFSET_COMMIT: _txn_offset_commit,
}
