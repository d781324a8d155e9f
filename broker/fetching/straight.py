"""The straight way of a small Fetch: one partition, no session; from the frame to its answer, now or when there is something to read.

As that of Produce (`handlers/produce/straight.py`) it leaves all else, untouched, to the ordinary way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.answers import holding_back
from oncelog.broker.auth.acls import AclOperation
from oncelog.broker.fetching.delayed import ParkedRequest
from oncelog.broker.handlers.shared.topic_access import NamedPartition
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import KafkaError
from oncelog.protocol.hot import FetchPartitionData, LoneFetch, LoneFetchReader
from oncelog.protocol.hot.fetch import FIRST_BY_TOPIC_ID
from oncelog.protocol.names import IsolationLevel

if TYPE_CHECKING:
    from oncelog.broker.context import BrokerContext, ConnectionFacts
    from oncelog.broker.net.answer_stream import Sent
    from oncelog.broker.net.error_counts import ErrorCounts
    from oncelog.coordinator.deferred import Deferred
    from oncelog.storage.log.log import Log

SMALL_BYTES = 256  # records that take no more memory than what says where they are
_READ = AclOperation.READ  # bound once: in Python 3.11 each look into an enum is a function call
_UNCOMMITTED, _COMMITTED = IsolationLevel.READ_UNCOMMITTED, IsolationLevel.READ_COMMITTED


class _Source(NamedPartition):
    """What requests for one partition read."""

    __slots__ = ("lone",)

    def __init__(self, lone: LoneFetch) -> None:
        super().__init__(lone.topic, lone.topic_id, lone.partition)
        self.lone = lone


class _Read:
    """What one request reads, tried until there is enough."""

    __slots__ = ("_connection", "_correlation_id", "_errors", "_isolation", "_least", "_limit", "_log", "_lone", "_offset")

    def __init__(
        self,
        log: Log,
        lone: LoneFetch,
        offset: int,
        limit: int,
        isolation: IsolationLevel,
        least: int,
        correlation_id: int,
        connection: ConnectionFacts,
        errors: ErrorCounts,
    ) -> None:
        self._log = log
        self._errors = errors
        self._lone = lone
        self._offset = offset
        self._limit = limit
        self._isolation = isolation
        self._least = least
        self._correlation_id = correlation_id
        self._connection = connection

    def answer(self, final: bool) -> Sent | None:
        """With what there is; None when there is too little, and it is worth waiting for more."""
        log = self._log
        if not final and self._least > 0 and self._offset == log.readable_end(self._isolation) and log.offline is None:
            return None
        in_memory = max(self._connection.at_once_bytes, SMALL_BYTES)
        try:
            data = log.reader.read(self._offset, self._limit, self._isolation, True, in_memory, patient=True)
        except KafkaError as error:
            self._errors.add(ApiKey.FETCH, error.code)
            return self._lone.answer(self._correlation_id, FetchPartitionData(self._lone.partition, error.code))
        if not final and len(data.records) < self._least:
            return None
        aborted = None if data.aborted is None else [(txn.producer_id, txn.first_offset) for txn in data.aborted]
        told = FetchPartitionData(
            self._lone.partition, 0, data.high_watermark, data.last_stable_offset, data.log_start_offset, aborted, data.records
        )
        return self._lone.answer(self._correlation_id, told)


class StraightFetch:
    """Of one broker; `StraightWay`."""

    __slots__ = ("_broker", "_by_id", "_by_name")

    def __init__(self, broker: BrokerContext) -> None:
        self._broker = broker
        self._by_name = LoneFetchReader(False, _Source)
        self._by_id = LoneFetchReader(True, _Source)

    def __call__(
        self, version: int, frame: memoryview, begin: int, correlation_id: int, connection: ConnectionFacts
    ) -> Sent | Deferred[Sent] | None:
        """The answer to the request whose body begins at `begin`, now or when there is something; None: nothing was done."""
        found = (self._by_id if version >= FIRST_BY_TOPIC_ID else self._by_name).read(version, frame, begin)
        if found is None:
            return None
        source, wait_ms, least, most, level, epoch, offset, last_epoch, partition_most = found
        broker = self._broker
        log = source.log(broker, connection, _READ)
        if log is None or epoch not in (-1, log.leader_epoch) or last_epoch > log.leader_epoch:
            return None
        isolation = _COMMITTED if level > 0 else _UNCOMMITTED
        limit = min(partition_most, most, broker.config.server.fetch_max_bytes)
        read = _Read(log, source.lone, offset, limit, isolation, least, correlation_id, connection, broker.errors)
        answer = read.answer(wait_ms <= 0)
        if answer is not None:
            return answer
        parked = ParkedRequest([log], wait_ms, read.answer).answer
        return parked if connection.at_once_bytes else holding_back(parked)  # behind the first ones that wait, requests wait themselves
