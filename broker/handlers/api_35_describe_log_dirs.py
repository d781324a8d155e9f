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

if TYPE_CHECKING:
    from oncelog.storage.log import Log


@api(ApiKey.DESCRIBE_LOG_DIRS, 1, 5)
def handle(req: Any, ctx: RequestContext) -> Any:
    """Describe the one directory."""
    if not may(ctx, AclOperation.DESCRIBE):
        return messages.DescribeLogDirsResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED, results=[])
    logs = ctx.broker.logs
    asked = None if req.topics is None else {(topic.topic, partition) for topic in req.topics for partition in topic.partitions}
    volume = shutil.disk_usage(logs.data_dir)
    result = messages.DescribeLogDirsResponse.DescribeLogDirsResult(
        error_code=0,
        log_dir=str(logs.data_dir),
        topics=_topics([log for log in logs.logs() if asked is None or tuple(log.topic_partition) in asked]),
        total_bytes=volume.total,
        usable_bytes=volume.free,
        is_cordoned=False,
    )
    return messages.DescribeLogDirsResponse(error_code=0, results=[result])


def _topics(logs: list[Log]) -> list[Any]:
    topic = messages.DescribeLogDirsResponse.DescribeLogDirsResult.DescribeLogDirsTopic
    by_topic: dict[str, list[Any]] = defaultdict(list)
    for log in logs:
        name, partition = log.topic_partition
        entry = topic.DescribeLogDirsPartition(
            partition_index=partition, partition_size=log.size_bytes(), offset_lag=0, is_future_key=False
        )
        by_topic[name].append(entry)
    return [topic(name=name, partitions=entries) for name, entries in by_topic.items()]
