"""What topic commands print, and how a refusal ends."""

from __future__ import annotations

import json

import pytest
from oncelog.broker.commands import topic
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from support.scripted_broker import ScriptedBroker, run

pytestmark = pytest.mark.unit


# --- commands


def test_topics_are_listed(broker: ScriptedBroker, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(topic.app, "list", "--format", "json", broker=broker) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["name"], row["partitions"], row["replicas"]) == ("orders", 2, 1)


def test_a_refusal_is_exit_status_1_and_said_on_standard_error(broker: ScriptedBroker, capsys: pytest.CaptureFixture[str]) -> None:
    broker.answers[ApiKey.CREATE_TOPICS] = lambda version, request: messages.CreateTopicsResponse(
        topics=[messages.CreateTopicsResponse.CreatableTopicResult(name="orders", error_code=36, error_message="exists")]
    )
    assert run(topic.app, "create", "orders", broker=broker) == 1
    seen = capsys.readouterr()
    assert (seen.out, "exists (TOPIC_ALREADY_EXISTS)" in seen.err) == ("", True)
    assert run(topic.app, "create", "orders", "--if-not-exists", "--config", "retention.ms=1", broker=broker) == 0
    _, _, request = broker.seen[-1]
    assert [(c.name, c.value) for c in request.topics[0].configs] == [("retention.ms", "1")]
