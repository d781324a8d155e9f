"""Request and response headers, and which messages have flexible ones."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.header import RequestHeader, parse_request_header, response_header
from oncelog.protocol.primitives import MalformedRequest


def test_old_header() -> None:
    frame = bytes.fromhex("0003000200000001000570726f6265" + "00000000")
    assert parse_request_header(frame) == RequestHeader(3, 2, 1, "probe", 15)
    assert parse_request_header(memoryview(frame)) == RequestHeader(3, 2, 1, "probe", 15)


def test_flexible_header_with_unknown_tags() -> None:
    plain = bytes.fromhex("0012000300000007" + "ffff" + "00")
    assert parse_request_header(plain) == RequestHeader(18, 3, 7, None, 11)
    tagged = bytes.fromhex("0012000300000007" + "000161" + "02" + "0503aabbcc" + "0600")
    assert parse_request_header(tagged) == RequestHeader(18, 3, 7, "a", 19)


def test_bad_utf8_is_read_leniently() -> None:
    assert parse_request_header(bytes.fromhex("0003000200000001" + "0001ff")).client_id == "\ufffd"


def test_unknown_key_is_parsed_as_far_as_the_client_id() -> None:
    assert parse_request_header(bytes.fromhex("270f000000000001" + "000161" + "ffff")) == RequestHeader(9999, 0, 1, "a", 11)


def test_every_cut_is_refused() -> None:
    frame = bytes.fromhex("0012000300000007" + "000161" + "02" + "0503aabbcc" + "0600")
    for length in range(len(frame)):
        with pytest.raises(MalformedRequest):
            parse_request_header(frame[:length])


@given(st.binary(max_size=40))
def test_any_bytes(frame: bytes) -> None:
    with contextlib.suppress(MalformedRequest):
        assert parse_request_header(frame).body_offset <= len(frame)


def test_response_headers() -> None:
    assert response_header(ApiKey.METADATA, 8, 5) == b"\x00\x00\x00\x05"
    assert response_header(ApiKey.METADATA, 9, 5) == b"\x00\x00\x00\x05\x00"
    assert response_header(ApiKey.API_VERSIONS, 4, 5) == b"\x00\x00\x00\x05"
