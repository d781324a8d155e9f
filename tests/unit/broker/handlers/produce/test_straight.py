"""The straight way of a Produce is the twin of its handler: the same bytes in answer, the same log."""

from __future__ import annotations

import random
import struct
import uuid
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from oncelog.broker.handlers.produce.straight import _BothDurable
from oncelog.broker.net.error_counts import ErrorCounts
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.hot import LoneProduce, PartitionProduceResponse
from oncelog.protocol.names import TopicPartition
from oncelog.protocol.records import build_batch
from support.flushed_when_told import DATA, LaterFlusher
from support.inline import delete_topic
from support.simfs import SimFileSystem
from support.storage_kit import T0, Kit
from support.straight_broker import Broker, whole

pytestmark = pytest.mark.unit
VERSIONS = range(9, 14)
TOPIC_ID = uuid.UUID(int=5)


def frame(version: int, records: bytes | None, *, partition: int = 0, acks: int = 1, topic: str = "t", client: str | None = "c") -> bytes:
    Topic = messages.ProduceRequest.TopicProduceData
    data = [Topic.PartitionProduceData(index=partition, records=records)]
    asked = [Topic(name=topic, topic_id=TOPIC_ID, partition_data=data)]
    request = messages.ProduceRequest(transactional_id=None, acks=acks, timeout_ms=1000, topic_data=asked)
    name = b"\xff\xff" if client is None else struct.pack(">h", len(client)) + client.encode()
    head = struct.pack(">hhi", 0, version, 7) + name + bytes(version >= 9)  # no tags, where there could be some
    return head + bytes(messages.encode_request(ApiKey.PRODUCE, version, request))


def batch(n: int = 1, **options: Any) -> bytes:
    return bytes(build_batch([(T0, b"k", b"v" * 50)] * n, **options))


def kit(seed: int = 1, flusher: LaterFlusher | None = None) -> Kit:
    made = Kit(DATA, SimFileSystem(seed, now_ms=lambda: T0), flusher)
    made.manager.create_topic("t", 2, topic_id=TOPIC_ID)
    return made


@pytest.mark.parametrize("version", VERSIONS)
def test_answers_and_logs_are_the_same(version: int, seed: int) -> None:
    rng = random.Random(seed)
    straight, ordinary = Broker(kit()), Broker(kit(), straight=False)
    sequence = 0
    for step in range(150):
        records: bytes | None = batch(rng.choice([1, 1, 1, 3]))
        if rng.random() < 0.5:
            records = batch(producer_id=5, producer_epoch=0, base_sequence=sequence)
            sequence += 1
        if rng.random() < 0.2:
            spoilt = bytearray(records or b"")
            spoilt[rng.randrange(len(spoilt))] ^= 1 << rng.randrange(8)
            records = bytes(spoilt)
        if rng.random() < 0.1:
            records = rng.choice([b"", batch() + batch(), batch()[:-1], batch(base_offset=4), batch(is_control=True)])
        sent = frame(version, records, partition=rng.choice([0, 0, 0, 1, 2]), client=rng.choice(["c", "", None, "longer"]))
        assert straight.answer(sent) == ordinary.answer(sent), f"--seed {seed}, request {step}"
    for partition in range(2):
        logs = [broker.kit.manager.log(TopicPartition("t", partition)) for broker in (straight, ordinary)]
        assert logs[0] is not None
        assert logs[1] is not None
        assert logs[0].log_end_offset == logs[1].log_end_offset > 0
        assert logs[0].active_segment.read_at(0, 1 << 20) == logs[1].active_segment.read_at(0, 1 << 20)
    assert straight.taken > 15
    assert ordinary.taken == 0


def test_it_leaves_what_is_answered_otherwise() -> None:
    broker = Broker(kit())
    broker.kit.manager.create_topic("__consumer_offsets", 1)
    for one in range(3):
        broker.answer(frame(9, batch()))
        assert broker.taken == one, "the first finds an empty segment"
    for other in (
        frame(9, batch(), acks=0),
        frame(9, batch(), acks=2),
        frame(9, batch(), topic="__consumer_offsets"),
        frame(9, batch(), topic="nobody's"),
        frame(9, batch(), partition=2),
        frame(8, batch()),
    ):
        broker.send(other)
    assert broker.taken == 2
    tagged = bytearray(frame(9, batch()))
    tagged[11:12] = b"\x01\x05\x01x"
    assert whole(broker.send(bytes(tagged)))
    assert broker.taken == 2


def test_rights_are_asked_for_each_time() -> None:
    broker = Broker(kit())
    allowed = True
    asked: list[Any] = []

    def authorize(*action: Any) -> bool:
        asked.append(action)
        return allowed

    broker.parts.authorizer = SimpleNamespace(authorize=authorize)
    for _ in range(3):
        broker.answer(frame(9, batch()))
    assert broker.taken == 2
    allowed = False
    refused = broker.answer(frame(9, batch()))
    broker.straight = False
    assert refused == broker.answer(frame(9, batch()))
    assert struct.unpack_from(">h", refused, 4 + 5 + 1 + 2 + 1 + 4) == (29,)
    assert len(set(asked)) == 1


@pytest.mark.parametrize("version", [9, 13])
def test_a_topic_that_is_made_again_is_another(version: int, tmp_path: Path) -> None:
    broker = Broker(Kit(tmp_path / "data"))
    logs = broker.kit.manager
    for life in range(2):
        logs.create_topic("t", 1, topic_id=TOPIC_ID)
        for offset in range(4):
            expected = struct.pack(">ihq", 0, 0, offset)
            assert expected in broker.answer(frame(version, batch())), (life, offset)
        delete_topic(logs, "t")
        assert struct.pack(">ihq", 0, 100 if version >= 13 else 3, -1) in broker.answer(frame(version, batch()))
    assert broker.taken == 3 + 3


def test_it_waits_for_the_disk_and_tells_when_that_fails() -> None:
    flusher = LaterFlusher()
    straight, ordinary = Broker(kit(1, flusher)), Broker(kit(1, flusher), straight=False)
    for broker in (straight, ordinary):
        broker.send(frame(9, batch()))
    flusher.flush()
    answers = [broker.send(frame(9, batch())) for broker in (straight, ordinary)]
    assert not any(answer.done for answer in answers)
    flusher.flush()
    assert whole(answers[0]) == whole(answers[1])
    assert type(answers[0].result()) is bytes
    answers = [broker.send(frame(9, batch())) for broker in (straight, ordinary)]
    for broker in (straight, ordinary):
        broker.kit.log.fail("the disk is broken")
    assert whole(answers[0]) == whole(answers[1])
    assert b"the disk is broken" in whole(answers[0])
    assert straight.answer(frame(9, batch())) == ordinary.answer(frame(9, batch()))


@pytest.mark.parametrize("phase", ["expired", "served"])
def test_a_session_of_sasl_is_asked_each_time(phase: str) -> None:
    broker = Broker(kit())
    broker.connection.sasl = sasl = SimpleNamespace(takes_tokens=False, allows=lambda _key, _now: True)
    for _ in range(3):
        broker.answer(frame(9, batch()))
    assert broker.taken == 2
    asked: list[int] = []

    def allows(key: int, _now_ms: float) -> bool:
        asked.append(key)
        return phase == "served"

    sasl.allows, sasl.tells_refusals = allows, False
    if phase == "served":
        broker.answer(frame(9, batch()))
    else:
        with pytest.raises(Exception, match="before authentication"):
            broker.answer(frame(9, batch()))
    assert set(asked) == {0}
    assert broker.taken == (3 if phase == "served" else 2)


_LOST = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "the disk is broken")


@pytest.mark.parametrize("decision_first", [True, False])
@pytest.mark.parametrize("decision", [None, _LOST])
@pytest.mark.parametrize("data", [None, _LOST])
def test_what_begins_a_transaction_is_told_when_the_coordinators_record_is_on_disk_too(
    data: KafkaError | None, decision: KafkaError | None, decision_first: bool
) -> None:
    lone = LoneProduce(-1, "t", None, 0, "x")
    answer = _BothDurable(b"yes", 7, lone, ErrorCounts())
    told = [(answer.decided, decision), (answer, data)]
    for number, (tell, error) in enumerate(told if decision_first else told[::-1]):
        assert not answer.done, number
        tell(error)
    if decision is not None:
        assert answer.result() == lone.refusal(7, PartitionProduceResponse(0, ErrorCode.NOT_ENOUGH_REPLICAS))
    elif data is not None:
        assert answer.result() == lone.refusal(7, PartitionProduceResponse(0, 56, error_message="the disk is broken"))
    else:
        assert answer.result() == b"yes"
