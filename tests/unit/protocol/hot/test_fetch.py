"""The hand-written Fetch bodies are twins of the generic codec."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.header import response_header
from oncelog.protocol.hot import FetchPartitionData, LoneFetch, LoneFetchReader, pack_fetch_response, parse_fetch
from oncelog.protocol.primitives import MalformedRequest
from support.hot_bodies import int16, int32, int64, optional_text, records, text, topic_id

FETCH_VERSIONS = range(4, 19)
int8 = st.integers(-(2**7), 2**7 - 1)


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


def test_records_of_an_answer_are_passed_on() -> None:
    stored = memoryview(bytes(1000))
    buffers = pack_fetch_response(12, 0, 0, [("t", [FetchPartitionData(0, records=stored)])])
    assert any(each is stored for each in buffers)


def test_few_records_from_many_partitions_are_one_buffer() -> None:
    """A buffer of its own costs more than a copy of some hundred bytes."""
    few = [FetchPartitionData(index, records=memoryview(b"batch %d" % index)) for index in range(100)]
    (buffer,) = pack_fetch_response(12, 0, 0, [("t", few)])
    assert isinstance(buffer, bytearray)
    assert all(b"batch %d" % index in buffer for index in range(100))


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


TOPIC_ID = uuid.UUID(int=7 << 64 | 9)
LONE_VERSIONS = range(12, 19)


def lone_body(version: int, *, partitions: int = 1, topics: int = 1, name: str = "t", **changed: Any) -> bytes:
    Topic = messages.FetchRequest.FetchTopic
    wanted = [
        Topic.FetchPartition(
            partition=index + 4,
            current_leader_epoch=3,
            fetch_offset=2**40,
            last_fetched_epoch=2,
            log_start_offset=-1,
            partition_max_bytes=999,
        )
        for index in range(partitions)
    ]
    topic = Topic(partitions=wanted, **({"topic_id": TOPIC_ID} if version >= 13 else {"topic": name}))
    fields = {"replica_id": -1, "max_wait_ms": 500, "min_bytes": 1, "max_bytes": 77, "isolation_level": 1, "session_id": 0}
    rest = {"session_epoch": -1, "forgotten_topics_data": [], "rack_id": ""}
    return bytes(messages.encode_request(ApiKey.FETCH, version, messages.FetchRequest(**fields | rest | changed, topics=[topic] * topics)))


def reader_of(version: int) -> LoneFetchReader[LoneFetch]:
    return LoneFetchReader(version >= 13, lambda lone: lone)


@pytest.mark.parametrize("version", LONE_VERSIONS)
@pytest.mark.parametrize("name", ["t", "n" * 126])
def test_a_request_for_one_partition_is_read_as_any(version: int, name: str) -> None:
    reader = reader_of(version)
    body = lone_body(version, name=name)
    for begin in (0, 9):
        found = reader.read(version, memoryview(bytes(begin) + body + b"behind"), begin)
        assert found is not None
        lone, *numbers = found
        long = parse_fetch(version, body)
        ((topic, topic_id, (partition,)),) = long.topics
        assert (lone.topic, lone.topic_id, lone.partition) == (topic, topic_id, partition.partition)
        assert numbers == [
            *(long.max_wait_ms, long.min_bytes, long.max_bytes, long.isolation_level),
            *(partition.current_leader_epoch, partition.fetch_offset, partition.last_fetched_epoch, partition.partition_max_bytes),
        ]


@pytest.mark.parametrize("version", LONE_VERSIONS)
def test_other_requests_are_left(version: int) -> None:
    reader = reader_of(version)
    for body in (
        lone_body(version, partitions=2),
        lone_body(version, partitions=0),
        lone_body(version, topics=2),
        lone_body(version, topics=0),
        lone_body(version, rack_id="r"),
        lone_body(version, session_id=5),
        lone_body(version, session_epoch=0),
    ):
        assert reader.read(version, memoryview(body), 0) is None
    if version == 12:
        assert reader.read(version, memoryview(lone_body(version, name="n" * 200)), 0) is None
    if version < 15:
        assert reader.read(version, memoryview(lone_body(version, replica_id=2)), 0) is None
    else:
        state = messages.FetchRequest.ReplicaState(2, 5)
        assert reader.read(version, memoryview(lone_body(version, replica_state=state)), 0) is None


@pytest.mark.parametrize("version", LONE_VERSIONS)
def test_every_cut_of_it_is_left(version: int) -> None:
    body = lone_body(version)
    reader = reader_of(version)
    reader.read(version, memoryview(body), 0)
    for end in range(len(body)):
        assert reader.read(version, memoryview(body)[:end], 0) is None


@pytest.mark.parametrize("version", LONE_VERSIONS)
@pytest.mark.parametrize("aborted", [None, (), [(5, 6)]])
@pytest.mark.parametrize("records", [b"", b"x", b"y" * 126, b"z" * 127, b"w" * 16_384, b"w" * 16_385])
def test_its_answer_has_the_same_bytes(version: int, aborted: list[tuple[int, int]] | None, records: bytes) -> None:
    lone = LoneFetch(None if version >= 13 else "t", TOPIC_ID.bytes if version >= 13 else None, 5)
    data = FetchPartitionData(5, 0, 2**40, 2**39, 17, aborted, records)
    answer = lone.answer(99, data)
    ref = TOPIC_ID.bytes if version >= 13 else "t"
    expected = response_header(ApiKey.FETCH, version, 99) + b"".join(map(bytes, pack_fetch_response(version, 0, 0, [(ref, [data])])))  # type: ignore[arg-type]
    if isinstance(answer, bytes):
        assert answer == len(expected).to_bytes(4, "big") + expected
    else:
        assert aborted or len(records) > 16_384
        assert b"".join(map(bytes, answer)) == expected  # type: ignore[arg-type]
