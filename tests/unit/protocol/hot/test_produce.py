"""The hand-written Produce bodies are twins of the generic codec, and a request of one batch those of any request."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.header import response_header
from oncelog.protocol.hot import LoneProduce, LoneProduceReader, PartitionProduceResponse, pack_produce_response, parse_produce
from oncelog.protocol.primitives import MalformedRequest
from support.hot_bodies import int16, int32, int64, optional_text, records, text, topic_id

PRODUCE_VERSIONS = range(3, 14)


def topic_fields(topic: tuple[str, bytes], by_id: bool) -> dict[str, Any]:
    return {"topic_id": uuid.UUID(bytes=topic[1])} if by_id else {"name": topic[0]}


@settings(deadline=None)
@given(st.data(), st.sampled_from(PRODUCE_VERSIONS))
def test_produce_request(data: st.DataObject, version: int) -> None:
    topics = data.draw(
        st.lists(st.tuples(st.tuples(text, topic_id), st.lists(st.tuples(int32, st.none() | records), max_size=4)), max_size=4)
    )
    transactional_id, acks, timeout_ms = data.draw(st.tuples(optional_text, int16, int32))
    Topic = messages.ProduceRequest.TopicProduceData
    request = messages.ProduceRequest(
        transactional_id=transactional_id,
        acks=acks,
        timeout_ms=timeout_ms,
        topic_data=[
            Topic(
                **topic_fields(topic, version >= 13),
                partition_data=[Topic.PartitionProduceData(index=index, records=content) for index, content in partitions],
            )
            for topic, partitions in topics
        ],
    )
    body = messages.encode_request(ApiKey.PRODUCE, version, request)
    parsed = parse_produce(version, bytes(body) + b"neighbour")
    assert (parsed.transactional_id, parsed.acks, parsed.timeout_ms) == (transactional_id, acks, timeout_ms)
    assert parsed.topics == [
        (None if version >= 13 else topic[0], topic[1] if version >= 13 else None, partitions) for topic, partitions in topics
    ]
    assert messages.decode_request(ApiKey.PRODUCE, version, body) == request


produce_partition = st.builds(
    PartitionProduceResponse, int32, int16, int64, int64, int64, st.lists(st.tuples(int32, optional_text), max_size=3), optional_text
)


@settings(deadline=None)
@given(st.data(), st.sampled_from(PRODUCE_VERSIONS))
def test_produce_response(data: st.DataObject, version: int) -> None:
    topics = data.draw(st.lists(st.tuples(st.tuples(text, topic_id), st.lists(produce_partition, max_size=4)), max_size=4))
    throttle_ms = data.draw(int32)
    Topic = messages.ProduceResponse.TopicProduceResponse
    Partition = Topic.PartitionProduceResponse
    twin = messages.ProduceResponse(
        responses=[
            Topic(
                **topic_fields(topic, version >= 13),
                partition_responses=[
                    Partition(
                        index=each.index,
                        error_code=each.error_code,
                        base_offset=each.base_offset,
                        log_append_time_ms=each.log_append_time_ms,
                        log_start_offset=each.log_start_offset,
                        record_errors=[Partition.BatchIndexAndErrorMessage(*one) for one in each.record_errors],
                        error_message=each.error_message,
                    )
                    for each in partitions
                ],
            )
            for topic, partitions in topics
        ],
        throttle_time_ms=throttle_ms,
    )
    ours = pack_produce_response(version, [(topic[version >= 13], partitions) for topic, partitions in topics], throttle_ms)
    assert ours == messages.encode_response(ApiKey.PRODUCE, version, twin)


def test_records_are_views_on_the_request() -> None:
    body = bytes.fromhex("00" + "ffff" + "000003e8" + "02" + "0274" + "02" + "00000001" + "0561626364" + "00" + "00" + "00")
    (_topic,) = parse_produce(9, body).topics
    ((index, view),) = _topic[2]
    assert index == 1
    assert isinstance(view, memoryview)
    assert view.obj is body
    assert view == b"abcd"


@pytest.mark.parametrize("version", PRODUCE_VERSIONS)
def test_cut_produce_is_refused(version: int) -> None:
    Topic = messages.ProduceRequest.TopicProduceData
    topic = Topic(
        **topic_fields(("topic", bytes(range(16))), version >= 13), partition_data=[Topic.PartitionProduceData(index=3, records=b"x" * 200)]
    )
    body = messages.encode_request(ApiKey.PRODUCE, version, messages.ProduceRequest("id", -1, 1000, [topic, topic]))
    for length in range(len(body)):
        with pytest.raises(MalformedRequest):
            parse_produce(version, body[:length])


@pytest.mark.parametrize("version", [8, 9])
def test_huge_counts_are_refused(version: int) -> None:
    count = "7fffffff" if version == 8 else "ffffffff07"
    head = ("ffff" if version == 8 else "00") + "ffff" + "000003e8"
    with pytest.raises(MalformedRequest):
        parse_produce(version, bytes.fromhex(head + count))
    name = "000174" if version == 8 else "0274"
    one = "00000001" if version == 8 else "02"
    with pytest.raises(MalformedRequest):
        parse_produce(version, bytes.fromhex(head + one + name + count))
    with pytest.raises(MalformedRequest):
        parse_produce(version, bytes.fromhex(head + one + name + one + "00000000" + count))


Request = messages.ProduceRequest
Topic = Request.TopicProduceData
Partition = Topic.PartitionProduceData
TOPIC_ID = uuid.UUID(int=7 << 64 | 9)


def body(version: int, partitions: list[tuple[int, bytes | None]], *, topics: int = 1, name: str = "t", txn: str | None = None) -> bytes:
    data = [Partition(index=index, records=records) for index, records in partitions]
    asked = [Topic(name=name, topic_id=TOPIC_ID, partition_data=data) for _ in range(topics)]
    return bytes(messages.encode_request(ApiKey.PRODUCE, version, Request(transactional_id=txn, acks=-1, timeout_ms=77, topic_data=asked)))


def reader_of(version: int) -> LoneProduceReader[LoneProduce]:
    return LoneProduceReader(version >= 13, lambda lone: lone)


@pytest.mark.parametrize("version", range(9, 14))
@pytest.mark.parametrize("records", [b"", b"x", b"y" * 126, b"z" * 127, b"w" * 70_000])
@pytest.mark.parametrize("txn", [None, "", "pay", "p" * 125])
@pytest.mark.parametrize("name", ["t", "n" * 126])
def test_it_reads_what_the_long_way_reads(version: int, records: bytes, txn: str | None, name: str) -> None:
    reader = reader_of(version)
    request = body(version, [(3, records)], txn=txn, name=name)
    for begin in (0, 7):
        view = memoryview(bytes(begin) + request + b"behind")
        found = reader.read(view, begin)
        assert found is not None
        lone, start, stop = found
        long = parse_produce(version, request)
        assert lone.acks == long.acks
        assert (lone.topic, lone.topic_id) == long.topics[0][:2]
        assert [(lone.partition, view[start:stop])] == long.topics[0][2]


@pytest.mark.parametrize("version", range(9, 14))
def test_it_leaves_the_rest(version: int) -> None:
    reader = reader_of(version)
    for odd in (
        body(version, [(0, b"a"), (1, b"b")]),
        body(version, [(0, b"a")], topics=2),
        body(version, [(0, None)]),
        body(version, []),
        body(version, [(0, b"a")], name="n" * 200),
        body(version, [(0, b"a")], txn="n" * 200),
    ):
        if version >= 13 and len(odd) < 200 and parse_produce(version, odd).topics[0][2] == [(0, b"a")] and odd.count(TOPIC_ID.bytes) == 1:
            continue  # named by id: the length of the name is not in the request
        for _ in range(2):
            assert reader.read(memoryview(odd), 0) is None


def test_what_is_not_to_be_learned_is_left_from_then_on() -> None:
    asked: list[int] = []
    reader: LoneProduceReader[int] = LoneProduceReader(False, lambda lone: asked.append(lone.partition))
    for _ in range(3):
        assert reader.read(memoryview(body(9, [(5, b"abc")])), 0) is None
    assert asked == [5]


@pytest.mark.parametrize("version", range(9, 14))
def test_every_cut_is_left(version: int) -> None:
    whole = body(version, [(0, b"abc")])
    reader = reader_of(version)
    reader.read(memoryview(whole), 0)
    for end in range(len(whole)):
        assert reader.read(memoryview(whole)[:end], 0) is None
        with pytest.raises(MalformedRequest):
            parse_produce(version, whole[:end])


@pytest.mark.parametrize("version", range(9, 14))
def test_the_answer_has_the_same_bytes(version: int) -> None:
    found = reader_of(version).read(memoryview(body(version, [(5, b"abc")])), 0)
    assert found is not None
    ref = TOPIC_ID.bytes if version >= 13 else "t"
    good, bad = PartitionProduceResponse(5, 0, 2**40, -1, 17), PartitionProduceResponse(5, 87, error_message="no")
    for answer, told in ((found[0].answer(99, 2**40, -1, 17), good), (found[0].refusal(99, bad), bad)):
        expected = response_header(ApiKey.PRODUCE, version, 99) + pack_produce_response(version, [(ref, [told])])
        assert answer == len(expected).to_bytes(4, "big") + expected
