"""The straight way of a small Fetch: one partition, no session, something to read; from the frame to its answer.

As that of Produce (`handlers/produce/straight.py`) it leaves all else, untouched, to the ordinary way: what is refused, what waits.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.protocol.errors import KafkaError
from oncelog.protocol.hot import FetchPartitionData, LoneFetch, LoneFetchReader
from oncelog.protocol.names import IsolationLevel, TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.context import BrokerContext, ConnectionFacts
    from oncelog.protocol.primitives import Piece
    from oncelog.storage.log.log import Log

FIRST_VERSION = 12
SMALL_BYTES = 256  # records that take no more memory than what says where they are
_READ, _TOPIC = AclOperation.READ, ResourceType.TOPIC  # bound once: in Python 3.11 each look into an enum is a function call
_UNCOMMITTED, _COMMITTED = IsolationLevel.READ_UNCOMMITTED, IsolationLevel.READ_COMMITTED


class _Source:
    """What requests for one partition read."""

    __slots__ = ("log", "lone")

    def __init__(self, lone: LoneFetch) -> None:
        self.lone = lone
        self.log: Log | None = None


class StraightFetch:
    """Of one version."""

    __slots__ = ("_broker", "_reader")

    def __init__(self, broker: BrokerContext, version: int) -> None:
        self._broker = broker
        self._reader = LoneFetchReader(version, _Source)

    def __call__(self, frame: memoryview, begin: int, correlation_id: int, connection: ConnectionFacts) -> bytes | list[Piece] | None:
        """The answer to the request whose body begins at `begin`; None: nothing was done."""
        found = self._reader.read(frame, begin)
        if found is None:
            return None
        source, wait_ms, least, most, level, epoch, offset, last_epoch, partition_most = found
        broker, log = self._broker, source.log
        if log is None or log.offline is not None:
            log = source.log = self._log_of(source.lone)
            if log is None:
                return None
        isolation = _COMMITTED if level > 0 else _UNCOMMITTED
        known = epoch in (-1, log.leader_epoch) and last_epoch <= log.leader_epoch
        if not known or (wait_ms > 0 and offset >= log.readable_end(isolation)):
            return None
        authorizer = broker.authorizer
        if authorizer is not None and not authorizer.authorize(
            connection.principal, connection.client_host, _READ, _TOPIC, log.topic_partition.topic
        ):
            return None
        limit = min(partition_most, most, broker.config.server.fetch_max_bytes)
        in_memory = max(connection.at_once_bytes, SMALL_BYTES)
        try:
            data = log.read(offset, limit, isolation=isolation, min_one_message=True, in_memory=in_memory)
        except KafkaError:
            return None  # which is said by who asks again
        if wait_ms > 0 and len(data.records) < least:
            return None
        aborted = None if data.aborted is None else [(txn.producer_id, txn.first_offset) for txn in data.aborted]
        told = FetchPartitionData(
            source.lone.partition, 0, data.high_watermark, data.last_stable_offset, data.log_start_offset, aborted, data.records
        )
        return source.lone.answer(correlation_id, told)

    def _log_of(self, lone: LoneFetch) -> Log | None:
        logs, topic = self._broker.logs, lone.topic
        if lone.topic_id is not None:
            known = logs.topics.by_id(uuid.UUID(bytes=lone.topic_id))
            topic = known.name if known is not None else None
        return logs.log(TopicPartition(topic, lone.partition)) if topic is not None else None


def straight(broker: BrokerContext, version: int) -> StraightFetch | None:
    """The straight way of a version, which must be flexible."""
    return StraightFetch(broker, version) if version >= FIRST_VERSION else None
