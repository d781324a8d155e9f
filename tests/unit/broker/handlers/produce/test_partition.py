"""One partition of a Produce: how a refusal is told, and what is appended at once."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any, cast

import pytest
from oncelog.broker.handlers.api_00_produce import handle
from oncelog.broker.handlers.produce import partition
from oncelog.broker.handlers.produce.partition import Part, append_plain, keep_batches, refuse_all, refused
from oncelog.broker.net.error_counts import ErrorCounts
from oncelog.broker.net.told_causes import Causes
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.names import TopicPartition
from oncelog.protocol.records import build_batch
from oncelog.storage.log.plain_append import NOT_PLAIN, PlainAppends
from oncelog.storage.log.validation import InvalidRecordError, RecordError
from support.flushed_when_told import DATA
from support.simfs import SimFileSystem
from support.storage_kit import T0, Kit

pytestmark = pytest.mark.unit
PARTITIONS = 6
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
        (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, 7, "text"),
        (ErrorCode.INVALID_TIMESTAMP, 7, None),
        (ErrorCode.INVALID_PRODUCER_EPOCH, 7, "text"),
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


def kit() -> Kit:
    made = Kit(DATA, SimFileSystem(1, now_ms=lambda: T0))
    made.manager.create_topic("t", PARTITIONS)
    return made


def answer(kit: Kit, asked: list[tuple[int, bytes | None]]) -> bytes:
    Topic = messages.ProduceRequest.TopicProduceData
    data = [Topic.PartitionProduceData(index=index, records=records) for index, records in asked]
    request = messages.ProduceRequest(transactional_id=None, acks=1, timeout_ms=1000, topic_data=[Topic(name="t", partition_data=data)])
    body = memoryview(bytearray(messages.encode_request(ApiKey.PRODUCE, 9, request)))
    broker = SimpleNamespace(logs=kit.manager, errors=ErrorCounts(), causes=Causes())
    ctx = SimpleNamespace(api_version=9, broker=broker, now_ms=T0, client_id="c", authorize=lambda *_asked: True)
    (told,) = cast(Any, handle(body, cast(Any, ctx)))
    return bytes(told)


def batch(rng: random.Random) -> bytes | None:
    made = bytearray(build_batch([(T0, b"k", b"v" * rng.randrange(200))] * rng.choice([1, 1, 1, 4]), codec=rng.choice([0, 0, 0, 1])))
    if rng.random() < 0.15:
        made[rng.randrange(len(made))] ^= 1 << rng.randrange(8)
    return None if rng.random() < 0.03 else bytes(made)


def test_answers_and_logs_are_those_of_the_ordinary_way(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(seed)
    requests = [[(rng.randrange(PARTITIONS + 1), batch(rng)) for _ in range(rng.randrange(1, 8))] for _ in range(60)]
    straight, ordinary = kit(), kit()
    plain = PlainAppends.append
    taken = 0

    def counted(self: PlainAppends, batch: memoryview, now_ms: int) -> int:
        nonlocal taken
        base_offset = plain(self, batch, now_ms)
        taken += base_offset != NOT_PLAIN
        return base_offset

    monkeypatch.setattr(PlainAppends, "append", counted)
    answers = [answer(straight, asked) for asked in requests]
    assert taken > 60
    monkeypatch.setattr(PlainAppends, "append", lambda *_asked: NOT_PLAIN)
    assert answers == [answer(ordinary, asked) for asked in requests], f"--seed {seed}"
    for index in range(PARTITIONS):
        logs = [cast(Any, one.manager.log(TopicPartition("t", index))) for one in (straight, ordinary)]
        assert logs[0].active_segment.read_at(0, 1 << 20) == logs[1].active_segment.read_at(0, 1 << 20)


def test_a_turn_appends_only_so_much(monkeypatch: pytest.MonkeyPatch) -> None:
    made = kit()
    data = bytes(build_batch([(T0, b"k", b"v")]))
    answer(made, [(index, data) for index in range(PARTITIONS)])
    parts = [Part("t", index, memoryview(bytearray(data))) for index in range(PARTITIONS)]
    for part in parts:
        part.log = made.manager.log(TopicPartition("t", part.index))
    monkeypatch.setattr(partition, "PLAIN_BYTES", 3 * len(data))
    append_plain(parts, T0)
    assert [part.end for part in parts] == [2, 2, 2, -1, -1, -1]
