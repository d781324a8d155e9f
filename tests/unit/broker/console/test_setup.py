"""Put together: who needs which token."""

from __future__ import annotations

import pytest
from oncelog.broker.console.setup import embedded, new_token
from oncelog.broker.control.server import ControlServer
from oncelog.broker.settings.control import ControlEndpoint
from oncelog.broker.testkit.clock import TestClock
from oncelog.broker.testkit.life import Life

pytestmark = pytest.mark.unit


def test_tokens_are_long_and_never_the_same() -> None:
    assert len({new_token() for _ in range(100)}) == 100
    assert len(new_token()) >= 32


def test_a_token_that_was_configured_is_taken_and_not_printed() -> None:
    life = Life({}, None, TestClock(stands=True))
    assert embedded(life, ControlEndpoint("127.0.0.1", 1, "secret")).token == "secret"
    assert ControlServer(life, ControlEndpoint("127.0.0.1", 1, "secret")).console_url == "http://127.0.0.1:1/"
    assert "/?token=" in ControlServer(life, ControlEndpoint("127.0.0.1", 1)).console_url


def test_two_servers_watch_one_broker_once() -> None:
    life = Life({}, None, TestClock(stands=True))
    embedded(life, ControlEndpoint("127.0.0.1", 1))
    first = life.watching
    embedded(life, ControlEndpoint("127.0.0.1", 2))
    assert life.watching is first is not None
