"""Topics of Metadata packed by hand, against the generic encoder."""

from __future__ import annotations

import random
import uuid
from typing import Any

import pytest
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.hot.metadata import pack_metadata_topic, splice_metadata_topics

pytestmark = pytest.mark.unit
VERSIONS = range(14)
NODE = 7


def entry(rng: random.Random, version: int) -> dict[str, Any]:
    refused = rng.random() < 0.3
    nameless = refused and version >= 12 and rng.random() < 0.5
    return {
        "error_code": rng.choice((3, 17, 29, 100)) if refused else 0,
        "name": None if nameless else rng.choice(("t", "été", "n" * 126, "n" * 249)) + str(rng.randrange(10**6)),
        "topic_id": uuid.UUID(int=rng.getrandbits(128)) if not refused or nameless else uuid.UUID(int=0),
        "internal": rng.random() < 0.2,
        "partitions": 0 if refused else rng.choice((1, 2, 126, 127, 128, 1000)),
        "epochs": {0: 7, 126: 2**31 - 1} if rng.random() < 0.2 else {},
        "operations": rng.choice((-(2**31), 3400)),
    }


def generic(version: int, entries: list[dict[str, Any]]) -> bytes:
    kind = messages.MetadataResponse
    topic_kind = kind.MetadataResponseTopic
    topics = [
        topic_kind(
            error_code=one["error_code"],
            name=one["name"],
            topic_id=one["topic_id"],
            is_internal=one["internal"],
            topic_authorized_operations=one["operations"],
            partitions=[
                topic_kind.MetadataResponsePartition(
                    partition_index=index,
                    leader_id=NODE,
                    leader_epoch=one["epochs"].get(index, 0),
                    replica_nodes=[NODE],
                    isr_nodes=[NODE],
                    offline_replicas=[],
                )
                for index in range(one["partitions"])
            ],
        )
        for one in entries
    ]
    broker = kind.MetadataResponseBroker(node_id=NODE, host="broker.example", port=9092, rack=None)
    answer = kind(brokers=[broker], cluster_id="cluster", controller_id=NODE, topics=topics, cluster_authorized_operations=3400)
    return bytes(messages.encode_response(ApiKey.METADATA, version, answer))


@pytest.mark.parametrize("version", VERSIONS)
def test_same_bytes_as_the_generic_encoder(version: int) -> None:
    rng = random.Random(version)
    for count in (0, 1, 2, 126, 127, 130):
        entries = [entry(rng, version) for _ in range(count)]
        packed = [
            pack_metadata_topic(
                version,
                one["error_code"],
                one["name"],
                one["topic_id"].bytes,
                one["internal"],
                one["partitions"],
                NODE,
                one["operations"],
                one["epochs"],
            )
            for one in entries
        ]
        assert splice_metadata_topics(version, generic(version, []), packed) == generic(version, entries)
