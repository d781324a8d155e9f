"""DescribeLogDirs (35), v1-5.

The data directory, its logs with their sizes in bytes, and (v4) the size and free space of the volume. `topics` null means all,
unknown ones are left out. v2: flexible. v3: top-level error. v5: `is_cordoned` (always false here).
"""

from __future__ import annotations

import shutil
from collections import defaultdict
from typing import TYPE_CHECKING, Any

from oncelog.broker.auth.acls import AclOperation
from oncelog.broker.context import RequestContext
from oncelog.broker.dispatch import api
from oncelog.broker.handlers.administration import may
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import TopicPartition

if TYPE_CHECKING:
    from oncelog.storage.log_manager import LogManager
    from oncelog.storage.topic import Topic


@api(ApiKey.DESCRIBE_LOG_DIRS, 1, 5)
def handle(req: Any, ctx: RequestContext) -> Any:
    """Describe the one directory."""
    if not may(ctx, AclOperation.DESCRIBE):
        return messages.DescribeLogDirsResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED, results=[])
    logs = ctx.broker.logs
    asked: dict[str, set[int]] | None = None
    if req.topics is not None:
        asked = defaultdict(set)
        for topic in req.topics:
            asked[topic.topic].update(topic.partitions)
    volume = shutil.disk_usage(logs.data_dir)
    result = messages.DescribeLogDirsResponse.DescribeLogDirsResult(
        error_code=0,
        log_dir=str(logs.data_dir),
        topics=[_topic(topic, logs, asked) for topic in logs.topics.all() if asked is None or topic.name in asked],
        total_bytes=volume.total,
        usable_bytes=volume.free,
        is_cordoned=False,
    )
    return messages.DescribeLogDirsResponse(error_code=0, results=[result])


def _topic(topic: Topic, logs: LogManager, asked: dict[str, set[int]] | None) -> Any:
    kind = messages.DescribeLogDirsResponse.DescribeLogDirsResult.DescribeLogDirsTopic
    numbers = range(topic.partitions)
    return kind(
        name=topic.name,
        partitions=[
            kind.DescribeLogDirsPartition(
                partition_index=number,
                partition_size=logs.size_bytes(TopicPartition(topic.name, number)),
                offset_lag=0,
                is_future_key=False,
            )
            for number in (numbers if asked is None else sorted(asked[topic.name].intersection(numbers)))
        ],
    )
