"""The hand-written answer has the bytes that the codec makes."""

from __future__ import annotations

import random
import uuid
from typing import Any

import pytest
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.hot.share_fetch import ShareFetchPartitionData, pack_share_fetch_response

KIND = messages.ShareFetchResponse
TOPIC = KIND.ShareFetchableTopicResponse
PARTITION = TOPIC.PartitionData


def partition(data: ShareFetchPartitionData) -> Any:
    acquired = [
        PARTITION.AcquiredRecords(first_offset=first, last_offset=last, delivery_count=count) for first, last, count in data.acquired
    ]
    return PARTITION(
        partition_index=data.index,
        error_code=data.error_code,
        acknowledge_error_code=data.acknowledge_error_code,
        acknowledge_error_message=data.acknowledge_error_message,
        current_leader=PARTITION.LeaderIdAndEpoch(leader_id=data.leader_id, leader_epoch=data.leader_epoch),
        records=bytes(data.records),  # type: ignore[arg-type]
        acquired_records=acquired,
    )


@pytest.mark.parametrize("seed", range(40))
def test_same_as_the_codec(seed: int) -> None:
    chance = random.Random(seed)
    topics = []
    for _ in range(chance.choice((0, 1, 3))):
        data = [
            ShareFetchPartitionData(
                chance.randrange(1_000),
                chance.choice((0, 3, 100)),
                chance.choice((0, 121)),
                chance.choice((None, "", "text", "ä" * 200)),
                chance.randrange(5),
                chance.randrange(5),
                chance.randbytes(chance.choice((0, 10, 512, 513, 20_000))),
                [(chance.getrandbits(40), chance.getrandbits(40), chance.randrange(1, 10)) for _ in range(chance.choice((0, 1, 130)))],
            )
            for _ in range(chance.choice((1, 2, 130)))
        ]
        topics.append((chance.randbytes(16), data))
    node = chance.choice((None, (1, "broker.example", 9092)))
    code, lock_ms = chance.choice((0, 122)), chance.randrange(60_000)
    message = KIND(
        error_code=code,
        acquisition_lock_timeout_ms=lock_ms,
        responses=[TOPIC(topic_id=uuid.UUID(bytes=id), partitions=[partition(one) for one in data]) for id, data in topics],
        node_endpoints=[KIND.NodeEndpoint(node_id=node[0], host=node[1], port=node[2])] if node else [],
    )
    packed = b"".join(bytes(piece) for piece in pack_share_fetch_response(code, lock_ms, topics, node))  # type: ignore[arg-type]
    for version in (1, 2):
        assert packed == bytes(messages.encode_response(ApiKey.SHARE_FETCH, version, message))
