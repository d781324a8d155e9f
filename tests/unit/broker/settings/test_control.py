"""Where a control port may listen."""

from __future__ import annotations

import pytest
from oncelog.broker.settings.control import ControlEndpoint, control_endpoint, is_loopback
from oncelog.broker.settings.load import load
from oncelog.protocol.errors import KafkaError

pytestmark = pytest.mark.unit


def test_nowhere_unless_asked() -> None:
    assert control_endpoint("", None) is None
    assert control_endpoint("", "secret") is None


def test_addresses() -> None:
    assert control_endpoint("http://127.0.0.1:9644", None) == ControlEndpoint("127.0.0.1", 9644)
    assert control_endpoint("http://localhost:0/", None) == ControlEndpoint("localhost", 0)
    found = control_endpoint("http://[::1]:9644", None)
    assert found is not None
    assert found.url == "http://[::1]:9644"
    assert control_endpoint("http://0.0.0.0:9644", "secret") == ControlEndpoint("0.0.0.0", 9644, "secret")


@pytest.mark.parametrize(
    "listener", ["9644", "127.0.0.1:9644", "https://127.0.0.1:1", "http://127.0.0.1", "http://:1", "http://127.0.0.1:65536",
                 "http://127.0.0.1:x", "http://u@127.0.0.1:1", "http://127.0.0.1:1/v1", "http://127.0.0.1:1?x", "http://[::1:1"],
)  # fmt: skip
def test_what_is_no_address(listener: str) -> None:
    with pytest.raises(KafkaError, match="is not http://host:port"):
        control_endpoint(listener, None)


@pytest.mark.parametrize("host", ["0.0.0.0", "10.0.0.1", "[::]", "broker"])
def test_other_machines_need_a_token(host: str) -> None:
    with pytest.raises(KafkaError, match=r"set control\.token"):
        load({"control.listener": f"http://{host}:9644"})


@pytest.mark.parametrize("token", ["", " ", "two words", "s\u00e9cret"])
def test_tokens_that_no_header_carries(token: str) -> None:
    with pytest.raises(KafkaError, match=r"control\.token"):
        control_endpoint("http://127.0.0.1:9644", token)


def test_a_token_is_not_shown() -> None:
    assert "secret" not in repr(control_endpoint("http://127.0.0.1:1", "secret"))


def test_loopback() -> None:
    assert [is_loopback(host) for host in ("127.9.9.9", "::1", "LOCALHOST", "0.0.0.0", "example.org", "")] == [True] * 3 + [False] * 3
