"""What is looked at before anything of a Produce request is appended."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.records import build_batch, rewrite_crc
from support.txn_requests import initialised
from support.whole_broker import WholeBroker

pytestmark = pytest.mark.unit
GOOD = bytes(build_batch([(1, None, b"value")]))
TRANSACTIONAL = {"base_sequence": 0, "is_transactional": True}


def produce(whole: WholeBroker, *batches: bytes | None, version: int = 9, acks: int = -1, id: str | None = None) -> list[int]:
    """The error of each partition."""
    data = [{"index": index, "records": batch} for index, batch in enumerate(batches)]
    topic: dict[str, Any] = {"topic_id": whole.topic_id("t")} if version >= 13 else {"name": "t"}
    asked = {"transactional_id": id, "acks": acks, "timeout_ms": 1000, "topic_data": [{**topic, "partition_data": data}]}
    answer = whole.ask(ApiKey.PRODUCE, version, **asked)
    return [each.error_code for each in answer.responses[0].partition_responses]


def without_codec() -> bytes:
    batch = bytearray(changed(21, struct.pack(">h", 5)))
    rewrite_crc(batch)
    return bytes(batch)


def changed(at: int, value: bytes, batch: bytes = GOOD) -> bytes:
    return batch[:at] + value + batch[at + len(value) :]


@pytest.mark.parametrize("version", [3, 9, 12, 13])
@pytest.mark.parametrize(
    ("batch", "error"),
    [
        (GOOD, ErrorCode.NONE),
        (None, ErrorCode.INVALID_RECORD),
        (b"", ErrorCode.INVALID_RECORD),
        (GOOD[:16], ErrorCode.INVALID_RECORD),
        (GOOD[:-1], ErrorCode.INVALID_RECORD),
        (changed(16, b"\x01"), ErrorCode.INVALID_RECORD),  # an older magic
        (changed(16, b"\x03"), ErrorCode.CORRUPT_MESSAGE),
        (GOOD + GOOD, ErrorCode.INVALID_RECORD),  # one batch a partition
        (GOOD + GOOD[:40], ErrorCode.NONE),  # the beginning of another
        (GOOD + b"x" * 60, ErrorCode.CORRUPT_MESSAGE),  # which this is not
        (GOOD + bytes(70), ErrorCode.CORRUPT_MESSAGE),
        (changed(8, struct.pack(">i", 13)), ErrorCode.CORRUPT_MESSAGE),
        (changed(8, struct.pack(">i", 48))[:60], ErrorCode.CORRUPT_MESSAGE),  # shorter than a header
        (without_codec(), ErrorCode.UNKNOWN_SERVER_ERROR),
        (changed(21, struct.pack(">h", 5)), ErrorCode.CORRUPT_MESSAGE),  # nor such a checksum
    ],
    ids=lambda value: repr(value)[:20],
)
def test_exactly_one_whole_batch(whole: WholeBroker, version: int, batch: bytes | None, error: ErrorCode) -> None:
    assert produce(whole, batch, GOOD, version=version) == [error, ErrorCode.NONE]
    assert (whole.log("t").log_end_offset, whole.log("t", 1).log_end_offset) == (0 if error else 1, 1)


@pytest.mark.parametrize(("version", "error"), [(6, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE), (7, ErrorCode.NONE)])
def test_zstd_came_with_version_7(whole: WholeBroker, version: int, error: ErrorCode) -> None:
    assert produce(whole, bytes(build_batch([(1, None, b"value")], codec=4)), version=version) == [error]


@pytest.mark.parametrize("acks", [2, -2, 100])
def test_acknowledgements_that_are_none(whole: WholeBroker, acks: int) -> None:
    assert produce(whole, GOOD, b"", acks=acks) == [ErrorCode.INVALID_REQUIRED_ACKS, ErrorCode.INVALID_RECORD]
    assert whole.log("t").log_end_offset == 0


def test_transactional_batches_need_their_id(whole: WholeBroker) -> None:
    pair = initialised(whole)
    batch = bytes(build_batch([(1, None, b"v")], **pair.fields, **TRANSACTIONAL))  # type: ignore[arg-type]
    assert produce(whole, batch, b"", GOOD, id=None)[:2] == [ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED] * 2
    whole.deny(AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, "x")
    assert produce(whole, batch, GOOD, id="x") == [ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED] * 2
    assert produce(whole, GOOD, id="x") == [ErrorCode.NONE]  # one without does not ask for it


def test_one_producer_a_request(whole: WholeBroker) -> None:
    pair = initialised(whole)
    first = bytes(build_batch([(1, None, b"v")], **pair.fields, **TRANSACTIONAL))  # type: ignore[arg-type]
    other = bytes(build_batch([(1, None, b"v")], producer_id=pair.producer_id + 1, producer_epoch=0, **TRANSACTIONAL))  # type: ignore[arg-type]
    assert produce(whole, first, other, version=12, id="x") == [ErrorCode.INVALID_PRODUCER_ID_MAPPING] * 2


def test_records_are_looked_at_before_any_is_stored(whole: WholeBroker) -> None:
    flipped = changed(len(GOOD) - 1, bytes([GOOD[-1] ^ 1]))
    assert produce(whole, flipped, GOOD) == [ErrorCode.CORRUPT_MESSAGE, ErrorCode.NONE]
    assert [whole.log("t", number).log_end_offset for number in (0, 1)] == [0, 1]
