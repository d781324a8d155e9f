"""ListOffsets (2), v1-11.

One offset for a partition by timestamp: the first record at or after it, or one of the special ones:

    -1 latest (high watermark, or last stable offset for read_committed)   v1     -4 earliest local: as -2        v8
    -2 earliest (log start)                                                v1     -5 latest tiered: none          v9
    -3 the newest timestamp                                                v7     -6 earliest pending upload: none v11

A special one that the version does not have, and any other negative one, is 35. v2: isolation level. v4: leader epochs. v6: flexible.
v10: timeout_ms, which nothing here needs. The same partition twice: one answer with 42.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from oncelog.broker.auth.acls import AclOperation
from oncelog.broker.context import RequestContext
from oncelog.broker.handlers.shared.topic_access import may_topic, readable_log
from oncelog.broker.net.dispatch import api
from oncelog.broker.net.turns import Steps
from oncelog.coordinator.deferred import Reply
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.names import IsolationLevel

_Asked = messages.ListOffsetsRequest.ListOffsetsTopic.ListOffsetsPartition
_Told = messages.ListOffsetsResponse.ListOffsetsTopicResponse.ListOffsetsPartitionResponse
_FIRST_VERSION_OF: Final = {-1: 1, -2: 1, -3: 7, -4: 8, -5: 9, -6: 11}


@api(ApiKey.LIST_OFFSETS, 1, 11)
def handle(req: messages.ListOffsetsRequest, ctx: RequestContext) -> Reply[messages.ListOffsetsResponse]:
    """Answer for each partition."""
    return ctx.broker.turns.begin(_answers(req, ctx))


def _answers(req: messages.ListOffsetsRequest, ctx: RequestContext) -> Steps[messages.ListOffsetsResponse]:
    isolation = IsolationLevel.READ_COMMITTED if req.isolation_level else IsolationLevel.READ_UNCOMMITTED
    named = Counter((topic.name, partition.partition_index) for topic in req.topics for partition in topic.partitions)
    found: dict[str, dict[int, _Told]] = {}
    refused: list[tuple[str, list[_Told]]] = []
    for topic in req.topics:
        if not may_topic(ctx, AclOperation.DESCRIBE, topic.name):
            refused.append((topic.name, [_answer(asked, ErrorCode.TOPIC_AUTHORIZATION_FAILED) for asked in topic.partitions]))
            continue
        answers = found.setdefault(topic.name, {})
        for asked in topic.partitions:
            twice = named[topic.name, asked.partition_index] > 1
            answer = _answer(asked, ErrorCode.INVALID_REQUEST) if twice else (yield from _find(topic.name, asked, isolation, ctx))
            answers[asked.partition_index] = answer
    kind = messages.ListOffsetsResponse.ListOffsetsTopicResponse
    told = [(name, list(answers.values())) for name, answers in found.items()]
    return messages.ListOffsetsResponse(topics=[kind(name=name, partitions=partitions) for name, partitions in (*told, *refused)])


def _find(topic: str, asked: _Asked, isolation: IsolationLevel, ctx: RequestContext) -> Steps[_Told]:
    timestamp = asked.timestamp
    log, error = readable_log(ctx, AclOperation.DESCRIBE, topic, asked.partition_index, asked.current_leader_epoch)
    if log is None:
        return _answer(asked, error)
    if timestamp < 0 and ctx.api_version < _FIRST_VERSION_OF.get(timestamp, 1 << 15):
        return _answer(asked, ErrorCode.UNSUPPORTED_VERSION)
    try:
        found = yield from log.reader.lookup(timestamp, isolation)
        return _answer(asked, ErrorCode.NONE, *found)
    except KafkaError as refused:
        return _answer(asked, refused.code)


def _answer(asked: _Asked, error: ErrorCode, offset: int = -1, timestamp: int = -1, leader_epoch: int = -1) -> _Told:
    return _Told(partition_index=asked.partition_index, error_code=error, timestamp=timestamp, offset=offset, leader_epoch=leader_epoch)
