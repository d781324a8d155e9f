"""Addresses, headers, versions: how the command line talks to a broker."""

from __future__ import annotations

from typing import Any

import pytest
from oncelog.broker.commands.client.wire import ConnectFailure, WireClient, parse_address, request_header
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.header import parse_request_header
from support.scripted_broker import ScriptedBroker

pytestmark = pytest.mark.unit


# --- the wire client


@pytest.mark.parametrize(
    ("text", "address"),
    [("a:1", ("a", 1)), ("a", ("a", 9092)), ("[::1]:5", ("::1", 5)), ("[::1]", ("::1", 9092)), (" a:2 ", ("a", 2))],
)
def test_addresses(text: str, address: tuple[str, int]) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize("text", ["", ":1", "a:b", "a:1x"])
def test_bad_addresses(text: str) -> None:
    with pytest.raises(ValueError):
        parse_address(text)


def test_request_headers_are_read_back() -> None:
    head = request_header(3, 12, 77, "me", True)
    header = parse_request_header(memoryview(head))
    assert (header.api_key, header.api_version, header.correlation_id, header.client_id) == (3, 12, 77, "me")


def test_versions_are_negotiated(broker: ScriptedBroker) -> None:
    with WireClient("127.0.0.1", broker.port) as client:
        assert client.negotiate(ApiKey.METADATA) == messages.valid_versions(ApiKey.METADATA)[1]
        assert client.negotiate(ApiKey.METADATA, 5) == 5
        client.versions[ApiKey.METADATA] = (90, 91)
        for key in (ApiKey.METADATA, ApiKey.FETCH):
            with pytest.raises(KafkaError) as refused:
                client.negotiate(key)
            assert refused.value.code is ErrorCode.UNSUPPORTED_VERSION


def test_an_old_broker_refuses_with_the_first_version() -> None:
    def answer(version: int, request: Any) -> Any:
        entry = messages.ApiVersionsResponse.ApiVersion(api_key=18, min_version=0, max_version=0)
        return messages.ApiVersionsResponse(error_code=0 if version == 0 else 35, api_keys=[entry])

    old = ScriptedBroker({ApiKey.API_VERSIONS: answer})
    with WireClient("127.0.0.1", old.port) as client:
        assert client.versions == {18: (0, 0)}
    assert [version for _, version, _ in old.seen] == [3, 0]
    old.close()


@pytest.mark.parametrize(("greeting", "said"), [(b"HTTP/1.1 400\r\n\r\n", "no Kafka response"), (b"\x15\x03\x03\0\2\2\x32", "TLS")])
def test_what_is_no_broker_is_said(greeting: bytes, said: str) -> None:
    other = ScriptedBroker(greeting=greeting)
    with pytest.raises(ConnectFailure, match=said) as failure:
        WireClient("127.0.0.1", other.port).connect()
    assert failure.value.stage == "api_versions"
    other.close()
