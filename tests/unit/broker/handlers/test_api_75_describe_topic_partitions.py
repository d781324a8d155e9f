"""DescribeTopicPartitions: pages."""

from __future__ import annotations

import pytest
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from support.topic_requests import Broker

pytestmark = pytest.mark.unit


def test_pages_cover_all_partitions_once() -> None:
    broker = Broker({"a": 3, "b": 4, "c": 1})
    request = messages.DescribeTopicPartitionsRequest
    seen: list[tuple[str, int]] = []
    cursor = None
    for _page in range(8):
        answer = broker.ask(ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0, topics=[], response_partition_limit=3, cursor=cursor)
        assert sum(len(topic.partitions) for topic in answer.topics) <= 3
        seen += [(topic.name, partition.partition_index) for topic in answer.topics for partition in topic.partitions]
        if answer.next_cursor is None:
            break
        cursor = request.Cursor(topic_name=answer.next_cursor.topic_name, partition_index=answer.next_cursor.partition_index)
    assert seen == [(name, index) for name, count in (("a", 3), ("b", 4), ("c", 1)) for index in range(count)]


def test_a_page_is_never_longer_than_the_broker_allows() -> None:
    broker = Broker({"a": 7}, partition_page_limit=3)
    answer = broker.ask(ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0, topics=[], response_partition_limit=2000, cursor=None)
    assert [partition.partition_index for partition in answer.topics[0].partitions] == [0, 1, 2]
    assert (answer.next_cursor.topic_name, answer.next_cursor.partition_index) == ("a", 3)
