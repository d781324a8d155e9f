"""Fetch (1), v4-18.

v5: log start. v7: sessions. v9: leader epoch. v11: rack. v12: flexible. v13: topic ids. v15-18: replica fields, not for clients.
Partitions are read in the request's order; the first that has anything gives at least one whole batch, after it the limits bind.
One of many partitions is read a few in a turn of the loop.
Answered at once with enough bytes, an error found while reading, nothing to wait for or no time to; else parked until something changes.
A segment that has to be mended first has nothing yet, so one who asks for it is parked too (56 only when it cannot be mended).
Of a long answer, and of any for a client with much in progress, the records are read when they are sent (`StoredRecords`).
read_committed ends at the last stable offset and lists aborted transactions; control batches are sent, clients skip them.
"""

from __future__ import annotations

import asyncio
import math
import uuid
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from oncelog.broker.answers import holding_back
from oncelog.broker.auth.acls import CLUSTER_NAME, AclOperation, ResourceType
from oncelog.broker.fetching.delayed import Changing, ParkedRequest
from oncelog.broker.fetching.sessions import FetchContext, Key, TopicRef
from oncelog.broker.fetching.straight import SMALL_BYTES, StraightFetch
from oncelog.broker.net.dispatch import api
from oncelog.broker.net.turns import Steps
from oncelog.coordinator.deferred import Reply
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.hot import FetchPartition, FetchPartitionData, FetchRequest, pack_fetch_response, parse_fetch
from oncelog.protocol.names import IsolationLevel, TopicPartition
from oncelog.protocol.primitives import Piece
from oncelog.storage.log.log import Log

if TYPE_CHECKING:
    from oncelog.broker.context import RequestContext

Target = tuple[Key, FetchPartition, Log | FetchPartitionData]
Result = tuple[Key, FetchPartitionData]
Told = tuple[TopicRef, list[FetchPartitionData]]
T = TypeVar("T")
PARKED_PARTITIONS = 16  # of a request that may wait beside others of its connection
PARTITIONS_A_TURN = 50


@api(ApiKey.FETCH, 4, 18, raw=True, straight=StraightFetch)
def handle(body: memoryview, ctx: RequestContext) -> Reply[list[Piece]]:
    """Read, now or when there is something."""
    request = parse_fetch(ctx.api_version, body)
    if sum(len(partitions) for _name, _id, partitions in request.topics) > PARTITIONS_A_TURN:
        return ctx.broker.turns.answer(_long(request, ctx))
    context = _resolve(request, ctx)
    if context.error:
        ctx.broker.errors.add(ApiKey.FETCH, context.error)
        return pack_fetch_response(ctx.api_version, context.error, 0, [])
    fetch = _Fetch(request, context, ctx)
    asked = context.partitions
    if len(asked) > PARTITIONS_A_TURN:
        return ctx.broker.turns.answer(fetch.in_turns())
    fetch.aim(asked)
    pieces = fetch.attempt(False)
    if pieces is not None:
        return pieces
    answer = ParkedRequest(fetch.changing(), request.max_wait_ms, fetch.attempt).answer
    # as in Apache Kafka, requests behind it wait; only those behind the first small ones need not: each that waits costs memory, and an
    # attempt whenever its log changes
    crowded = not ctx.connection.at_once_bytes
    return holding_back(answer) if crowded or len(fetch.targets) > PARKED_PARTITIONS else answer


def _long(request: FetchRequest, ctx: RequestContext) -> Steps[list[Piece]]:
    yield None
    context = _resolve(request, ctx)
    if context.error:
        ctx.broker.errors.add(ApiKey.FETCH, context.error)
        return pack_fetch_response(ctx.api_version, context.error, 0, [])
    yield None
    return (yield from _Fetch(request, context, ctx).in_turns())


def _resolve(request: FetchRequest, ctx: RequestContext) -> FetchContext:
    broker = ctx.broker
    context = broker.fetch_sessions.resolve(request, ctx.api_version >= 13, broker.env.clock.monotonic_ms())
    if broker.authorizer is not None and context.session is not None:
        context.session.wake_all()  # what may be read may have changed
    return context


class _Fetch:
    """One request, tried until it can be answered."""

    __slots__ = ("_failed", "_found", "_left", "_results", "context", "ctx", "isolation", "logs", "request", "targets")

    def __init__(self, request: FetchRequest, context: FetchContext, ctx: RequestContext) -> None:
        self.request = request
        self.context = context
        self.ctx = ctx
        self.isolation = IsolationLevel.READ_COMMITTED if request.isolation_level > 0 else IsolationLevel.READ_UNCOMMITTED
        self.targets: list[Target] = []
        self.logs: list[Log] = []

    def aim(self, asked: Sequence[tuple[Key, FetchPartition]]) -> list[Target]:
        """Find the logs to read, which a session watches from now on."""
        found = [(key, partition, self._target(key, partition)) for key, partition in asked]
        self.targets += found
        self.logs += [target for _key, _partition, target in found if isinstance(target, Log)]
        session = self.context.session
        if session is not None:
            for key, _partition, target in found:
                if key in session.partitions:
                    session.partitions[key].watch(target if isinstance(target, Log) else None)
        return found

    def changing(self) -> Sequence[Changing]:
        """What tells when there is more to read."""
        return self.logs if self.context.session is None else [self.context.session]

    def _aim_again(self) -> None:
        self.targets, self.logs = [], []
        self.aim(self.context.partitions)

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
        if self.context.incremental:
            self._aim_again()  # another partition may have changed since
        if not final and self._may_wait() and self._waits_for_something() and self._are_read(self.targets):
            return None
        self._begin_to_read()
        self._read_some(self.targets)
        if not (final or self._is_enough()):
            return None
        told = self.context.told(self._results)
        self._quiet(self.targets)
        self._count_errors()
        return pack_fetch_response(self.ctx.api_version, 0, self.context.session_id, told)

    def in_turns(self) -> Steps[list[Piece]]:
        """The answer, when there is one, with a few partitions in a turn: what changes while others have theirs is looked at again."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self.request.max_wait_ms / 1000
        final = self.request.max_wait_ms <= 0
        while True:
            self.targets, self.logs = [], []
            for asked in _portions(self.context.partitions):
                self.aim(asked)
                yield None
            woken = ParkedRequest(self.changing(), max(0, math.ceil(1000 * (deadline - loop.time()))), lambda at_deadline: (at_deadline,))
            try:
                answer = yield from self._attempt_in_turns(final)
                if answer is not None:
                    return answer
                (final,) = yield woken.answer
            finally:
                woken.give_up()

    def _attempt_in_turns(self, final: bool) -> Steps[list[Piece] | None]:
        portions = list(_portions(self.targets))
        self._begin_to_read()
        for some in portions:
            self._read_some(some)
            yield None
        if not (final or self._is_enough()):
            return None
        told: list[Told] = []
        for results in _portions(self._results):
            self.context.told(results, told)
            yield None
        for some in portions:
            self._quiet([target for target in some if self._is_told(target)])
            yield None
        self._count_errors()
        return pack_fetch_response(self.ctx.api_version, 0, self.context.session_id, told)

    def _count_errors(self) -> None:
        for _key, data in self._results:
            if data.error_code:
                self.ctx.broker.errors.add(ApiKey.FETCH, data.error_code)

    def _begin_to_read(self) -> None:
        self._results: list[Result] = []
        self._left = min(self.request.max_bytes, self.ctx.broker.config.server.fetch_max_bytes)
        self._found, self._failed = 0, False

    def _read_some(self, targets: Sequence[Target]) -> None:
        in_memory = self.ctx.connection.at_once_bytes
        results, left, found = self._results, self._left, self._found
        for key, partition, target in targets:
            if isinstance(target, FetchPartitionData):
                results.append((key, target))
                continue
            data = self._read(target, key[1], partition, min(partition.partition_max_bytes, left), found == 0, in_memory - found)
            found += len(data.records)
            left = max(left - len(data.records), 0)
            self._failed = self._failed or data.error_code != 0
            results.append((key, data))
        self._left, self._found = left, found

    def _is_enough(self) -> bool:
        return self._found >= self.request.min_bytes or self._failed or not self._waits_for_something() or self.request.max_wait_ms <= 0

    def _waits_for_something(self) -> bool:
        session = self.context.session
        return bool(self.logs) if session is None else session.watching > 0

    def _quiet(self, targets: Sequence[Target]) -> None:
        """What is read to its end needs no look before it changes, or the client asks for something else."""
        session = self.context.session
        if session is None:
            return
        for key, partition, target in targets:
            if isinstance(target, Log) and self._is_read(partition, target) and target.leader_epoch >= partition.last_fetched_epoch:
                session.active.pop(key, None)

    def _may_wait(self) -> bool:
        return self.request.max_wait_ms > 0 and self.request.min_bytes > 0 and self.request.replica_id < 0

    def _are_read(self, targets: Sequence[Target]) -> bool:
        """A cheap look before reading: every partition is read to its end, so there is nothing to give yet."""
        return all(isinstance(target, FetchPartitionData) or self._is_read(partition, target) for _key, partition, target in targets)

    def _is_told(self, target: Target) -> bool:
        """Does the client of the session know the bounds that the log has now?"""
        key, _partition, log = target
        known = self.context.session.partitions.get(key) if self.context.session is not None else None
        if known is None or not isinstance(log, Log):
            return False
        return (known.high_watermark, known.log_start_offset) == (log.high_watermark, log.log_start_offset)

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
            data = log.reader.read(partition.fetch_offset, limit, self.isolation, at_least_one, max(in_memory, SMALL_BYTES), patient=True)
        except KafkaError as error:
            return FetchPartitionData(index, error.code)
        aborted = None if data.aborted is None else [(txn.producer_id, txn.first_offset) for txn in data.aborted]
        return FetchPartitionData(index, 0, data.high_watermark, data.last_stable_offset, data.log_start_offset, aborted, data.records)


def _portions(entries: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(entries), PARTITIONS_A_TURN):
        yield entries[start : start + PARTITIONS_A_TURN]
