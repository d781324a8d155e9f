"""The record of a topology is Kafka's, byte for byte: what the serializer of Apache Kafka 4.3.0 made of the same value."""

from __future__ import annotations

from oncelog.protocol.internal.records import decode_value
from oncelog.protocol.internal.streams_groups import StreamsGroupTopologyKey
from oncelog.protocol.internal.streams_topology import (
    CopartitionGroup,
    KeyValue,
    StreamsGroupTopologyValue,
    Subtopology,
    TopicInfo,
)


def test_value_is_kafkas() -> None:
    changelog = TopicInfo("cl", 0, 1, (KeyValue("k", "v"),))
    subtopology = Subtopology("0", ("a", "b"), (), (changelog,), ("x",), (TopicInfo("rp", 2),), (CopartitionGroup((0, 1), (), (0,)),))
    value = StreamsGroupTopologyValue(3, (subtopology,))
    encoded = "0000000000030202300302610262010203636c00000000000102026b0276000002027802037270000000020000010002030000000101020000000000"
    assert value.encode().hex() == encoded
    assert decode_value(StreamsGroupTopologyKey("g"), bytes.fromhex(encoded)) == value
