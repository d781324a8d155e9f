"""Which keys and versions have a codec, and what it makes of bodies that are cut, versioned by themselves, or none."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey, is_flexible
from oncelog.protocol.messages import MalformedRequest, codec
from support.filled_messages import KNOWN, versions


def test_versions_outside_the_definition() -> None:
    for version in (-1, 2, 14):
        with pytest.raises(MalformedRequest, match="versions 3 to 13"):
            messages.decode_request(ApiKey.PRODUCE, version, b"")


def test_unknown_keys() -> None:
    for key in (-1, 93, 9999, ApiKey.VOTE):
        with pytest.raises(MalformedRequest, match="no message with key"):
            messages.decode_request(key, 0, b"")


@pytest.mark.parametrize("kind", ["request", "response"])
def test_a_refused_version_is_refused_again_and_leaves_the_others_alone(kind: str) -> None:
    decode = getattr(messages, f"decode_{kind}")
    for _ in range(2):
        with pytest.raises(MalformedRequest):
            decode(ApiKey.HEARTBEAT, 99, b"")
    body = getattr(messages, f"encode_{kind}")(ApiKey.HEARTBEAT, 4, getattr(messages, f"Heartbeat{kind.capitalize()}")())
    assert decode(ApiKey.HEARTBEAT, 4, body) is not None
    with pytest.raises(MalformedRequest, match="no message with key 9999"):
        getattr(messages, f"encode_{kind}")(9999, 0, messages.HeartbeatRequest())


def test_what_is_known() -> None:
    assert messages.knows(ApiKey.PRODUCE)
    assert not messages.knows(ApiKey.VOTE)
    assert not messages.knows(9999)
    assert messages.valid_versions(ApiKey.PRODUCE) == (3, 13)


def test_headers_agree_with_definitions_about_flexible_versions() -> None:
    for key in KNOWN:
        for version in versions(key):
            assert messages.is_flexible_definition(key, version) == is_flexible(key, version), (key, version)


def test_whatever_goes_wrong_below_is_a_malformed_request(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(error: Exception) -> Any:
        def decode(_view: memoryview, _pos: int) -> Any:
            raise error

        return decode

    for error in (struct.error("short"), IndexError("end"), ValueError("digits")):
        monkeypatch.setitem(codec._request_decoders, (12, 4), fails(error))
        with pytest.raises(MalformedRequest, match="body ends early: ") as told:
            messages.decode_request(12, 4, b"")
        assert told.value.__cause__ is error
    own = MalformedRequest("own")
    monkeypatch.setitem(codec._request_decoders, (12, 4), fails(own))
    with pytest.raises(MalformedRequest) as told:
        messages.decode_request(12, 4, b"")
    assert told.value is own
    monkeypatch.setitem(codec._request_decoders, (12, 4), fails(KeyError("a mistake of ours")))
    with pytest.raises(KeyError):
        messages.decode_request(12, 4, b"")


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_values_that_carry_their_version(version: int) -> None:
    kind = messages.ConsumerProtocolSubscription
    data = messages.encode_data("ConsumerProtocolSubscription", version, kind(topics=["a"], user_data=b"x"))
    assert data[:2] == version.to_bytes(2)
    assert messages.decode_data("ConsumerProtocolSubscription", data).topics == ["a"]  # type: ignore[attr-defined]


def test_a_version_above_ours_is_read_as_our_newest() -> None:
    kind = messages.ConsumerProtocolSubscription
    data = messages.encode_data("ConsumerProtocolSubscription", 3, kind(topics=["a"], rack_id="r"))
    for newer in (b"\0\4", b"\x7f\xff"):
        read: Any = messages.decode_data("ConsumerProtocolSubscription", newer + data[2:] + b"new fields")
        assert (read.topics, read.rack_id) == (["a"], "r")
    with pytest.raises(MalformedRequest, match="has versions 0 to 3, not -1"):
        messages.decode_data("ConsumerProtocolSubscription", b"\xff\xff" + data[2:])


def test_a_value_without_version_or_cut_short() -> None:
    data = messages.encode_data("ConsumerProtocolSubscription", 1, messages.ConsumerProtocolSubscription(topics=["a"]))
    for size in range(len(data)):
        with pytest.raises(MalformedRequest, match="has no version" if size < 2 else None):
            messages.decode_data("ConsumerProtocolSubscription", data[:size])
