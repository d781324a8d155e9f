"""Clients of other protocols are told apart from Kafka's by their first bytes."""

from __future__ import annotations

import struct

import pytest
from oncelog.broker.net.dispatch import CloseConnection
from oncelog.broker.net.other_protocols import check_protocol

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("head", [b"GET ", b"POST", b"OPTI", b"PRI "])
def test_http(head: bytes) -> None:
    with pytest.raises(CloseConnection, match="HTTP request"):
        check_protocol(head, "PLAINTEXT")


@pytest.mark.parametrize("version", [0, 1, 3])
def test_tls(version: int) -> None:
    with pytest.raises(CloseConnection, match="TLS hello on listener INSIDE"):
        check_protocol(bytes((0x16, 3, version, 0)), "INSIDE")


@pytest.mark.parametrize("length", [10, 100 << 20, 0x16020000])
def test_lengths_of_requests(length: int) -> None:
    check_protocol(struct.pack(">i", length), "PLAINTEXT")
