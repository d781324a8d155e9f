"""One partition of a Produce: how a refusal is told."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from oncelog.broker.handlers.produce.partition import Part, keep_batches, refuse_all, refused
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.storage.log.validation import InvalidRecordError, RecordError

pytestmark = pytest.mark.unit
LOG: Any = SimpleNamespace(log_start_offset=7)


def test_a_refusal_is_an_answer() -> None:
    part = Part("t", 3, None)
    assert part.response is None
    part.refuse(ErrorCode.INVALID_RECORD, "why", log_start=5)
    assert part.response is not None
    told = part.response
    assert (told.index, told.error_code, told.error_message, told.log_start_offset, told.base_offset) == (3, 87, "why", 5, -1)


def test_all_are_refused_alike_the_refused_too() -> None:
    parts = [Part("t", index, None) for index in range(3)]
    parts[1].refuse(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    refuse_all(parts, ErrorCode.INVALID_REQUIRED_ACKS)
    assert [(part.response.index, part.response.error_code) for part in parts if part.response] == [(0, 21), (1, 21), (2, 21)]


def test_batches_are_copied_out_of_the_receive_buffer() -> None:
    buffer = bytearray(b"batch")
    own = bytearray(b"mine")
    parts = [Part("t", 0, memoryview(buffer)), Part("t", 1, None)]
    parts.append(Part("t", 2, None))
    parts[2].batch = own
    keep_batches(parts)
    buffer[:] = b"other"
    assert (bytes(parts[0].batch or b""), parts[1].batch) == (b"batch", None)
    assert parts[2].batch is own


@pytest.mark.parametrize(
    ("code", "log_start", "message"),
    [
        (ErrorCode.CORRUPT_MESSAGE, -1, None),
        (ErrorCode.MESSAGE_TOO_LARGE, -1, None),
        (ErrorCode.RECORD_LIST_TOO_LARGE, -1, None),
        (ErrorCode.KAFKA_STORAGE_ERROR, -1, "text"),
        (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, 7, None),
        (ErrorCode.INVALID_TIMESTAMP, 7, None),
        (ErrorCode.INVALID_PRODUCER_EPOCH, 7, None),
    ],
)
def test_what_a_log_did_not_take(code: ErrorCode, log_start: int, message: str | None) -> None:
    told = refused(2, LOG, KafkaError(code, "text"))
    assert (told.index, told.error_code, told.log_start_offset, told.error_message) == (2, code, log_start, message)
    assert (told.base_offset, list(told.record_errors)) == (-1, [])


def test_records_that_are_wrong_are_named() -> None:
    told = refused(
        2, LOG, InvalidRecordError(ErrorCode.INVALID_TIMESTAMP, "one of them", [RecordError(4, "no key"), RecordError(9, "late")])
    )
    assert (told.error_code, told.log_start_offset, told.error_message) == (ErrorCode.INVALID_TIMESTAMP, 7, "one of them")
    assert list(told.record_errors) == [(4, "no key"), (9, "late")]
