"""DeleteRecords (21), v0-2.

Moves the log start forward: everything below an offset (-1: the high watermark) is gone at once for readers. Above the high watermark: 1;
a topic that is only compacted: 44; below the log start nothing happens and the present start is told. v2: flexible.
"""

from __future__ import annotations

from oncelog.broker.auth.acls import AclOperation
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.topic_access import readable_log
from oncelog.broker.net.dispatch import api
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.names import INTERNAL_TOPICS
from oncelog.storage.upkeep.retention import delete_records

_Asked = messages.DeleteRecordsRequest.DeleteRecordsTopic.DeleteRecordsPartition
_Told = messages.DeleteRecordsResponse.DeleteRecordsTopicResult.DeleteRecordsPartitionResult


@api(ApiKey.DELETE_RECORDS, 0, 2)
def handle(req: messages.DeleteRecordsRequest, ctx: RequestContext) -> messages.DeleteRecordsResponse:
    """Delete on each partition."""
    topics: dict[str, dict[int, _Asked]] = {}
    for topic in req.topics:
        for partition in topic.partitions:
            topics.setdefault(topic.name, {})[partition.partition_index] = partition
    result = messages.DeleteRecordsResponse.DeleteRecordsTopicResult
    return messages.DeleteRecordsResponse(
        topics=[
            result(name=name, partitions=[_delete(ctx, name, partition) for partition in partitions.values()])
            for name, partitions in topics.items()
        ]
    )


def _delete(ctx: RequestContext, topic: str, asked: _Asked) -> _Told:
    low_watermark = -1
    log, error = readable_log(ctx, AclOperation.DELETE, topic, asked.partition_index, -1)
    if topic in INTERNAL_TOPICS and error is not ErrorCode.TOPIC_AUTHORIZATION_FAILED:
        error = ErrorCode.INVALID_TOPIC_EXCEPTION
    elif log is not None:
        try:
            low_watermark = delete_records(log, asked.offset)
        except KafkaError as refused:
            error = refused.code
    return _Told(partition_index=asked.partition_index, low_watermark=low_watermark, error_code=error)
