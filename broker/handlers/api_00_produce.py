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
from typing import TYPE_CHECKING, Any

from oncelog.broker.answers import Settling, holding_back, later
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.broker.handlers.produce.admission import admit
from oncelog.broker.handlers.produce.batch_checks import PARTITIONS_A_TURN, check_records, check_request, checked_at_once
from oncelog.broker.handlers.produce.partition import Part, keep_batches, refuse_all, refused
from oncelog.broker.handlers.produce.straight import straight
from oncelog.broker.net.dispatch import CloseConnection, api
from oncelog.broker.net.turns import at_once
from oncelog.coordinator.deferred import Deferred
from oncelog.coordinator.runtime import LogPosition
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.hot import ManyPartitions, PartitionProduceResponse, ProduceRequest, pack_produce_response, parse_produce
from oncelog.protocol.names import INTERNAL_TOPICS, TopicPartition
from oncelog.protocol.primitives import Buffer, MalformedRequest
from oncelog.storage.log.log import Log

if TYPE_CHECKING:
    from oncelog.broker.context import RequestContext
    from oncelog.broker.net.turns import Steps

FOLDERS_A_TURN = 8  # more first writes of a request than that wait for another thread
RETRY_MS = 20  # add.partitions.to.txn.retry.backoff.ms
RETRY_LIMIT_MS = 100  # add.partitions.to.txn.retry.backoff.max.ms


@api(ApiKey.PRODUCE, 3, 13, raw=True, advertised_min=0, straight=straight)
def handle(body: memoryview, ctx: RequestContext) -> Any:
    """Append every batch, answer when `acks` says so."""
    return _produce(body, ctx, folders_made=False)


def _produce(body: memoryview, ctx: RequestContext, *, folders_made: bool) -> Any:
    try:
        request = parse_produce(ctx.api_version, body, PARTITIONS_A_TURN)
    except ManyPartitions:
        appended = ctx.broker.turns.go_on(_produce_many(memoryview(bytearray(body)), ctx), None)
        return _after(appended, lambda: appended.result()())
    topics = [
        (topic_id if ctx.api_version >= 13 else name, _parts(name, topic_id, partitions, ctx))
        for name, topic_id, partitions in request.topics
    ]
    parts = [part for _ref, group in topics for part in group]
    if not folders_made:
        new = _not_written_yet(parts)
        if len(new) > FOLDERS_A_TURN:
            return _after_folders(bytes(body), new, ctx)
    at_once(check_request(request, parts, ctx))
    if checked_at_once(parts, ctx):
        return _admit_and_append(request, topics, parts, ctx)
    keep_batches(parts)
    checked = ctx.broker.turns.go_on(check_records(parts, ctx), None)
    return _after(checked, lambda: _admit_and_append(request, topics, parts, ctx))


def _not_written_yet(parts: list[Part]) -> list[Log]:
    logs = [part.log for part in parts if part.log is not None and part.response is None]
    return [log for log in logs if log.before_first_write is not None]


def _after_folders(body: bytes, logs: list[Log], ctx: RequestContext) -> Deferred[Any]:
    """The first writes of many partitions: their folders are made off the loop, then the request is looked at again."""
    answer: Deferred[Any] = Deferred()
    again = partial(_produce, memoryview(bytearray(body)), ctx, folders_made=True)
    ctx.broker.logs.begin_first_writes(logs, lambda: answer.become(again))
    return holding_back(answer)


def _produce_many(body: memoryview, ctx: RequestContext) -> Steps[Callable[[], Any]]:
    """A request for more partitions than a turn may take: each portion is admitted and appended in a turn. How it is answered."""
    version = ctx.api_version
    try:
        request = yield partial(parse_produce, version, body)
    except MalformedRequest as malformed:
        raise CloseConnection(f"malformed PRODUCE version {version}: {malformed}") from malformed
    topics = []
    for name, topic_id, partitions in request.topics:
        parts: dict[int, Part] = {}
        for start in range(0, len(partitions), PARTITIONS_A_TURN):
            some = _parts(name, topic_id, partitions[start : start + PARTITIONS_A_TURN], ctx)
            parts |= {part.index: part for part in some}
            yield None
        topics.append((topic_id if version >= 13 else name, list(parts.values())))
    everything = [part for _ref, group in topics for part in group]
    yield from check_request(request, everything, ctx)
    settling, outstanding, positions = Settling(), [], []
    for start in range(0, len(everything), PARTITIONS_A_TURN):
        some = everything[start : start + PARTITIONS_A_TURN]
        if new := _not_written_yet(some):
            made: Deferred[None] = Deferred()
            ctx.broker.logs.begin_first_writes(new, partial(made.resolve, None))
            yield made
        yield from check_records(some, ctx)
        tries = 0
        while (waits := admit(request, some, ctx)) is None and tries < RETRY_LIMIT_MS // RETRY_MS:
            tries += 1
            yield later(None, RETRY_MS)
        if waits is None:
            refuse_all([part for part in some if part.response is None], ErrorCode.CONCURRENT_TRANSACTIONS)
        _append_all(some, ctx)
        positions += waits or []
        outstanding += _begin_settling(request, some, waits or [], settling, ctx)
        yield None
    return lambda: _answer_settled(request, topics, everything, outstanding, positions, settling, ctx)


def _after(checked: Deferred[Any], go_on: Callable[[], Any]) -> Deferred[Any]:
    """What `go_on` answers, once the records are looked at. Requests behind this one wait until then, so that sequences stay in order."""
    answer: Deferred[Any] = Deferred()
    until = answer.holds = Deferred()

    held = False

    def make() -> Any:
        nonlocal held
        checked.result()
        reply = go_on()
        held = isinstance(reply, Deferred) and reply.holds is not None
        return reply

    def done(_checked: Deferred[None]) -> None:
        answer.become(make)
        if held:
            answer.when_done(until.resolve)
        else:
            until.resolve(None)

    checked.when_done(done)
    return answer


def _parts(
    name: str | None, topic_id: bytes | None, partitions: Sequence[tuple[int, memoryview | None]], ctx: RequestContext
) -> list[Part]:
    missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if ctx.api_version >= 13:
        topic = ctx.broker.logs.topics.by_id(uuid.UUID(bytes=bytes(topic_id or bytes(16))))
        name, missing = (topic.name, missing) if topic is not None else ("", ErrorCode.UNKNOWN_TOPIC_ID)
    assert name is not None
    allowed = not name or ctx.authorize(AclOperation.WRITE, ResourceType.TOPIC, name)
    parts: dict[int, Part] = {}
    for index, batch in partitions:
        part = parts[index] = Part(name, index, batch)  # the same partition twice: the last one counts
        part.log = ctx.broker.logs.log(TopicPartition(name, index)) if allowed else None
        if not allowed:
            part.refuse(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        elif name in INTERNAL_TOPICS and ctx.client_id != "__admin_client":
            part.refuse(ErrorCode.INVALID_TOPIC_EXCEPTION)
        elif part.log is None:
            part.refuse(missing)
    return list(parts.values())


def _admit_and_append(request: ProduceRequest, topics: Any, parts: list[Part], ctx: RequestContext) -> Any:
    waits = admit(request, parts, ctx)
    if waits is None:
        return _retry_admission(request, topics, parts, ctx)
    return _append_and_answer(request, topics, parts, waits, ctx)


def _retry_admission(request: ProduceRequest, topics: Any, parts: list[Part], ctx: RequestContext) -> Deferred[Any]:
    """51 is asked again every 20 ms for at most 100 ms; requests behind this one wait, so that sequences stay in order."""
    keep_batches(parts)
    loop = asyncio.get_running_loop()
    deadline = loop.time() + RETRY_LIMIT_MS / 1000

    def again() -> Any:
        waits = admit(request, parts, ctx)
        if waits is None:
            if loop.time() < deadline:
                return soon()
            refuse_all([part for part in parts if part.response is None], ErrorCode.CONCURRENT_TRANSACTIONS)
        return _append_and_answer(request, topics, parts, waits or [], ctx)

    def soon() -> Deferred[Any]:
        answer: Deferred[Any] = Deferred()
        loop.call_later(RETRY_MS / 1000, answer.become, again)
        return answer

    return holding_back(soon())


def _append_and_answer(request: ProduceRequest, topics: Any, parts: list[Part], waits: list[LogPosition], ctx: RequestContext) -> Any:
    _append_all(parts, ctx)
    settling = Settling()
    outstanding = _begin_settling(request, parts, waits, settling, ctx)
    return _answer_settled(request, topics, parts, outstanding, waits, settling, ctx)


def _append_all(parts: list[Part], ctx: RequestContext) -> None:
    for part in parts:
        if part.response is None:
            _append(part, ctx)


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
        part.end = info.last_offset + 1
        part.response = PartitionProduceResponse(
            part.index, ErrorCode.NONE, info.base_offset, info.log_append_time_ms, info.log_start_offset
        )


def _begin_settling(
    request: ProduceRequest, parts: list[Part], waits: list[LogPosition], settling: Settling, ctx: RequestContext
) -> list[Part]:
    """Have `settling` wait until all is durable; the parts that are not yet."""
    if request.acks == 0:
        return []
    outstanding = [part for part in parts if part.end >= 0 and part.log is not None and part.log.high_watermark < part.end]
    for part in outstanding:
        assert part.log is not None
        part.log.when_durable(part.end, settling.one(part))
    for position in waits:
        ctx.broker.transactions.when_durable(position, settling.one(position))
    return outstanding


def _answer_settled(
    request: ProduceRequest,
    topics: Any,
    parts: list[Part],
    outstanding: list[Part],
    waits: list[LogPosition],
    settling: Settling,
    ctx: RequestContext,
) -> Any:
    if request.acks == 0:
        failed = next((part for part in parts if part.response is not None and part.response.error_code), None)
        if failed is not None and failed.response is not None:
            raise CloseConnection(
                f"acks=0 produce to {failed.topic}-{failed.index} failed with {ErrorCode(failed.response.error_code).name}"
            )
        return None

    def answer() -> list[Buffer]:
        for part in outstanding:
            error = settling.failed.get(part)
            if error is not None:
                part.refuse(error.code, error.message)
        if any(position in settling.failed for position in waits):
            # the record that made the transaction Ongoing could not be written: nothing that rests on it may be acknowledged
            refuse_all([part for part in parts if part.verified], ErrorCode.NOT_ENOUGH_REPLICAS)
        return _answer(topics, ctx)

    return settling.reply(answer)


def _answer(topics: Any, ctx: RequestContext) -> list[Buffer]:
    return [pack_produce_response(ctx.api_version, [(ref, [part.response for part in parts]) for ref, parts in topics])]
