"""Produce (0), v3-13; advertised from 0 (KAFKA-18659), though a request below v3 closes the connection.

v7: zstd. v8: record errors. v9: flexible. v12: a transactional batch adds its partition by itself (KIP-890). v13: topic ids.
acks=0 gets no answer, and an error closes the connection. acks=1 and acks=all are answered once durable, which is also when readers see it.
Checks by request, then partition by partition; partitions succeed or fail one by one (Kafka's ReplicaManager.handleProduceAppend).
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.broker.fetching.delayed import Countdown
from oncelog.broker.net.connection import BlockedRequests, Slot
from oncelog.broker.net.dispatch import CloseConnection, api
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.hot import (
    LoneProduce,
    LoneProduceReader,
    PartitionProduceResponse,
    ProduceRequest,
    pack_lone_answer,
    pack_produce_response,
    parse_produce,
)
from oncelog.protocol.names import INTERNAL_TOPICS, TopicPartition
from oncelog.protocol.primitives import Buffer
from oncelog.protocol.record_walk import Allowance
from oncelog.protocol.records import CURRENT_MAGIC, HEADER_SIZE, LOG_OVERHEAD, BatchHeader, parse_header
from oncelog.storage.log.log import Log
from oncelog.storage.log.validation import InvalidRecordError, TakesLong, checking

if TYPE_CHECKING:
    from oncelog.broker.context import RequestContext
    from oncelog.broker.net.turns import Steps

ZSTD = 4
TRANSACTIONAL = 0x10
_NOT_STRAIGHT = TRANSACTIONAL | ZSTD  # bit 2 of the codec: zstd, which not every version may send, and what is no codec
FOLDERS_A_TURN = 8  # more first writes of a request than that wait for another thread
RETRY_MS = 20  # add.partitions.to.txn.retry.backoff.ms
RETRY_LIMIT_MS = 100  # add.partitions.to.txn.retry.backoff.max.ms
# internal answers of the verification that an old client is told as a retriable error of the partition
_RETRIABLE = {
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
}
# refusals that ReplicaManager.appendRecordsToLeader answers without looking at the log
_WITHOUT_LOG_START = {
    ErrorCode.CORRUPT_MESSAGE,
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.RECORD_LIST_TOO_LARGE,
    ErrorCode.KAFKA_STORAGE_ERROR,
}


class _Part:
    """One partition of a request on its way."""

    __slots__ = ("batch", "checked", "end", "header", "index", "log", "refusal", "response", "topic", "verified")

    def __init__(self, topic: str, index: int, batch: memoryview | None) -> None:
        self.topic = topic
        self.index = index
        self.batch: memoryview | bytearray | None = batch
        self.log: Log | None = None
        self.header: BatchHeader | None = None
        self.checked = False
        self.refusal: KafkaError | None = None  # what is wrong with the batch, told when it is to be appended
        self.verified = False
        self.end = -1  # offset that must be durable before the answer
        self.response: PartitionProduceResponse | None = None

    def refuse(self, code: ErrorCode, message: str | None = None, log_start: int = -1) -> None:
        self.response = PartitionProduceResponse(self.index, code, log_start_offset=log_start, error_message=message)


_lone_reader = LoneProduceReader()
_lone_allowance = Allowance()


class _Durable:
    """Answers a lone request, called by the log."""

    __slots__ = ("answer", "lone", "slot", "version")

    def __init__(self, slot: Slot, lone: LoneProduce, answer: bytes, version: int) -> None:
        self.slot = slot
        self.lone = lone
        self.answer = answer
        self.version = version

    def __call__(self, error: KafkaError | None) -> None:
        if error is None:
            self.slot.fill((self.answer,))
            return
        refused = PartitionProduceResponse(self.lone.partition, error.code, error_message=error.message)
        ref = self.lone.topic_id if self.lone.topic_id is not None else self.lone.topic or ""
        self.slot.fill((pack_produce_response(self.version, [(ref, [refused])]),))


def _produce_lone(lone: LoneProduce, batch: memoryview, ctx: RequestContext) -> list[Buffer] | Slot | None:
    """The straight path of one well-formed, not transactional batch for one partition; None: nothing was done, the long way decides.

    Raises TakesLong, having done nothing either.
    """
    broker, topic = ctx.broker, lone.topic
    if lone.topic_id is not None:
        known = broker.logs.topics.by_id(uuid.UUID(bytes=lone.topic_id))
        topic = known.name if known is not None else None
    if topic is None or topic in INTERNAL_TOPICS or len(batch) < HEADER_SIZE or not -1 <= lone.acks <= 1 or lone.acks == 0:
        return None
    header = parse_header(batch)
    if header.batch_length + LOG_OVERHEAD != len(batch) or header.magic != CURRENT_MAGIC or header.attributes & _NOT_STRAIGHT:
        return None
    log = broker.logs.log(TopicPartition(topic, lone.partition))
    if log is None or (broker.authorizer is not None and not ctx.authorize(AclOperation.WRITE, ResourceType.TOPIC, topic)):
        return None
    try:
        _lone_allowance.refill()
        info = log.append(batch, ctx.now_ms, header=header, allowance=_lone_allowance)
    except KafkaError as error:
        refused = _refused(lone.partition, log, error)
        ref = lone.topic_id if lone.topic_id is not None else topic
        return [pack_produce_response(ctx.api_version, [(ref, [refused])])]
    answer = pack_lone_answer(lone, 0, info.base_offset, info.log_append_time_ms, info.log_start_offset)
    end = info.last_offset + 1
    if log.high_watermark >= end:
        return [answer]
    slot = Slot()
    log.when_durable(end, _Durable(slot, lone, answer, ctx.api_version))
    return slot


@api(ApiKey.PRODUCE, 3, 13, raw=True, advertised_min=0)
def handle(body: memoryview, ctx: RequestContext) -> Any:
    """Append every batch, answer when `acks` says so."""
    lone = _lone_reader.read(ctx.api_version, body)
    long = False
    if lone is not None:
        try:
            answer = _produce_lone(lone[0], lone[1], ctx)
        except TakesLong:
            long = True
        else:
            if answer is not None:
                return answer
    return _produce(body, ctx, folders_made=False, long=long)


def _produce(body: memoryview, ctx: RequestContext, *, folders_made: bool, long: bool = False) -> Any:
    request = parse_produce(ctx.api_version, body)
    topics = [
        (topic_id if ctx.api_version >= 13 else name, _parts(name, topic_id, partitions, ctx))
        for name, topic_id, partitions in request.topics
    ]
    parts = [part for _ref, group in topics for part in group]
    if not folders_made:
        logs = [part.log for part in parts if part.log is not None and part.response is None]
        new = [log for log in logs if log.before_first_write is not None]
        if len(new) > FOLDERS_A_TURN:
            return _after_folders(bytes(body), new, ctx)
    _check_request(request, parts, ctx)
    if not long and _checked_at_once(parts, ctx):
        return _admit_and_append(request, topics, parts, ctx)
    _keep_batches(parts)
    checked = ctx.broker.turns.go_on(_check_records(parts, ctx), None)
    return _after_check(checked, lambda: _admit_and_append(request, topics, parts, ctx))


def _after_folders(body: bytes, logs: list[Log], ctx: RequestContext) -> BlockedRequests:
    """The first writes of many partitions: their folders are made off the loop, then the request is looked at again."""
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

    def made() -> None:
        if future.done():
            return
        try:
            answer = _produce(memoryview(bytearray(body)), ctx, folders_made=True)
        except Exception as error:  # it belongs to the connection, which logs it and closes
            future.set_exception(error)
            return
        if isinstance(answer, BlockedRequests):
            answer = answer.future
        if isinstance(answer, asyncio.Future):
            answer.add_done_callback(lambda done: _pass_on(done, future))
        else:
            future.set_result(answer)

    ctx.broker.logs.begin_first_writes(logs, made)
    return BlockedRequests(future)


def _checked_at_once(parts: list[_Part], ctx: RequestContext) -> bool:
    """False: one turn is not enough; what was checked so far stays so."""
    for _job in _check_records(parts, ctx):
        return False
    return True


def _check_records(parts: list[_Part], ctx: RequestContext) -> Steps[None]:
    """Look at every record of the request; what is wrong is told when the batch is to be appended."""
    allowance = Allowance()
    for part in parts:
        log = part.log
        if part.response is not None or part.checked or part.refusal or log is None or part.batch is None or log.offline is not None:
            continue
        check = checking(part.batch, log.config, log.topic_partition, ctx.now_ms, allowance, client=True, header=part.header)
        try:
            part.header, part.batch = yield from check
            part.checked = True
        except KafkaError as error:
            part.refusal = error.with_traceback(None)


def _after_check(checked: asyncio.Task[None], go_on: Callable[[], Any]) -> BlockedRequests:
    """What `go_on` answers, once the records are looked at. Requests behind this one wait until then, so that sequences stay in order."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    until: asyncio.Future[None] = loop.create_future()

    def done(checked: asyncio.Task[None]) -> None:
        try:
            checked.result()
            answer = go_on()
        except asyncio.CancelledError:
            future.cancel()
        except Exception as error:  # it belongs to the connection, which logs it and closes
            future.set_exception(error)
        else:
            if isinstance(answer, BlockedRequests):
                future.add_done_callback(lambda _done: until.set_result(None))
                answer.future.add_done_callback(lambda done: _pass_on(done, future))
                return
            if isinstance(answer, asyncio.Future):
                answer.add_done_callback(lambda done: _pass_on(done, future))
            else:
                future.set_result(answer)
        until.set_result(None)

    checked.add_done_callback(done)
    return BlockedRequests(future, until)


def _pass_on(done: asyncio.Future[Any], future: asyncio.Future[Any]) -> None:
    if future.done():
        return
    if done.cancelled():
        future.cancel()
    elif (error := done.exception()) is not None:
        future.set_exception(error)
    else:
        future.set_result(done.result())


def _parts(
    name: str | None, topic_id: bytes | None, partitions: Sequence[tuple[int, memoryview | None]], ctx: RequestContext
) -> list[_Part]:
    missing = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if ctx.api_version >= 13:
        topic = ctx.broker.logs.topics.by_id(uuid.UUID(bytes=bytes(topic_id or bytes(16))))
        name, missing = (topic.name, missing) if topic is not None else ("", ErrorCode.UNKNOWN_TOPIC_ID)
    assert name is not None
    allowed = not name or ctx.authorize(AclOperation.WRITE, ResourceType.TOPIC, name)
    parts: dict[int, _Part] = {}
    for index, batch in partitions:
        part = parts[index] = _Part(name, index, batch)  # the same partition twice: the last one counts
        part.log = ctx.broker.logs.log(TopicPartition(name, index)) if allowed else None
        if not allowed:
            part.refuse(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        elif name in INTERNAL_TOPICS and ctx.client_id != "__admin_client":
            part.refuse(ErrorCode.INVALID_TOPIC_EXCEPTION)
        elif part.log is None:
            part.refuse(missing)
    return list(parts.values())


def _check_request(request: ProduceRequest, parts: list[_Part], ctx: RequestContext) -> None:
    """What is wrong with a request as a whole, told on its partitions."""
    if any(_is_transactional(part.batch) for part in parts) and not _may_transact(request.transactional_id, ctx):
        _refuse_all(parts, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)  # before anything about its topics
        return
    for part in parts:
        if part.response is None:
            _check_batch(part, ctx.api_version)
    if request.acks not in (-1, 0, 1):
        _refuse_all([part for part in parts if part.response is None], ErrorCode.INVALID_REQUIRED_ACKS)
        return
    transactional = [part for part in parts if part.header is not None and part.header.attributes & TRANSACTIONAL]
    if len({(part.header.producer_id, part.header.producer_epoch) for part in transactional if part.header}) > 1:
        _refuse_all(parts, ErrorCode.INVALID_PRODUCER_ID_MAPPING)


def _is_transactional(batch: memoryview | bytearray | None) -> bool:
    """Whether the first batch is so, as far as it can be read (`RequestUtils.hasTransactionalRecords`)."""
    return batch is not None and len(batch) >= HEADER_SIZE and batch[16] == CURRENT_MAGIC and bool(batch[22] & TRANSACTIONAL)


def _may_transact(transactional_id: str | None, ctx: RequestContext) -> bool:
    return transactional_id is not None and ctx.authorize(AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, transactional_id)


def _refuse_all(parts: list[_Part], code: ErrorCode) -> None:
    for part in parts:
        part.refuse(code)


def _check_batch(part: _Part, version: int) -> None:
    """Exactly one whole batch of magic 2 (Kafka's ProduceRequest.validateRecords), before anything is appended."""
    batch, log = part.batch, part.log
    assert log is not None
    if batch is None or len(batch) < 17:
        part.refuse(ErrorCode.INVALID_RECORD)
        return
    size = 12 + int.from_bytes(batch[8:12], "big", signed=True)
    if batch[16] != 2 or len(batch) - size >= HEADER_SIZE or size > len(batch):
        part.refuse(ErrorCode.INVALID_RECORD)
        return
    if size < HEADER_SIZE:
        part.refuse(ErrorCode.CORRUPT_MESSAGE)
        return
    part.batch = batch[:size]  # fewer bytes behind it than a header are ignored
    part.header = parse_header(part.batch)
    if part.header.attributes & 7 > ZSTD:
        part.refuse(ErrorCode.UNKNOWN_SERVER_ERROR, log_start=log.log_start_offset)  # Kafka meets an unexpected exception there
    elif part.header.attributes & 7 == ZSTD and version < 7:
        part.refuse(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)


def _admit(request: ProduceRequest, parts: list[_Part], ctx: RequestContext) -> list[Any] | None:
    """Ask the transaction coordinator about transactional batches, in the turn of the append.

    Returns what the answer has to wait for beside the data; None: the previous transaction is still being completed, ask again soon.
    """
    asked = [part for part in parts if part.response is None and part.header is not None and part.header.attributes & TRANSACTIONAL]
    if not asked:
        return []
    assert asked[0].header is not None
    if request.transactional_id == "":
        _refuse_all(asked, ErrorCode.INVALID_REQUEST)
        return []
    header = asked[0].header
    partitions = [TopicPartition(part.topic, part.index) for part in asked]
    verdicts, handle_ = ctx.broker.transactions.admit(
        request.transactional_id or "", header.producer_id, header.producer_epoch, partitions, implicit_add=ctx.api_version >= 12
    )
    codes = [verdicts[partition] for partition in partitions]
    if ctx.api_version >= 12 and ErrorCode.CONCURRENT_TRANSACTIONS in codes:
        return None
    for part, code in zip(asked, codes, strict=True):
        part.verified = code is ErrorCode.NONE
        if not part.verified:
            part.refuse(_downgraded(code, ctx.api_version))
    return [handle_] if handle_ is not None else []


def _downgraded(code: ErrorCode, version: int) -> ErrorCode:
    """Errors of the verification as the client's version knows them (AddPartitionsToTxnManager, ReplicaManager)."""
    if code in _RETRIABLE or (code is ErrorCode.CONCURRENT_TRANSACTIONS and version < 12):
        return ErrorCode.NOT_ENOUGH_REPLICAS
    if code is ErrorCode.TRANSACTION_ABORTABLE and version <= 10:
        return ErrorCode.INVALID_TXN_STATE
    return ErrorCode.INVALID_PRODUCER_EPOCH if code is ErrorCode.PRODUCER_FENCED else code


def _admit_and_append(request: ProduceRequest, topics: Any, parts: list[_Part], ctx: RequestContext) -> Any:
    waits = _admit(request, parts, ctx)
    if waits is None:
        return _retry_admission(request, topics, parts, ctx)
    return _append_and_answer(request, topics, parts, waits, ctx)


def _keep_batches(parts: list[_Part]) -> None:
    """The receive buffer is not ours beyond this turn."""
    for part in parts:
        if isinstance(part.batch, memoryview):
            part.batch = memoryview(bytearray(part.batch))


def _retry_admission(request: ProduceRequest, topics: Any, parts: list[_Part], ctx: RequestContext) -> BlockedRequests:
    """51 is asked again every 20 ms for at most 100 ms; requests behind this one wait, so that sequences stay in order."""
    _keep_batches(parts)
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    deadline = loop.time() + RETRY_LIMIT_MS / 1000

    def again() -> None:
        if future.done():
            return
        try:
            waits = _admit(request, parts, ctx)
            if waits is None and loop.time() < deadline:
                loop.call_later(RETRY_MS / 1000, again)
                return
            if waits is None:
                _refuse_all([part for part in parts if part.response is None], ErrorCode.CONCURRENT_TRANSACTIONS)
            answer = _append_and_answer(request, topics, parts, waits or [], ctx)
        except Exception as error:  # it belongs to the connection, which logs it and closes
            future.set_exception(error)
            return
        if isinstance(answer, asyncio.Future):
            answer.add_done_callback(lambda done: None if future.done() else future.set_result(done.result()))
        else:
            future.set_result(answer)

    loop.call_later(RETRY_MS / 1000, again)
    return BlockedRequests(future)


def _append_and_answer(request: ProduceRequest, topics: Any, parts: list[_Part], waits: list[Any], ctx: RequestContext) -> Any:
    for part in parts:
        if part.response is None:
            _append(part, ctx)
    if request.acks == 0:
        failed = next((part for part in parts if part.response is not None and part.response.error_code), None)
        if failed is not None and failed.response is not None:
            raise CloseConnection(
                f"acks=0 produce to {failed.topic}-{failed.index} failed with {ErrorCode(failed.response.error_code).name}"
            )
        return None
    outstanding = [part for part in parts if part.end >= 0 and part.log is not None and part.log.high_watermark < part.end]
    if outstanding or waits:
        return _when_durable(topics, outstanding, waits, ctx)
    return _answer(topics, ctx)


def _append(part: _Part, ctx: RequestContext) -> None:
    log, batch = part.log, part.batch
    assert log is not None
    assert batch is not None
    try:
        if part.refusal is not None:
            raise part.refusal
        tv2 = ctx.api_version >= 12
        info = log.append(batch, ctx.now_ms, verified=part.verified, tv2=tv2, header=part.header, checked=part.checked)
    except KafkaError as error:
        part.response = _refused(part.index, log, error)
    else:
        part.end = info.last_offset + 1
        part.response = PartitionProduceResponse(
            part.index, ErrorCode.NONE, info.base_offset, info.log_append_time_ms, info.log_start_offset
        )


def _refused(index: int, log: Log, error: KafkaError) -> PartitionProduceResponse:
    if isinstance(error, InvalidRecordError):
        errors = [(each.batch_index, each.message) for each in error.record_errors]
        return PartitionProduceResponse(
            index, error.code, log_start_offset=log.log_start_offset, record_errors=errors, error_message=error.message
        )
    log_start = -1 if error.code in _WITHOUT_LOG_START else log.log_start_offset
    message = error.message if error.code is ErrorCode.KAFKA_STORAGE_ERROR else None
    return PartitionProduceResponse(index, error.code, log_start_offset=log_start, error_message=message)


def _when_durable(topics: Any, outstanding: list[_Part], waits: list[Any], ctx: RequestContext) -> asyncio.Future[list[Buffer]]:
    countdown = Countdown(len(outstanding) + len(waits))
    for part in outstanding:
        assert part.log is not None
        part.log.when_durable(part.end, lambda error, part=part: _settled(part, error, countdown))  # type: ignore[misc]
    for wait in waits:
        ctx.broker.transactions.when_durable(wait, lambda error: _all_settled(topics, error, countdown))
    answer: asyncio.Future[list[Buffer]] = countdown.future.get_loop().create_future()
    countdown.future.add_done_callback(lambda _done: None if answer.done() else answer.set_result(_answer(topics, ctx)))
    return answer


def _settled(part: _Part, error: KafkaError | None, countdown: Countdown) -> None:
    if error is not None:
        part.refuse(error.code, error.message)
    countdown.done()


def _all_settled(topics: Any, error: KafkaError | None, countdown: Countdown) -> None:
    """The record that made the transaction Ongoing could not be written: nothing that rests on it may be acknowledged."""
    if error is not None:
        for _ref, parts in topics:
            for part in parts:
                if part.verified:
                    part.refuse(ErrorCode.NOT_ENOUGH_REPLICAS)
    countdown.done()


def _answer(topics: Any, ctx: RequestContext) -> list[Buffer]:
    return [pack_produce_response(ctx.api_version, [(ref, [part.response for part in parts]) for ref, parts in topics])]
