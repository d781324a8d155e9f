"""Transactions on the straight ways are what they are on the ordinary ones: the same answers, the same logs."""

from __future__ import annotations

import random
import struct
from typing import Any

import pytest
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.protocol import messages
from oncelog.protocol.api_keys import FIRST_FLEXIBLE_VERSION, ApiKey
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.records import build_batch
from support.straight_broker import WholeTwin

pytestmark = pytest.mark.unit

T = messages.ProduceRequest.TopicProduceData


def framed(key: ApiKey, version: int, request: Any) -> bytes:
    tags = b"\x00" if version >= FIRST_FLEXIBLE_VERSION[key] else b""
    return struct.pack(">hhih", key, version, 7, -1) + tags + bytes(messages.encode_request(key, version, request))


def init(id: str, pair: tuple[int, int] = (-1, -1)) -> bytes:
    asked = messages.InitProducerIdRequest(transactional_id=id, transaction_timeout_ms=60_000, producer_id=pair[0], producer_epoch=pair[1])
    return framed(ApiKey.INIT_PRODUCER_ID, 5, asked)


def produce(broker: WholeTwin, id: str | None, version: int, pair: tuple[int, int], sequence: int, partition: int, **options: Any) -> bytes:
    now_ms = broker.clock.time_ms()
    options = {"is_transactional": True} | options
    batch = build_batch([(now_ms, b"k", b"v" * 40)], producer_id=pair[0], producer_epoch=pair[1], base_sequence=sequence, **options)
    data = [T.PartitionProduceData(index=partition, records=bytes(batch))]
    topics = [T(name="t", topic_id=broker.topic_id("t"), partition_data=data)]
    return framed(ApiKey.PRODUCE, version, messages.ProduceRequest(transactional_id=id, acks=-1, timeout_ms=1000, topic_data=topics))


def add(id: str, version: int, pair: tuple[int, int], partitions: list[tuple[str, list[int]]]) -> bytes:
    Topic = messages.AddPartitionsToTxnRequest.AddPartitionsToTxnTopic
    asked = messages.AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=id,
        v3_and_below_producer_id=pair[0],
        v3_and_below_producer_epoch=pair[1],
        v3_and_below_topics=[Topic(name=name, partitions=indexes) for name, indexes in partitions],
    )
    return framed(ApiKey.ADD_PARTITIONS_TO_TXN, version, asked)


def end(id: str, version: int, pair: tuple[int, int], commit: bool) -> bytes:
    asked = messages.EndTxnRequest(transactional_id=id, producer_id=pair[0], producer_epoch=pair[1], committed=commit)
    return framed(ApiKey.END_TXN, version, asked)


def pair_of(answer: bytes) -> tuple[int, int]:
    decoded = messages.decode_response(ApiKey.INIT_PRODUCER_ID, 5, memoryview(answer)[9:])
    assert isinstance(decoded, messages.InitProducerIdResponse)
    assert decoded.error_code in (0, ErrorCode.CONCURRENT_TRANSACTIONS)
    return decoded.producer_id, decoded.producer_epoch


def stored(broker: WholeTwin) -> dict[str, tuple[bytes, int, int]]:
    return {
        str(log.topic_partition): (log.active_segment.read_at(0, 1 << 20), log.high_watermark, log.last_stable_offset)
        for log in broker.logs.logs()
        if log.log_end_offset
    }


def twins(**settings: str) -> list[WholeTwin]:
    return [WholeTwin({"t": 2}, {key.replace("_", "."): value for key, value in settings.items()}, straight=each) for each in (True, False)]


@pytest.mark.parametrize("fast", [False, True], ids=["durable", "fast"])
@pytest.mark.parametrize("produce_version", [11, 12, 13])
def test_any_course(produce_version: int, fast: bool, seed: int) -> None:
    """Of honest producers, of fenced ones, and of such that lost count."""
    brokers = twins(log_flush_on_ack="false") if fast else twins()
    rng = random.Random(seed)
    pairs: dict[str, tuple[int, int]] = {}
    sequences: dict[tuple[int, int, int], int] = {}

    def both(frame: bytes) -> bytes:
        answers = [broker.answer(frame) for broker in brokers]
        assert answers[0] == answers[1], f"--seed {seed}"
        return answers[0]

    for _ in range(400):
        id = rng.choice(["a", "a", "a", "b"])
        pair = pairs.get(id)
        if pair is None or rng.random() < 0.03:
            found = pair_of(both(init(id)))
            pairs[id] = found if found[0] >= 0 else pairs[id]
            continue
        wrong = rng.random() < 0.1
        asked = rng.choice([(pair[0], pair[1] - 1), (pair[0] + 7, pair[1]), (pair[0], pair[1] + 1)]) if wrong else pair
        named = "nobody" if rng.random() < 0.03 else id
        if produce_version < 12 and rng.random() < 0.3:
            named_partitions = rng.choice(
                [[("t", [0])], [("t", [0])], [("t", [1])], [("t", [0, 1])], [("t", [2])], [("u", [0]), ("t", [0])]]
            )
            both(add(named, rng.randrange(4), asked, named_partitions))
        elif rng.random() < 0.6:
            partition = rng.choice([0, 0, 1, 2])
            sequence = sequences.get((*asked, partition), 0) + rng.choice([0] * 12 + [1])
            options = {} if rng.random() < 0.9 else rng.choice([{"is_transactional": False}, {"is_control": True}, {"codec": 1}])
            answer = both(produce(brokers[0], named, produce_version, asked, sequence, partition, **options))
            told = messages.decode_response(ApiKey.PRODUCE, produce_version, memoryview(answer)[9:])
            if told.responses[0].partition_responses[0].error_code == 0:
                sequences[(*asked, partition)] = sequence + 1
        else:
            version, commit = (5 if produce_version >= 12 else rng.randrange(5)), rng.random() < 0.6
            answer = both(end(named, version, asked, commit))
            if version == 5 and answer[13:15] == b"\x00\x00" and named == id:
                pairs[id] = struct.unpack_from(">qh", answer, 15)
    assert stored(brokers[0]) == stored(brokers[1])
    assert brokers[0].context.errors.by == brokers[1].context.errors.by
    assert brokers[0].taken > 100
    assert brokers[1].taken == 0
    for broker in brokers:
        broker.close()


def begun(broker: WholeTwin, id: str = "x") -> tuple[int, int]:
    """A pair that has ended a transaction; the ways are known then, and the segments begun."""
    pair = pair_of(broker.answer(init(id)))
    broker.answer(produce(broker, id, 12, pair, 0, 0))
    pair = struct.unpack_from(">qh", broker.answer(end(id, 5, pair, True)), 15)
    broker.taken = 0
    return pair


def test_both_ways_ask_for_the_right_to_the_id() -> None:
    answers = []
    for broker in twins():
        pair = begun(broker)
        broker.answer(produce(broker, "x", 12, pair, 0, 0))
        assert broker.taken == broker.straight
        broker.deny(AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, "x")
        added = [("t", [0])]
        frames = [produce(broker, "x", 12, pair, 1, 0), add("x", 3, pair, added), add("x", 3, pair, added), end("x", 5, pair, True)]
        answers.append([broker.answer(frame) for frame in frames])
        assert broker.taken == broker.straight
        assert broker.log("t").last_stable_offset == 2
        broker.close()
    assert answers[0] == answers[1]
    assert struct.pack(">h", ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED) in answers[0][0]


def test_a_batch_without_the_id_of_its_transaction_goes_the_ordinary_way() -> None:
    broker = WholeTwin({"t": 2})
    pair = begun(broker)
    for id in (None, ""):
        broker.answer(produce(broker, id, 12, pair, 0, 0))
    assert broker.taken == 0
    assert broker.log("t").log_end_offset == 2
    broker.close()


def test_partitions_of_topics_that_nobody_may_write_to_are_refused_on_both_ways() -> None:
    answers = []
    for broker in twins():
        pair = pair_of(broker.answer(init("x")))
        broker.answer(add("x", 0, pair, [("t", [0])]))
        assert broker.answer(add("x", 0, pair, [("t", [0])]))[-2:] == b"\x00\x00"
        assert broker.taken == broker.straight
        broker.deny(AclOperation.WRITE, ResourceType.TOPIC, "t")
        answers.append([broker.answer(add("x", 0, pair, [(topic, [0])])) for topic in ("t", "__consumer_offsets", "nobody")])
        assert broker.taken == broker.straight
        broker.close()
    assert answers[0] == answers[1]
