"""Lines to paste: whatever a topic is called, a shell takes it for one word."""

from __future__ import annotations

import shlex

import pytest
from oncelog.broker.console.commands import kafka_transactions_abort
from oncelog.protocol.names import TopicPartition

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("topic", ["orders", "a b", "$(rm -rf ~)", "a'b", "`x`"])
def test_it_is_safe_to_paste(topic: str) -> None:
    line = kafka_transactions_abort("kafka:9092", TopicPartition(topic, 3), 17)
    words = shlex.split(line)
    assert words == [
        *("kafka-transactions.sh", "--bootstrap-server", "kafka:9092", "abort"),
        *("--topic", topic, "--partition", "3", "--start-offset", "17"),
    ]
