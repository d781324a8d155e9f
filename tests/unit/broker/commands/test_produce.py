"""Which partition a record goes to."""

from __future__ import annotations

import json
from typing import Any

import pytest
from oncelog.broker.commands import produce
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from support.scripted_broker import ScriptedBroker, run

pytestmark = pytest.mark.unit


def test_records_go_where_a_java_producer_puts_them(broker: ScriptedBroker, capsys: pytest.CaptureFixture[str]) -> None:
    def accept(version: int, request: Any) -> Any:
        response = messages.ProduceResponse.TopicProduceResponse
        index = request.topic_data[0].partition_data[0].index
        part = response.PartitionProduceResponse(index=index, error_code=0, base_offset=0)
        return messages.ProduceResponse(responses=[response(name="orders", partition_responses=[part])])

    broker.answers[ApiKey.PRODUCE] = accept
    assert run(produce.app, "orders", "--value", "k:1", "--value", "k:2", "--key-separator", ":", "--format", "json", broker=broker) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["records"] == 2
    assert list(facts["partitions"].values()) == [2]
