"""The hand-written AddPartitionsToTxn bodies are twins of the generic codec."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.header import response_header
from oncelog.protocol.hot.add_partitions_to_txn import FIRST_FOR_BROKERS, AddedReader
from support.hot_bodies import int16, int32, int64, text

VERSIONS = range(FIRST_FOR_BROKERS)
HEAD = b"a header"
KEY = ApiKey.ADD_PARTITIONS_TO_TXN
short = st.text(st.characters(codec="utf-8"), max_size=20)
topics = st.lists(
    st.tuples(short, st.lists(int32, min_size=1, max_size=4, unique=True)), min_size=1, max_size=4, unique_by=lambda each: each[0]
)


def body_of(version: int, id: str, pair: tuple[int, int], named: list[tuple[str, list[int]]]) -> bytes:
    Topic = messages.AddPartitionsToTxnRequest.AddPartitionsToTxnTopic
    asked = messages.AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=id,
        v3_and_below_producer_id=pair[0],
        v3_and_below_producer_epoch=pair[1],
        v3_and_below_topics=[Topic(name=name, partitions=partitions) for name, partitions in named],
    )
    return bytes(messages.encode_request(KEY, version, asked))


@settings(deadline=None)
@given(text, st.tuples(int64, int16), topics, int16, int32, st.sampled_from(VERSIONS))
def test_request_and_answer(
    id: str, pair: tuple[int, int], named: list[tuple[str, list[int]]], code: int, correlation_id: int, version: int
) -> None:
    body = body_of(version, id, pair, named)
    reader = AddedReader()
    for _ in range(2):
        read = reader.read(version, memoryview(HEAD + body), len(HEAD))
        assert read is not None
        assert read[:3] == (id, *pair)
        added = read[3]
        assert [tuple(each) for each in added.partitions] == [(name, index) for name, indexes in named for index in indexes]
    Result = messages.AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult
    Partition = Result.AddPartitionsToTxnPartitionResult
    results = [
        Result(name=name, results_by_partition=[Partition(partition_index=index, partition_error_code=code) for index in indexes])
        for name, indexes in named
    ]
    answer = messages.AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results)
    told = response_header(KEY, version, correlation_id) + messages.encode_response(KEY, version, answer)
    assert added.answer(correlation_id, code) == len(told).to_bytes(4) + told
    for cut in range(len(body)):
        assert reader.read(version, memoryview(HEAD + body[:cut]), len(HEAD)) is None


@given(st.binary(max_size=60), st.sampled_from(VERSIONS))
def test_any_bytes(body: bytes, version: int) -> None:
    read = AddedReader().read(version, memoryview(HEAD + body), len(HEAD))
    if read is not None:
        asked = messages.decode_request(KEY, version, body)
        assert isinstance(asked, messages.AddPartitionsToTxnRequest)
        assert read[:3] == (asked.v3_and_below_transactional_id, asked.v3_and_below_producer_id, asked.v3_and_below_producer_epoch)
        found = [(topic.name, index) for topic in asked.v3_and_below_topics for index in topic.partitions]
        assert [tuple(each) for each in read[3].partitions] == found


@pytest.mark.parametrize(
    "named",
    [[], [("t", [])], [("t", [0, 0])], [("t", [0]), ("t", [1])], [("t", list(range(200)))]],
    ids=["nothing", "no partition", "a partition twice", "a topic twice", "long"],
)
@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_left(version: int, named: list[tuple[str, list[int]]]) -> None:
    reader = AddedReader()
    for _ in range(2):
        assert reader.read(version, memoryview(HEAD + body_of(version, "x", (1, 2), named)), len(HEAD)) is None


def test_what_is_known_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oncelog.protocol.hot.add_partitions_to_txn._KNOWN", 3)
    reader = AddedReader()
    for index in range(10):
        assert reader.read(3, memoryview(HEAD + body_of(3, "x", (1, 2), [("t", [index])])), len(HEAD)) is not None
        assert len(reader._known) <= 3
