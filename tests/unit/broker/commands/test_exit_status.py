"""Exit status and arguments of all commands."""

from __future__ import annotations

import pytest
from cyclopts import App
from oncelog.broker.commands import acl, config, consume, group, produce, topic
from support.scripted_broker import ScriptedBroker, run

pytestmark = pytest.mark.unit


def test_nobody_there_is_exit_status_3(capsys: pytest.CaptureFixture[str]) -> None:
    gone = ScriptedBroker()
    gone.close()
    assert run(topic.app, "list", broker=gone) == 3
    assert "doctor" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("app", "arguments"),
    [
        (topic.app, ["create"]),
        (topic.app, ["alter", "orders"]),
        (topic.app, ["create", "x", "--config", "nonsense"]),
        (config.app, ["describe", "topic"]),
        (config.app, ["alter", "topic", "orders"]),
        (acl.app, ["add", "alice", "topic", "x"]),
        (acl.app, ["add", "User:alice", "topic"]),
        (acl.app, ["add", "User:alice", "group", "--operation", "read"]),
        (acl.app, ["delete"]),
        (group.app, ["reset-offsets", "g"]),
        (group.app, ["reset-offsets", "g", "--to-latest", "--to-earliest"]),
        (consume.app, ["orders", "--from", "tomorrow"]),
        (produce.app, ["orders", "--key", "a", "--key-separator", ":"]),
        (topic.app, ["list", "--security-protocol", "SASL_PLAINTEXT"]),
    ],
)
def test_wrong_arguments_are_exit_status_2(broker: ScriptedBroker, app: App, arguments: list[str]) -> None:
    assert run(app, *arguments, broker=broker) == 2
