"""One partition of a Produce request on its way to its answer."""

from __future__ import annotations

from collections.abc import Iterable

from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.hot import PartitionProduceResponse
from oncelog.protocol.records import BatchHeader
from oncelog.storage.log.log import Log
from oncelog.storage.log.validation import InvalidRecordError

# refusals that ReplicaManager.appendRecordsToLeader answers without looking at the log
_WITHOUT_LOG_START = {
    ErrorCode.CORRUPT_MESSAGE,
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.RECORD_LIST_TOO_LARGE,
    ErrorCode.KAFKA_STORAGE_ERROR,
}
# what a user has to know to find the cause; Apache Kafka leaves it out of all but the first
_WITH_MESSAGE = {
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.INVALID_TXN_STATE,
}


PLAIN_BYTES = 32 << 10  # of a request: so much that is checked and appended within a turn, whatever it is


class Part:
    """`response` None: not decided yet."""

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

    def appended(self, base_offset: int, end: int, log_append_time_ms: int) -> None:
        """It stands in the log, up to `end`."""
        assert self.log is not None
        self.end = end
        self.response = PartitionProduceResponse(self.index, 0, base_offset, log_append_time_ms, self.log.log_start_offset)


def append_plain(parts: Iterable[Part], now_ms: int) -> None:
    """Those whose batches are plain, as many as a turn of the loop has time for; the others are left to the ordinary way."""
    left = PLAIN_BYTES
    for part in parts:
        log, batch = part.log, part.batch
        if part.response is not None or log is None or not isinstance(batch, memoryview):
            continue
        left -= len(batch)
        if left < 0:
            return
        try:
            base_offset = log.plain.append(batch, now_ms)
        except KafkaError as error:
            part.response = refused(part.index, log, error)
        else:
            if base_offset >= 0:
                part.appended(base_offset, log.log_end_offset, -1)


def refuse_all(parts: Iterable[Part], code: ErrorCode) -> None:
    """The same for each."""
    for part in parts:
        part.refuse(code)


def keep_batches(parts: Iterable[Part]) -> None:
    """The receive buffer is not ours beyond this turn."""
    for part in parts:
        if isinstance(part.batch, memoryview):
            part.batch = memoryview(bytearray(part.batch))


def refused(index: int, log: Log, error: KafkaError) -> PartitionProduceResponse:
    """What a client is told of an append that the log did not take."""
    if isinstance(error, InvalidRecordError):
        errors = [(each.batch_index, each.message) for each in error.record_errors]
        return PartitionProduceResponse(
            index, error.code, log_start_offset=log.log_start_offset, record_errors=errors, error_message=error.message
        )
    log_start = -1 if error.code in _WITHOUT_LOG_START else log.log_start_offset
    message = error.message if error.code in _WITH_MESSAGE else None
    return PartitionProduceResponse(index, error.code, log_start_offset=log_start, error_message=message)
