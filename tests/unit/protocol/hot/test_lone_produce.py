"""The short cut for one partition reads and writes what the long way does, and leaves everything else to it."""

from __future__ import annotations

import pytest
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.hot import LoneProduceReader, PartitionProduceResponse, pack_lone_answer, pack_produce_response, parse_produce
from oncelog.protocol.primitives import MalformedRequest, uuid

Request = messages.ProduceRequest
Topic = Request.TopicProduceData
Partition = Topic.PartitionProduceData
TOPIC_ID = uuid.UUID(int=7 << 64 | 9)


def body(version: int, partitions: list[tuple[int, bytes | None]], *, topics: int = 1, name: str = "t", txn: str | None = None) -> bytes:
    data = [Partition(index=index, records=records) for index, records in partitions]
    asked = [Topic(name=name, topic_id=TOPIC_ID, partition_data=data) for _ in range(topics)]
    return bytes(messages.encode_request(ApiKey.PRODUCE, version, Request(transactional_id=txn, acks=-1, timeout_ms=77, topic_data=asked)))


@pytest.mark.parametrize("version", range(9, 14))
@pytest.mark.parametrize("records", [b"", b"x", b"y" * 126, b"z" * 127, b"w" * 70_000])
@pytest.mark.parametrize("txn", [None, "", "pay", "p" * 125])
@pytest.mark.parametrize("name", ["t", "n" * 126])
def test_it_reads_what_the_long_way_reads(version: int, records: bytes, txn: str | None, name: str) -> None:
    reader = LoneProduceReader()
    view = memoryview(body(version, [(3, records)], txn=txn, name=name))
    for _ in range(2):
        found = reader.read(version, view)
        assert found is not None
        lone, seen = found
        long = parse_produce(version, view)
        assert (lone.transactional_id, lone.acks) == (long.transactional_id, long.acks)
        assert (lone.topic, lone.topic_id) == long.topics[0][:2]
        assert [(lone.partition, seen)] == long.topics[0][2]


@pytest.mark.parametrize("version", range(3, 14))
def test_it_leaves_the_rest(version: int) -> None:
    reader = LoneProduceReader()
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
        assert reader.read(version, memoryview(odd)) is None


@pytest.mark.parametrize("version", range(9, 14))
def test_every_cut_is_left(version: int) -> None:
    whole = body(version, [(0, b"abc")])
    reader = LoneProduceReader()
    reader.read(version, memoryview(whole))
    for end in range(len(whole)):
        assert reader.read(version, memoryview(whole)[:end]) is None
        with pytest.raises(MalformedRequest):
            parse_produce(version, whole[:end])


@pytest.mark.parametrize("version", range(9, 14))
def test_the_answer_has_the_same_bytes(version: int) -> None:
    found = LoneProduceReader().read(version, memoryview(body(version, [(5, b"abc")])))
    assert found is not None
    ref = TOPIC_ID.bytes if version >= 13 else "t"
    expected = pack_produce_response(version, [(ref, [PartitionProduceResponse(5, 3, 2**40, -1, 17)])])
    assert pack_lone_answer(found[0], 3, 2**40, -1, 17) == expected
