"""The short cut for one partition reads and writes what the long way does, and leaves everything else to it."""

from __future__ import annotations

import pytest
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.hot import LoneProduceReader, PartitionProduceResponse, pack_lone_answer, pack_produce_response, parse_produce
from oncelog.protocol.primitives import MalformedRequest, uuid
from oncelog.protocol.records import build_batch, iter_records, largest_timestamp, parse_header

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


def test_largest_timestamp_agrees_with_the_records() -> None:
    records = [(1_000 + delta, key, b"v" * size, headers) for delta, key, size, headers in CASES]
    for codec in range(5):
        batch = build_batch(records, codec=codec)
        assert largest_timestamp(batch, parse_header(batch)) == max(record.timestamp for record in iter_records(batch))


CASES: list[tuple[int, bytes | None, int, list[tuple[str, bytes | None]]]] = [
    (0, None, 0, []),
    (-70, b"", 63, []),
    (500, b"key", 64, [("h", None)]),
    (1 << 40, b"k" * 200, 20_000, [("h", b"x"), ("", b"")]),
]


def test_a_flipped_byte_is_refused_by_both_walks_or_by_none() -> None:
    batch = build_batch([(1_000, b"k", b"value", [("h", b"x")]), (1_001, None, b"w")])
    for position in range(61, len(batch)):
        for bit in range(8):
            damaged = bytearray(batch)
            damaged[position] ^= 1 << bit
            assert _outcome(lambda d=damaged: max(r.timestamp for r in iter_records(d))) == _outcome(  # type: ignore[misc]
                lambda d=damaged: largest_timestamp(d, parse_header(d))  # type: ignore[misc]
            )


def _outcome(walk: object) -> object:
    try:
        return walk()  # type: ignore[operator]
    except ValueError:
        return "refused"
