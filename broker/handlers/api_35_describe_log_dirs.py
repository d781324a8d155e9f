"""DescribeLogDirs (35), v1-5.

The data directory, its logs with their sizes in bytes, and (v4) the size and free space of the volume. `topics` null means all,
unknown ones are left out. v2: flexible. v3: top-level error. v5: `is_cordoned` (always false here).
"""

from __future__ import annotations

import shutil
from collections import defaultdict
from functools import partial
from typing import TYPE_CHECKING

from oncelog.broker.auth.acls import AclOperation
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.administration import may
from oncelog.broker.net.dispatch import api
from oncelog.broker.net.turns import Steps, at_once
from oncelog.coordinator.deferred import Reply
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import TopicPartition

if TYPE_CHECKING:
    from oncelog.storage.directory.manager import LogManager

_Topic = messages.DescribeLogDirsResponse.DescribeLogDirsResult.DescribeLogDirsTopic
PARTITIONS_A_TURN = 1000
TOPICS_A_TURN = 100


@api(ApiKey.DESCRIBE_LOG_DIRS, 1, 5)
def handle(req: messages.DescribeLogDirsRequest, ctx: RequestContext) -> Reply[messages.DescribeLogDirsResponse]:
    """Describe the one directory."""
    if not may(ctx, AclOperation.DESCRIBE):
        return messages.DescribeLogDirsResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED, results=[])
    logs = ctx.broker.logs
    asked: dict[str, set[int]] | None = None
    if req.topics is not None:
        asked = defaultdict(set)
        for topic in req.topics:
            asked[topic.topic].update(topic.partitions)
    steps = _describe(logs, asked)
    if sum(topic.partitions for topic in logs.topics.all()) > PARTITIONS_A_TURN:
        return ctx.broker.turns.answer(steps, partial(messages.encode_response, ApiKey.DESCRIBE_LOG_DIRS, ctx.api_version))
    return at_once(steps)


def _describe(logs: LogManager, asked: dict[str, set[int]] | None) -> Steps[messages.DescribeLogDirsResponse]:
    told: list[_Topic] = []
    for topic in list(logs.topics.all()):
        if asked is not None and topic.name not in asked:
            continue
        every = range(topic.partitions)
        numbers = list(every) if asked is None else sorted(asked[topic.name].intersection(every))
        partitions: list[_Topic.DescribeLogDirsPartition] = []
        for start in range(0, len(numbers), PARTITIONS_A_TURN):
            partitions += _partitions(topic.name, logs, numbers[start : start + PARTITIONS_A_TURN])
            if len(numbers) > PARTITIONS_A_TURN:
                yield None
        told.append(_Topic(name=topic.name, partitions=partitions))
        if len(told) % TOPICS_A_TURN == 0:
            yield None
    volume = shutil.disk_usage(logs.data_dir)
    result = messages.DescribeLogDirsResponse.DescribeLogDirsResult(
        error_code=0,
        log_dir=str(logs.data_dir),
        topics=told,
        total_bytes=volume.total,
        usable_bytes=volume.free,
        is_cordoned=False,
    )
    return messages.DescribeLogDirsResponse(error_code=0, results=[result])


def _partitions(topic: str, logs: LogManager, numbers: list[int]) -> list[_Topic.DescribeLogDirsPartition]:
    kind = _Topic.DescribeLogDirsPartition
    return [
        kind(partition_index=number, partition_size=logs.size_bytes(TopicPartition(topic, number)), offset_lag=0, is_future_key=False)
        for number in numbers
    ]
