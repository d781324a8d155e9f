"""The sink's requests as the broker reads them, and the broker's answers as it reads those."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from oncelog.protocol import messages, primitives
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.header import parse_request_header
from oncelog.spark_jobs.sink import wire


def asked(api: wire.Api, body: list[bytes]) -> Any:
    """What the broker reads of a request."""
    data = wire.frame(api, 7, "me", body)
    header = parse_request_header(data[4:])
    assert int.from_bytes(data[:4]) == len(data) - 4
    assert (header.api_key, header.api_version, header.correlation_id, header.client_id) == (*api, 7, "me")
    request = messages.decode_request(*api, data[4 + header.body_offset :])
    assert bytes(messages.encode_request(*api, request)) == data[4 + header.body_offset :]  # nothing is left over
    return request


def test_requests_as_the_broker_reads_them() -> None:
    metadata = asked(wire.METADATA, wire.metadata_request(["a", "ä"]))
    assert ([one.name for one in metadata.topics], metadata.allow_auto_topic_creation) == (["a", "ä"], False)
    found = asked(wire.FIND_COORDINATOR, wire.find_coordinator_request("q", wire.TRANSACTION))
    assert (found.key, found.key_type) == ("q", 1)
    begun = asked(wire.INIT_PRODUCER_ID, wire.init_producer_id_request("q", 60_000, -1, -1))
    assert (begun.transactional_id, begun.transaction_timeout_ms, begun.producer_id, begun.producer_epoch) == ("q", 60_000, -1, -1)
    added = asked(wire.ADD_PARTITIONS, wire.add_partitions_request("q", 5, 6, {"a": [0, 2], "b": [1]}))
    assert [(one.name, one.partitions) for one in added.v3_and_below_topics] == [("a", [0, 2]), ("b", [1])]
    assert (added.v3_and_below_transactional_id, added.v3_and_below_producer_id, added.v3_and_below_producer_epoch) == ("q", 5, 6)
    group = asked(wire.ADD_OFFSETS, wire.add_offsets_request("q", 5, 6, "g"))
    assert (group.transactional_id, group.producer_id, group.producer_epoch, group.group_id) == ("q", 5, 6, "g")
    for commit in (True, False):
        end = asked(wire.END_TXN, wire.end_txn_request("q", 5, 6, commit))
        assert (end.transactional_id, end.producer_id, end.producer_epoch, end.committed) == ("q", 5, 6, commit)
    committed = asked(wire.TXN_OFFSET_COMMIT, wire.txn_offset_commit_request("q", "g", 5, 6, "t", 2**40, "owner"))
    assert (committed.transactional_id, committed.group_id, committed.producer_id, committed.producer_epoch) == ("q", "g", 5, 6)
    (topic,) = committed.topics
    assert [(topic.name, p.partition_index, p.committed_offset, p.committed_metadata) for p in topic.partitions] == [
        ("t", 0, 2**40, "owner")
    ]
    fetched = asked(wire.OFFSET_FETCH, wire.offset_fetch_request("g"))
    assert (fetched.group_id, fetched.topics, fetched.require_stable) == ("g", None, True)
    produced = asked(wire.PRODUCE, wire.produce_request("q", 5_000, "t", 3, b"batch"))
    (data,) = produced.topic_data
    assert (produced.transactional_id, produced.acks, produced.timeout_ms, data.name) == ("q", -1, 5_000, "t")
    assert [(one.index, bytes(one.records)) for one in data.partition_data] == [(3, b"batch")]


def answer(api: wire.Api, **fields: Any) -> bytes:
    """What the broker sends."""
    kind = getattr(messages, f"{ApiKey(api[0]).schema_name}Response")
    return bytes(messages.encode_response(*api, kind(**fields)))


def test_answers_as_the_broker_writes_them() -> None:
    kind: Any = messages.MetadataResponse
    topic = kind.MetadataResponseTopic
    parts = [topic.MetadataResponsePartition(partition_index=n, leader_id=n - 1, replica_nodes=[0, 1], isr_nodes=[0]) for n in (0, 1)]
    data = answer(
        wire.METADATA,
        brokers=[
            kind.MetadataResponseBroker(node_id=0, host="h", port=9, rack="r"),
            kind.MetadataResponseBroker(node_id=1, host="i", port=8),
        ],
        cluster_id="c",
        topics=[topic(name="t", partitions=parts), topic(name="none", error_code=3)],
    )
    two = [wire.Partition(0, 0, -1), wire.Partition(1, 0, 0)]
    assert wire.metadata_answer(data) == wire.ClusterView({0: ("h", 9), 1: ("i", 8)}, {"t": (0, two), "none": (3, [])})
    data = answer(wire.FIND_COORDINATOR, error_code=15, error_message="later", node_id=3, host="h", port=9)
    assert wire.find_coordinator_answer(data) == (15, ("h", 9))
    assert wire.init_producer_id_answer(answer(wire.INIT_PRODUCER_ID, error_code=0, producer_id=2**40, producer_epoch=7)) == (0, 2**40, 7)
    assert wire.error_answer(answer(wire.END_TXN, error_code=47, throttle_time_ms=5)) == 47
    kind = messages.TxnOffsetCommitResponse
    one = kind.TxnOffsetCommitResponseTopic
    partition = one.TxnOffsetCommitResponsePartition(partition_index=4, error_code=25)
    assert wire.topics_answer(answer(wire.TXN_OFFSET_COMMIT, topics=[one(name="t", partitions=[partition])])) == {("t", 4): 25}
    kind = messages.OffsetFetchResponse
    one = kind.OffsetFetchResponseTopic
    partitions = [one.OffsetFetchResponsePartition(partition_index=n, committed_offset=5 + n, metadata="m", error_code=n) for n in (0, 1)]
    data = answer(wire.OFFSET_FETCH, topics=[one(name="t", partitions=partitions)], error_code=14)
    assert wire.offset_fetch_answer(data) == (14, [wire.Committed(0, 5, "m"), wire.Committed(1, 6, "m")])
    kind = messages.ProduceResponse
    one = kind.TopicProduceResponse
    response = one(name="t", partition_responses=[one.PartitionProduceResponse(index=3, error_code=45, base_offset=-1)])
    assert wire.produce_answer(answer(wire.PRODUCE, responses=[response])) == (45, -1)


@given(st.integers(0, 2**31 - 1))
def test_varints_are_the_brokers(value: int) -> None:
    assert wire.unsigned_varint(value) == primitives.unsigned_varint(value)
    assert wire.Reader(wire.unsigned_varint(value)).varint() == value


def test_tags_are_skipped_and_null_strings_are_none() -> None:
    reader = wire.Reader(b"\2\0\1x\x81\1\3abc" + wire.Writer().string(None).string("ä").compact_string("ö").parts[0] + b"rest")
    reader.tags()
    assert (reader.string(), reader.data[reader.at :]) == (None, b"rest")
    assert wire.Reader(b"\0").compact_string() is None
    assert wire.Reader(b"".join(wire.Writer().compact_string("ö").parts)).compact_string() == "ö"
