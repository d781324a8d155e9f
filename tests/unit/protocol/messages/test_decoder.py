"""Whatever the bytes, decoding a body ends in a message or in MalformedRequest, soon, and without building what cannot be there."""

from __future__ import annotations

import contextlib
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey, is_flexible
from oncelog.protocol.messages import MalformedRequest
from support.filled_messages import KNOWN, cases, codec, filled, versions


@pytest.mark.parametrize(("key", "version", "kind"), list(cases()))
def test_every_cut_is_refused(key: ApiKey, version: int, kind: str) -> None:
    message_class, encode, decode = codec(key, kind)
    body = bytes(encode(key, version, filled(message_class)))
    assert encode(key, version, decode(key, version, body)) == body
    assert encode(key, version, decode(key, version, body + b"neighbour")) == body
    for length in range(len(body)):
        with pytest.raises(MalformedRequest):
            decode(key, version, body[:length])


@pytest.mark.parametrize("key", KNOWN, ids=lambda key: key.name)
def test_huge_counts_build_nothing(key: ApiKey) -> None:
    """The largest count or length written over every position."""
    for version in versions(key):
        huge = b"\xff\xff\xff\xff\x07" if is_flexible(key, version) else b"\x7f\xff\xff\xff"
        message_class, encode, decode = codec(key, "request")
        body = bytes(encode(key, version, filled(message_class)))
        tracemalloc.start()
        for position in range(len(body)):
            try:
                decode(key, version, body[:position] + huge + body[position + len(huge) :])
            except MalformedRequest:
                continue
        _now, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 4 << 20


@settings(deadline=None, max_examples=600)
@given(st.data(), st.sampled_from(KNOWN), st.sampled_from(["request", "response"]))
def test_any_bytes(data: st.DataObject, key: ApiKey, kind: str) -> None:
    version = data.draw(st.sampled_from(versions(key)))
    with contextlib.suppress(MalformedRequest):
        codec(key, kind)[2](key, version, data.draw(st.binary(max_size=120)))


@settings(deadline=None, max_examples=600)
@given(st.data(), st.sampled_from(KNOWN), st.sampled_from(["request", "response"]))
def test_flipped_bytes(data: st.DataObject, key: ApiKey, kind: str) -> None:
    version = data.draw(st.sampled_from(versions(key)))
    message_class, encode, decode = codec(key, kind)
    body = bytearray(encode(key, version, filled(message_class)))
    if not body:
        return
    for _ in range(data.draw(st.integers(1, 4))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.sampled_from([0, 1, 0x7F, 0x80, 0xFF]))
    with contextlib.suppress(MalformedRequest):
        decode(key, version, body)


def test_null_where_there_is_none() -> None:
    with pytest.raises(MalformedRequest, match="group_id is null"):
        messages.decode_request(ApiKey.HEARTBEAT, 0, bytes.fromhex("ffff000000010000"))
    with pytest.raises(MalformedRequest, match="group_id is null"):
        messages.decode_request(ApiKey.HEARTBEAT, 4, bytes.fromhex("00000000010100"))
    with pytest.raises(AssertionError, match="group_id is not nullable"):
        messages.encode_request(ApiKey.HEARTBEAT, 4, messages.HeartbeatRequest(group_id=None))
    with pytest.raises(AssertionError, match="topics is not nullable"):
        messages.encode_response(ApiKey.METADATA, 9, messages.MetadataResponse(topics=None))


def test_any_negative_count_reads_as_null() -> None:
    for count in ("ffffffff", "fffffffe", "80000000"):
        assert messages.decode_request(ApiKey.METADATA, 1, bytes.fromhex(count)).topics is None
        with pytest.raises(MalformedRequest, match="is null"):
            messages.decode_request(ApiKey.METADATA, 0, bytes.fromhex(count))


def test_bad_utf8_is_read_leniently() -> None:
    request = messages.decode_request(ApiKey.METADATA, 1, bytes.fromhex("00000001" + "0002" + "ff61"))
    assert request.topics[0].name == "\ufffda"


def test_records_are_a_view_on_the_request() -> None:
    Topic = messages.ProduceRequest.TopicProduceData
    topic = Topic(name="t", partition_data=[Topic.PartitionProduceData(index=0, records=b"records")])
    body = bytes(messages.encode_request(ApiKey.PRODUCE, 9, messages.ProduceRequest(topic_data=[topic])))
    records = messages.decode_request(ApiKey.PRODUCE, 9, body).topic_data[0].partition_data[0].records
    assert isinstance(records, memoryview)
    assert records.obj is body
