"""DeleteRecords: what the recordings do not show."""

from __future__ import annotations

import pytest
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import TopicPartition
from support.topic_requests import Broker

pytestmark = pytest.mark.unit


def test_delete_records_of_an_internal_topic_is_refused() -> None:
    broker = Broker({"__consumer_offsets": 1})
    assert delete_records(broker, "__consumer_offsets", -1) == (ErrorCode.INVALID_TOPIC_EXCEPTION, -1)


def delete_records(broker: Broker, topic: str, offset: int) -> tuple[int, int]:
    request = messages.DeleteRecordsRequest.DeleteRecordsTopic
    partition = request.DeleteRecordsPartition(partition_index=0, offset=offset)
    answer = broker.ask(ApiKey.DELETE_RECORDS, 2, topics=[request(name=topic, partitions=[partition])], timeout_ms=1)
    found = answer.topics[0].partitions[0]
    return found.error_code, found.low_watermark


def test_refusal_of_the_log_is_told() -> None:
    broker = Broker({"e01": 1})
    log = broker.logs.log(TopicPartition("e01", 0))
    assert log is not None
    log.offline = "disk gone"  # type: ignore[assignment]
    assert delete_records(broker, "e01", 2) == (ErrorCode.KAFKA_STORAGE_ERROR, -1)
