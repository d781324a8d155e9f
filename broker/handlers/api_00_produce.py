"""Produce (0), v3-13; advertised from 0 (KAFKA-18659), though a request below v3 closes the connection.

v7: zstd. v8: record errors. v9: flexible. v12: a transactional batch adds its partition by itself (KIP-890). v13: topic ids.
acks=0 gets no answer, and an error closes the connection. acks=1 and acks=all are answered once durable, which is also when readers see it.
Checks by request, then partition by partition; partitions succeed or fail one by one (Kafka's ReplicaManager.handleProduceAppend).
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from oncelog.broker.answers import Settling, holding_back, later
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.broker.handlers.produce.admission import admit
from oncelog.broker.handlers.produce.batch_checks import PARTITIONS_A_TURN, append_or_check, check_records, checked_at_once
from oncelog.broker.handlers.produce.partition import Part, keep_batches, refuse_all, refused
from oncelog.broker.handlers.produce.straight import StraightProduce
from oncelog.broker.net.causes import OF_PRODUCE, tell_produce
from oncelog.broker.net.dispatch import CloseConnection, api
from oncelog.broker.net.turns import at_once
from oncelog.coordinator.deferred import Deferred, Reply
from oncelog.coordinator.runtime import LogPosition
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.hot import ManyPartitions, ProduceRequest, pack_produce_response, parse_produce
from oncelog.protocol.names import INTERNAL_TOPICS, TopicPartition
from oncelog.protocol.primitives import Buffer, MalformedRequest
from oncelog.storage.log.log import Log

if TYPE_CHECKING:
    from oncelog.broker.context import RequestContext
    from oncelog.broker.net.turns import Steps

_Answer: TypeAlias = "list[Buffer] | None"  # None: acks=0, nothing is sent
_Topic: TypeAlias = tuple[str | bytes, list[Part]]  # as the answer names it
_Asked: TypeAlias = Sequence[tuple[int, memoryview | None]]

FOLDERS_A_TURN = 8  # more first writes of a request than that wait for another thread
RETRY_MS = 20  # add.partitions.to.txn.retry.backoff.ms
RETRY_LIMIT_MS = 100  # add.partitions.to.txn.retry.backoff.max.ms


@api(ApiKey.PRODUCE, 3, 13, raw=True, advertised_min=0, straight=StraightProduce)
def handle(body: memoryview, ctx: RequestContext) -> Reply[_Answer]:
    """Append every batch, answer when `acks` says so."""
    return _produce(body, ctx, folders_made=False)


def _produce(body: memoryview, ctx: RequestContext, *, folders_made: bool) -> Reply[_Answer]:
    try:
        request = parse_produce(ctx.api_version, body, PARTITIONS_A_TURN)
    except ManyPartitions:
        appended = ctx.broker.turns.go_on(_produce_many(memoryview(bytearray(body)), ctx), None)
        return _after(appended, lambda: appended.result().answer())
    produce = _Produce(request, [_topic(name, topic_id, partitions, ctx) for name, topic_id, partitions in request.topics], ctx)
    parts = produce.parts
    if not folders_made:
        new = _not_written_yet(parts)
        if len(new) > FOLDERS_A_TURN:
            return _after_folders(bytes(body), new, ctx)
    at_once(append_or_check(request, parts, ctx))
    if checked_at_once(parts, ctx):
        return produce.admit_and_append()
    keep_batches(parts)
    return _after(ctx.broker.turns.go_on(check_records(parts, ctx), None), produce.admit_and_append)


def _not_written_yet(parts: list[Part]) -> list[Log]:
    logs = [part.log for part in parts if part.log is not None and part.response is None]
    return [log for log in logs if log.before_first_write is not None]


def _after_folders(body: bytes, logs: list[Log], ctx: RequestContext) -> Deferred[_Answer]:
    """The first writes of many partitions: their folders are made off the loop, then the request is looked at again."""
    answer: Deferred[_Answer] = Deferred()
    again = partial(_produce, memoryview(bytearray(body)), ctx, folders_made=True)
    ctx.broker.logs.begin_first_writes(logs, lambda: answer.become(again))
    return holding_back(answer)


def _produce_many(body: memoryview, ctx: RequestContext) -> Steps[_Produce]:
    """A request for more partitions than a turn may take: each portion is admitted and appended in a turn."""
    version = ctx.api_version
    try:
        request = yield partial(parse_produce, version, body)
    except MalformedRequest as malformed:
        raise CloseConnection(f"malformed PRODUCE version {version}: {malformed}") from malformed
    topics: list[_Topic] = []
    for name, topic_id, partitions in request.topics:
        ref: str | bytes = topic_id if topic_id is not None else name or ""
        parts: dict[int, Part] = {}
        for start in range(0, len(partitions), PARTITIONS_A_TURN):
            some = _topic(name, topic_id, partitions[start : start + PARTITIONS_A_TURN], ctx)[1]
            parts |= {part.index: part for part in some}
            yield None
        topics.append((ref, list(parts.values())))
    produce = _Produce(request, topics, ctx)
    yield from append_or_check(request, produce.parts, ctx)
    for start in range(0, len(produce.parts), PARTITIONS_A_TURN):
        some = produce.parts[start : start + PARTITIONS_A_TURN]
        if new := _not_written_yet(some):
            made: Deferred[None] = Deferred()
            ctx.broker.logs.begin_first_writes(new, partial(made.resolve, None))
            yield made
        yield from check_records(some, ctx)
        tries = 0
        while (waits := admit(request, some, ctx)) is None and tries < RETRY_LIMIT_MS // RETRY_MS:
            tries += 1
            yield later(None, RETRY_MS)
        produce.append(some, waits)
        yield None
    return produce


def _after(checked: Deferred[object], go_on: Callable[[], Reply[_Answer]]) -> Deferred[_Answer]:
    """What `go_on` answers, once the records are looked at. Requests behind this one wait until then, so that sequences stay in order."""
    answer: Deferred[_Answer] = Deferred()
    until = answer.holds = Deferred()

    held = False

    def make() -> Reply[_Answer]:
        nonlocal held
        checked.result()
        reply = go_on()
        held = isinstance(reply, Deferred) and reply.holds is not None
        return reply

    def done(_checked: Deferred[object]) -> None:
        answer.become(make)
        if held:
            answer.when_done(until.resolve)
        else:
            until.resolve(None)

    checked.when_done(done)
    return answer


def _topic(name: str | None, topic_id: bytes | None, partitions: _Asked, ctx: RequestContext) -> _Topic:
    ref: str | bytes = name or ""
    missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if topic_id is not None:
        ref = topic_id
        topic = ctx.broker.logs.topics.by_id(uuid.UUID(bytes=topic_id))
        name, missing = (topic.name, missing) if topic is not None else ("", ErrorCode.UNKNOWN_TOPIC_ID)
    assert name is not None
    refusal = ErrorCode.NONE
    if name and not ctx.authorize(AclOperation.WRITE, ResourceType.TOPIC, name):
        refusal = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    elif name in INTERNAL_TOPICS and ctx.client_id != "__admin_client":
        refusal = ErrorCode.INVALID_TOPIC_EXCEPTION
    parts: dict[int, Part] = {}
    for index, batch in partitions:
        part = parts[index] = Part(name, index, batch)  # the same partition twice: the last one counts
        if refusal is not ErrorCode.TOPIC_AUTHORIZATION_FAILED:
            part.log = ctx.broker.logs.log(TopicPartition(name, index))
        if refusal or part.log is None:
            part.refuse(refusal or missing)
    return ref, list(parts.values())


class _Produce:
    """One request on its way."""

    __slots__ = ("_outstanding", "_settling", "_waits", "ctx", "parts", "request", "topics")

    def __init__(self, request: ProduceRequest, topics: list[_Topic], ctx: RequestContext) -> None:
        self.request = request
        self.topics = topics
        self.ctx = ctx
        self.parts = [part for _ref, group in topics for part in group]
        self._settling = Settling()
        self._outstanding: list[Part] = []  # not durable yet
        self._waits: list[LogPosition] = []  # likewise, records of the transaction coordinator

    def admit_and_append(self) -> Reply[_Answer]:
        """What is not appended yet, when the records are looked at."""
        waits = admit(self.request, self.parts, self.ctx)
        if waits is None:
            return self._retry_admission()
        self.append(self.parts, waits)
        return self.answer()

    def _retry_admission(self) -> Deferred[_Answer]:
        """51 is asked again every 20 ms for at most 100 ms; requests behind this one wait, so that sequences stay in order."""
        keep_batches(self.parts)
        loop = asyncio.get_running_loop()
        deadline = loop.time() + RETRY_LIMIT_MS / 1000

        def again() -> Reply[_Answer]:
            waits = admit(self.request, self.parts, self.ctx)
            if waits is None and loop.time() < deadline:
                return soon()
            self.append(self.parts, waits)
            return self.answer()

        def soon() -> Deferred[_Answer]:
            answer: Deferred[_Answer] = Deferred()
            loop.call_later(RETRY_MS / 1000, answer.become, again)
            return answer

        return holding_back(soon())

    def append(self, parts: list[Part], waits: list[LogPosition] | None) -> None:
        """Those of `parts` that are neither refused nor appended; `waits` None: their transaction is still being completed."""
        if waits is None:
            refuse_all([part for part in parts if part.response is None], ErrorCode.CONCURRENT_TRANSACTIONS)
        for part in parts:
            if part.response is None:
                _append(part, self.ctx)
        if self.request.acks == 0:
            return
        for part in parts:
            if part.end >= 0 and part.log is not None and part.log.high_watermark < part.end:
                self._outstanding.append(part)
                part.log.when_durable(part.end, self._settling.one(part))
        for position in waits or ():
            self._waits.append(position)
            self.ctx.broker.transactions.when_durable(position, self._settling.one(position))

    def answer(self) -> Reply[_Answer]:
        """When all is durable, or has failed."""
        if self.request.acks == 0:
            self._close_if_one_failed()
            return None
        return self._settling.reply(self._settled)

    def _close_if_one_failed(self) -> None:
        for part in self.parts:
            if part.response is not None and part.response.error_code:
                self.ctx.broker.errors.add(ApiKey.PRODUCE, part.response.error_code)
                name = ErrorCode(part.response.error_code).name
                raise CloseConnection(f"acks=0 produce to {part.topic}-{part.index} failed with {name}")

    def _settled(self) -> _Answer:
        failed = self._settling.failed
        for part in self._outstanding:
            error = failed.get(part)
            if error is not None:
                part.refuse(error.code, error.message)
        if any(position in failed for position in self._waits):
            # the record that made the transaction Ongoing could not be written: nothing that rests on it may be acknowledged
            refuse_all([part for part in self.parts if part.verified], ErrorCode.NOT_ENOUGH_REPLICAS)
        for part in self.parts:
            if part.response is not None and part.response.error_code:
                self.ctx.broker.errors.add(ApiKey.PRODUCE, part.response.error_code)
                self._tell(part, ErrorCode(part.response.error_code), part.response.error_message)
        told = [(ref, [part.response for part in parts if part.response is not None]) for ref, parts in self.topics]
        return [pack_produce_response(self.ctx.api_version, told)]

    def _tell(self, part: Part, error: ErrorCode, message: str | None) -> None:
        if error in OF_PRODUCE and part.header is not None:
            pair = part.header.producer_id, part.header.producer_epoch
            place = TopicPartition(part.topic, part.index)
            tell_produce(self.ctx, self.request.transactional_id, place, pair, error, message)


def _append(part: Part, ctx: RequestContext) -> None:
    log, batch = part.log, part.batch
    assert log is not None
    assert batch is not None
    try:
        if part.refusal is not None:
            raise part.refusal
        tv2 = ctx.api_version >= 12
        info = log.append(batch, ctx.now_ms, verified=part.verified, tv2=tv2, header=part.header, checked=part.checked)
    except KafkaError as error:
        part.response = refused(part.index, log, error)
    else:
        part.appended(info.base_offset, info.last_offset + 1, info.log_append_time_ms)
