"""ListOffsets: versions, leader epochs, logs that cannot answer."""

from __future__ import annotations

import pytest
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import TopicPartition
from support.topic_requests import Broker

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("timestamp", "first_version"), [(-1, 1), (-2, 1), (-3, 7), (-4, 8), (-5, 9), (-6, 11), (-7, None), (0, 1), (1 << 40, 1)]
)
def test_special_timestamps_belong_to_versions(timestamp: int, first_version: int | None) -> None:
    broker = Broker({"e01": 1})
    for version in range(1, 12):
        served = first_version is not None and version >= first_version
        assert list_offsets(broker, version, timestamp) == (ErrorCode.NONE if served else ErrorCode.UNSUPPORTED_VERSION)


def test_same_partition_twice_is_one_refusal() -> None:
    request = messages.ListOffsetsRequest.ListOffsetsTopic
    partitions = [request.ListOffsetsPartition(partition_index=0, current_leader_epoch=-1, timestamp=at) for at in (-1, -2)]
    answer = Broker({"e01": 1}).ask(
        ApiKey.LIST_OFFSETS, 5, replica_id=-1, isolation_level=0, topics=[request(name="e01", partitions=partitions)]
    )
    assert [(p.partition_index, p.error_code) for p in answer.topics[0].partitions] == [(0, ErrorCode.INVALID_REQUEST)]


@pytest.mark.parametrize("epoch", [0, -1, -2])
def test_known_leader_epoch(epoch: int) -> None:
    assert list_offsets(Broker({"e01": 1}), 11, -1, epoch) == ErrorCode.NONE


def test_unknown_leader_epoch() -> None:
    assert list_offsets(Broker({"e01": 1}), 11, -1, 1) == ErrorCode.UNKNOWN_LEADER_EPOCH


def list_offsets(broker: Broker, version: int, timestamp: int, epoch: int = -1) -> int:
    request = messages.ListOffsetsRequest.ListOffsetsTopic
    partition = request.ListOffsetsPartition(partition_index=0, current_leader_epoch=epoch, timestamp=timestamp)
    topics = [request(name="e01", partitions=[partition])]
    answer = broker.ask(ApiKey.LIST_OFFSETS, version, replica_id=-1, isolation_level=0, topics=topics)
    error: int = answer.topics[0].partitions[0].error_code
    return error


def test_offline_log_is_a_storage_error() -> None:
    broker = Broker({"e01": 1})
    log = broker.logs.log(TopicPartition("e01", 0))
    assert log is not None
    log.offline = "disk gone"  # type: ignore[assignment]
    assert list_offsets(broker, 11, -1) == ErrorCode.KAFKA_STORAGE_ERROR
