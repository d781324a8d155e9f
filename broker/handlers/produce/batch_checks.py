"""What is looked at before anything of a Produce request is appended: the request, each batch's form, each record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.broker.handlers.produce.partition import Part, append_plain, refuse_all
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.hot import ProduceRequest
from oncelog.protocol.record_walk import Allowance
from oncelog.protocol.records import CURRENT_MAGIC, HEADER_SIZE, check_crc, parse_header
from oncelog.storage.log.validation import checking, only_batch

if TYPE_CHECKING:
    from oncelog.broker.context import RequestContext
    from oncelog.broker.net.turns import Steps

PARTITIONS_A_TURN = 128  # of a request for more: each costs up to 0.1 ms until it is appended
ACKS = (-1, 0, 1)
CODECS = 7
ZSTD = 4
TRANSACTIONAL = 0x10


def append_or_check(request: ProduceRequest, parts: list[Part], ctx: RequestContext) -> Steps[None]:
    """Append what is plain; what is wrong with the others, or with the request as a whole, is told on its partitions."""
    if any(_is_transactional(part.batch) for part in parts):
        if not _may_transact(request.transactional_id, ctx):
            refuse_all(parts, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)  # before anything about its topics
            return
    elif request.acks in ACKS:
        append_plain(parts, ctx.now_ms)
    for number, part in enumerate(parts, 1):
        if part.response is None:
            _check_batch(part, ctx.api_version)
        if not number % PARTITIONS_A_TURN:
            yield None
    if request.acks not in ACKS:
        refuse_all([part for part in parts if part.response is None], ErrorCode.INVALID_REQUIRED_ACKS)
        return
    transactional = [part for part in parts if part.header is not None and part.header.attributes & TRANSACTIONAL]
    if len({(part.header.producer_id, part.header.producer_epoch) for part in transactional if part.header}) > 1:
        refuse_all(parts, ErrorCode.INVALID_PRODUCER_ID_MAPPING)


def _is_transactional(batch: memoryview | bytearray | None) -> bool:
    """Whether the first batch is so, as far as it can be read (`RequestUtils.hasTransactionalRecords`)."""
    return batch is not None and len(batch) >= HEADER_SIZE and batch[16] == CURRENT_MAGIC and bool(batch[22] & TRANSACTIONAL)


def _may_transact(transactional_id: str | None, ctx: RequestContext) -> bool:
    return transactional_id is not None and ctx.authorize(AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, transactional_id)


def _check_batch(part: Part, version: int) -> None:
    """Whether it is one batch, of a codec that may be sent."""
    log = part.log
    assert log is not None
    try:
        part.batch = only_batch(part.batch if part.batch is not None else b"")
    except KafkaError as error:
        part.refuse(error.code)
        return
    if len(part.batch) < HEADER_SIZE:
        return  # the log finds the words
    part.header = parse_header(part.batch)
    if part.header.attributes & CODECS > ZSTD and check_crc(part.batch):
        part.refuse(ErrorCode.UNKNOWN_SERVER_ERROR, log_start=log.log_start_offset)  # Kafka meets an unexpected exception there
    elif part.header.attributes & CODECS == ZSTD and version < 7:
        part.refuse(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)


def checked_at_once(parts: list[Part], ctx: RequestContext) -> bool:
    """False: one turn is not enough; what was checked so far stays so."""
    for _job in check_records(parts, ctx):
        return False
    return True


def check_records(parts: list[Part], ctx: RequestContext) -> Steps[None]:
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
