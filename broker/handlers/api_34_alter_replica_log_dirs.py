"""AlterReplicaLogDirs (34), v1-2.

Moves replicas between the log directories of a broker. There is one directory here, so a move to it has nothing to do (0) and a
move anywhere else is 57; an unknown partition is 3. v2: flexible.
"""

from __future__ import annotations

from oncelog.broker.auth.acls import AclOperation
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.administration import may
from oncelog.broker.net.dispatch import api
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import TopicPartition


@api(ApiKey.ALTER_REPLICA_LOG_DIRS, 1, 2)
def handle(req: messages.AlterReplicaLogDirsRequest, ctx: RequestContext) -> messages.AlterReplicaLogDirsResponse:
    """Say of each partition whether it already is where it should go."""
    result = messages.AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult
    by_topic: dict[str, list[messages.AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult.AlterReplicaLogDirPartitionResult]] = {}
    for directory in req.dirs:
        for topic in directory.topics:
            for partition in topic.partitions:
                error = _move(directory.path, TopicPartition(topic.name, partition), ctx)
                entry = result.AlterReplicaLogDirPartitionResult(partition_index=partition, error_code=error)
                by_topic.setdefault(topic.name, []).append(entry)
    return messages.AlterReplicaLogDirsResponse(results=[result(topic_name=name, partitions=entries) for name, entries in by_topic.items()])


def _move(path: str, partition: TopicPartition, ctx: RequestContext) -> ErrorCode:
    if not may(ctx, AclOperation.ALTER):
        return ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    if path.rstrip("/") != str(ctx.broker.logs.data_dir):
        return ErrorCode.LOG_DIR_NOT_FOUND
    return ErrorCode.NONE if ctx.broker.logs.topics.has_partition(partition) else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
