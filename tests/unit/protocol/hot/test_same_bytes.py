"""The hand-written Produce and Fetch bodies are twins of the generic codec."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.hot import (
    FetchPartitionData,
    PartitionProduceResponse,
    pack_fetch_response,
    pack_produce_response,
    parse_fetch,
    parse_produce,
)
from oncelog.protocol.primitives import MalformedRequest

PRODUCE_VERSIONS = range(3, 14)
FETCH_VERSIONS = range(4, 19)

int8 = st.integers(-(2**7), 2**7 - 1)
int16 = st.integers(-(2**15), 2**15 - 1)
int32 = st.integers(-(2**31), 2**31 - 1)
int64 = st.integers(-(2**63), 2**63 - 1)
text = st.text(st.characters(codec="utf-8"), max_size=200)
optional_text = st.none() | text
records = st.binary(max_size=300)
topic_id = st.binary(min_size=16, max_size=16).filter(any)


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


@settings(deadline=None)
@given(st.data(), st.sampled_from(FETCH_VERSIONS))
def test_fetch_request(data: st.DataObject, version: int) -> None:
    by_id = version >= 13
    partition = st.fixed_dictionaries(
        {
            "partition": int32,
            "current_leader_epoch": int32,
            "fetch_offset": int64,
            "last_fetched_epoch": int32,
            "log_start_offset": int64,
            "partition_max_bytes": int32,
        }
    )
    topics = data.draw(st.lists(st.tuples(st.tuples(text, topic_id), st.lists(partition, max_size=4)), max_size=4))
    forgotten = data.draw(st.lists(st.tuples(st.tuples(text, topic_id), st.lists(int32, max_size=4)), max_size=3))
    fields = data.draw(
        st.fixed_dictionaries(
            {
                "max_wait_ms": int32,
                "min_bytes": int32,
                "max_bytes": int32,
                "isolation_level": int8,
                "session_id": int32,
                "session_epoch": int32,
                "rack_id": text,
            }
        )
    )
    replica_id = data.draw(int32)
    cluster_id = data.draw(optional_text)

    def topic_of(topic: tuple[str, bytes]) -> dict[str, Any]:
        return {"topic_id": uuid.UUID(bytes=topic[1])} if by_id else {"topic": topic[0]}

    Topic = messages.FetchRequest.FetchTopic
    request = messages.FetchRequest(
        cluster_id=cluster_id,
        replica_id=replica_id,
        replica_state=messages.FetchRequest.ReplicaState(replica_id, 5) if version >= 15 else None,
        topics=[Topic(**topic_of(topic), partitions=[Topic.FetchPartition(**each) for each in parts]) for topic, parts in topics],
        forgotten_topics_data=[messages.FetchRequest.ForgottenTopic(**topic_of(topic), partitions=parts) for topic, parts in forgotten],
        **fields,
    )
    parsed = parse_fetch(version, bytes(messages.encode_request(ApiKey.FETCH, version, request)) + b"neighbour")
    assert parsed.replica_id == replica_id
    for name, value in fields.items():
        absent = {"session_id": 0, "session_epoch": -1, "rack_id": ""}
        present = version >= (11 if name == "rack_id" else 7 if name in absent else 4)
        assert getattr(parsed, name) == (value if present else absent[name]), name
    since = {"current_leader_epoch": 9, "last_fetched_epoch": 12, "log_start_offset": 5}
    assert [(name, found_id, [each._asdict() for each in parts]) for name, found_id, parts in parsed.topics] == [
        (
            None if by_id else topic[0],
            topic[1] if by_id else None,
            [{name: value if version >= since.get(name, 0) else -1 for name, value in each.items()} for each in parts],
        )
        for topic, parts in topics
    ]
    expected = [(None if by_id else topic[0], topic[1] if by_id else None, parts) for topic, parts in forgotten]
    assert parsed.forgotten == (expected if version >= 7 else [])


fetch_partition = st.builds(
    FetchPartitionData, int32, int16, int64, int64, int64, st.none() | st.lists(st.tuples(int64, int64), max_size=3), records
)


@settings(deadline=None)
@given(st.data(), st.sampled_from(FETCH_VERSIONS))
def test_fetch_response(data: st.DataObject, version: int) -> None:
    topics = data.draw(st.lists(st.tuples(st.tuples(text, topic_id), st.lists(fetch_partition, max_size=4)), max_size=4))
    error_code, session_id, throttle_ms = data.draw(st.tuples(int16, int32, int32))
    Topic = messages.FetchResponse.FetchableTopicResponse
    Partition = Topic.PartitionData
    twin = messages.FetchResponse(
        throttle_time_ms=throttle_ms,
        error_code=error_code,
        session_id=session_id,
        responses=[
            Topic(
                **({"topic_id": uuid.UUID(bytes=topic[1])} if version >= 13 else {"topic": topic[0]}),
                partitions=[
                    Partition(
                        partition_index=each.index,
                        error_code=each.error_code,
                        high_watermark=each.high_watermark,
                        last_stable_offset=each.last_stable_offset,
                        log_start_offset=each.log_start_offset,
                        aborted_transactions=None if each.aborted is None else [Partition.AbortedTransaction(*one) for one in each.aborted],
                        records=each.records,
                    )
                    for each in partitions
                ],
            )
            for topic, partitions in topics
        ],
    )
    ours = pack_fetch_response(version, error_code, session_id, [(t[version >= 13], parts) for t, parts in topics], throttle_ms)
    assert b"".join(ours) == messages.encode_response(ApiKey.FETCH, version, twin)


def test_records_are_views_on_the_request() -> None:
    body = bytes.fromhex("00" + "ffff" + "000003e8" + "02" + "0274" + "02" + "00000001" + "0561626364" + "00" + "00" + "00")
    (_topic,) = parse_produce(9, body).topics
    ((index, view),) = _topic[2]
    assert index == 1
    assert isinstance(view, memoryview)
    assert view.obj is body
    assert view == b"abcd"


def test_records_of_an_answer_are_passed_on() -> None:
    stored = memoryview(b"batch")
    buffers = pack_fetch_response(12, 0, 0, [("t", [FetchPartitionData(0, records=stored)])])
    assert any(each is stored for each in buffers)


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


@pytest.mark.parametrize("version", FETCH_VERSIONS)
def test_cut_fetch_is_refused(version: int) -> None:
    Request = messages.FetchRequest
    name: dict[str, Any] = {"topic_id": uuid.UUID(int=7)} if version >= 13 else {"topic": "topic"}
    request = Request(
        topics=[Request.FetchTopic(**name, partitions=[Request.FetchTopic.FetchPartition(partition=1)] * 2)],
        forgotten_topics_data=[Request.ForgottenTopic(**name, partitions=[1, 2])],
        rack_id="rack",
        replica_state=Request.ReplicaState(3, 4) if version >= 15 else None,
    )
    body = messages.encode_request(ApiKey.FETCH, version, request)
    for length in range(len(body)):
        with pytest.raises(MalformedRequest):
            parse_fetch(version, body[:length])


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
