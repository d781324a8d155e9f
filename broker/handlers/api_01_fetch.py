"""Fetch (1), v4-18.

v5: log start. v7: sessions. v9: leader epoch. v11: rack. v12: flexible. v13: topic ids. v15-18: replica fields, not for clients.
Partitions are read in the request's order; the first that has anything gives at least one whole batch, after it the limits bind.
Answered at once with enough bytes, an error found while reading, nothing to wait for or no time to; else parked until something changes.
Of a long answer, and of any for a client with much in progress, the records are read when they are sent (`StoredRecords`).
read_committed ends at the last stable offset and lists aborted transactions; control batches are sent, clients skip them.
"""

from __future__ import annotations

import asyncio
import uuid
from typing import TYPE_CHECKING

from oncelog.broker.auth.acls import CLUSTER_NAME, AclOperation, ResourceType
from oncelog.broker.fetching.delayed import ParkedRequest
from oncelog.broker.fetching.sessions import FetchContext, Key
from oncelog.broker.net.connection import BlockedRequests
from oncelog.broker.net.dispatch import api
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.hot import FetchPartition, FetchPartitionData, FetchRequest, pack_fetch_response, parse_fetch
from oncelog.protocol.names import IsolationLevel, TopicPartition
from oncelog.protocol.primitives import Piece
from oncelog.storage.log.log import Log

if TYPE_CHECKING:
    from oncelog.broker.context import RequestContext

Result = tuple[Key, FetchPartitionData]
PARKED_PARTITIONS = 16  # of a request that may wait beside others of its connection


@api(ApiKey.FETCH, 4, 18, raw=True)
def handle(body: memoryview, ctx: RequestContext) -> list[Piece] | asyncio.Future[list[Piece]] | BlockedRequests:
    """Read, now or when there is something."""
    request = parse_fetch(ctx.api_version, body)
    broker = ctx.broker
    context = broker.fetch_sessions.resolve(request, ctx.api_version >= 13, broker.env.clock.monotonic_ms())
    if context.error:
        return pack_fetch_response(ctx.api_version, context.error, 0, [])
    if broker.authorizer is not None and context.session is not None:
        context.session.wake_all()  # what may be read may have changed
    fetch = _Fetch(request, context, ctx)
    answer = fetch.attempt(False)
    if answer is not None:
        return answer
    changing = fetch.logs if context.session is None else [context.session]
    future = ParkedRequest(changing, request.max_wait_ms, fetch.attempt).future
    # as in Apache Kafka, requests behind it wait; only those behind a small one need not, as many of these cost little memory
    return BlockedRequests(future) if len(fetch.targets) > PARKED_PARTITIONS else future


class _Fetch:
    """One request, tried until it can be answered."""

    __slots__ = ("context", "ctx", "isolation", "logs", "request", "targets")

    def __init__(self, request: FetchRequest, context: FetchContext, ctx: RequestContext) -> None:
        self.request = request
        self.context = context
        self.ctx = ctx
        self.isolation = IsolationLevel.READ_COMMITTED if request.isolation_level > 0 else IsolationLevel.READ_UNCOMMITTED
        self.targets: list[tuple[Key, FetchPartition, Log | FetchPartitionData]] = []
        self.logs: list[Log] = []
        self._aim()

    def _aim(self) -> None:
        """Find the logs to read, which a session watches from now on."""
        self.targets = [(key, partition, self._target(key, partition)) for key, partition in self.context.partitions]
        self.logs = [target for _key, _partition, target in self.targets if isinstance(target, Log)]
        session = self.context.session
        if session is not None:
            for key, _partition, target in self.targets:
                if key in session.partitions:
                    session.partitions[key].watch(target if isinstance(target, Log) else None)

    def _target(self, key: Key, partition: FetchPartition) -> Log | FetchPartitionData:
        """The partition's log, or the answer that needs no reading (which lists no aborted transactions, one after reading has null)."""
        topic, index = key
        follows = self.request.replica_id >= 0
        if follows and not self.ctx.authorize(AclOperation.CLUSTER_ACTION, ResourceType.CLUSTER, CLUSTER_NAME):
            return FetchPartitionData(index, ErrorCode.TOPIC_AUTHORIZATION_FAILED, aborted=())
        if isinstance(topic, bytes):
            known = self.ctx.broker.logs.topics.by_id(uuid.UUID(bytes=topic))
            if known is None:
                return FetchPartitionData(index, ErrorCode.UNKNOWN_TOPIC_ID, aborted=())
            topic = known.name
        if not (follows or self.ctx.authorize(AclOperation.READ, ResourceType.TOPIC, topic)):
            return FetchPartitionData(index, ErrorCode.TOPIC_AUTHORIZATION_FAILED, aborted=())
        log = self.ctx.broker.logs.log(TopicPartition(topic, index))
        return log if log is not None else FetchPartitionData(index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, aborted=())

    def attempt(self, final: bool) -> list[Piece] | None:
        """The answer, or None when it is worth waiting on."""
        request = self.request
        if self.context.incremental:
            self._aim()  # another partition may have changed since
        if not final and self._has_nothing_new():
            return None
        results: list[Result] = []
        left = min(request.max_bytes, self.ctx.broker.config.server.fetch_max_bytes)
        in_memory = self.ctx.connection.at_once_bytes
        found, failed = 0, False
        for key, partition, target in self.targets:
            if isinstance(target, FetchPartitionData):
                results.append((key, target))
                continue
            data = self._read(target, key[1], partition, min(partition.partition_max_bytes, left), found == 0, in_memory - found)
            found += len(data.records)
            left = max(left - len(data.records), 0)
            failed = failed or data.error_code != 0
            results.append((key, data))
        enough = found >= request.min_bytes or failed or not self._waits_for_something() or request.max_wait_ms <= 0
        if not (final or enough):
            return None
        told = self.context.told(results)
        self._quiet()
        return pack_fetch_response(self.ctx.api_version, 0, self.context.session_id, told)

    def _waits_for_something(self) -> bool:
        session = self.context.session
        return bool(self.logs) if session is None else session.watching > 0

    def _quiet(self) -> None:
        """What is read to its end needs no look before it changes, or the client asks for something else."""
        session = self.context.session
        if session is None:
            return
        for key, partition, target in self.targets:
            if isinstance(target, Log) and self._is_read(partition, target) and target.leader_epoch >= partition.last_fetched_epoch:
                session.active.pop(key, None)

    def _has_nothing_new(self) -> bool:
        """A cheap look before reading: every partition is read to its end, so there is nothing to give yet."""
        if self.request.max_wait_ms <= 0 or self.request.min_bytes <= 0 or self.request.replica_id >= 0:
            return False
        return self._waits_for_something() and all(
            isinstance(target, FetchPartitionData) or self._is_read(partition, target) for _key, partition, target in self.targets
        )

    def _is_read(self, partition: FetchPartition, log: Log) -> bool:
        """Up to its end, and in order."""
        at_end = partition.fetch_offset == log.readable_end(self.isolation)
        return at_end and partition.current_leader_epoch in (-1, log.leader_epoch) and not log.offline

    def _read(self, log: Log, index: int, partition: FetchPartition, limit: int, at_least_one: bool, in_memory: int) -> FetchPartitionData:
        epoch = partition.current_leader_epoch
        if self.request.replica_id >= 0:
            return FetchPartitionData(index, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        if epoch >= 0 and epoch != log.leader_epoch:
            return FetchPartitionData(index, ErrorCode.FENCED_LEADER_EPOCH if epoch < log.leader_epoch else ErrorCode.UNKNOWN_LEADER_EPOCH)
        if partition.last_fetched_epoch > log.leader_epoch:
            return FetchPartitionData(index, ErrorCode.OFFSET_OUT_OF_RANGE)
        try:
            data = log.read(
                partition.fetch_offset, limit, isolation=self.isolation, min_one_message=at_least_one, in_memory=max(in_memory, 0)
            )
        except KafkaError as error:
            return FetchPartitionData(index, error.code)
        aborted = None if data.aborted is None else [(txn.producer_id, txn.first_offset) for txn in data.aborted]
        return FetchPartitionData(index, 0, data.high_watermark, data.last_stable_offset, data.log_start_offset, aborted, data.records)
