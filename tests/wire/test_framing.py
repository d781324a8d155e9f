"""Bytes that are no Kafka request: the connection ends, the broker and its other connections do not notice."""

from __future__ import annotations

import contextlib
import random
import socket
import struct

import pytest
from oncelog.protocol.api_keys import ApiKey
from support.wire import Connection, request_frame

TLS_HELLO = bytes.fromhex("16030100c8010000c40303") + bytes(190)
REFUSED = {
    "http": b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "tls": TLS_HELLO,
    "zero size": struct.pack(">i", 0),
    "negative size": struct.pack(">i", -1),
    "smallest size": struct.pack(">i", -(2**31)),
    "100 MiB and one": struct.pack(">i", 100 * 1024 * 1024 + 1),
    "largest size": struct.pack(">i", 2**31 - 1),
    "shorter than a header": struct.pack(">ih", 2, 18),
    "unknown key": struct.pack(">ihhih", 10, 9999, 0, 1, -1),
    "negative key": struct.pack(">ihhih", 10, -1, 0, 1, -1),
    "negative version": struct.pack(">ihhih", 10, 3, -1, 1, -1),
    "client id beyond the frame": struct.pack(">ihhih", 10, 3, 1, 1, 32000),
    "client id of length -2": struct.pack(">ihhih", 10, 3, 1, 1, -2),
    "an array of 2^31-1": struct.pack(">i", 14) + struct.pack(">hhihi", 3, 1, 1, -1, 2**31 - 1),
}


def answers(connection: Connection) -> bool:
    """Is ApiVersions answered on it?"""
    return connection.request(ApiKey.API_VERSIONS, 0, {}).error_code == 0


def swallow(connection: Connection, data: bytes) -> None:
    """Send what the broker may refuse before it has all of it, and wait for the end of the connection."""
    with contextlib.suppress(ConnectionError):
        connection.send_raw(data)
    with contextlib.suppress(OSError):  # already closed by the other side
        connection.socket.shutdown(socket.SHUT_WR)
    while connection.receive_frame() is not None:
        pass


@pytest.mark.parametrize("case", REFUSED)
def test_refused(bootstrap: str, case: str) -> None:
    with Connection(bootstrap) as witness, Connection(bootstrap) as bad:
        assert answers(witness)
        bad.send_raw(REFUSED[case])
        assert bad.closed_by_peer
        assert answers(witness)
    with Connection(bootstrap) as after:
        assert answers(after)


@pytest.mark.parametrize("case", range(20))
def test_random_bytes(bootstrap: str, case: int, seed: int) -> None:
    noise = random.Random(f"{seed}/{case}")
    with Connection(bootstrap) as witness, Connection(bootstrap) as bad:
        swallow(bad, noise.randbytes(noise.choice([1, 3, 4, 5, 11, 64, 1000, 70_000])))
        assert answers(witness)


@pytest.mark.parametrize("case", range(20))
def test_random_bodies(bootstrap: str, case: int, seed: int) -> None:
    """A good header, noise behind it: an answer or the end, never neither."""
    noise = random.Random(f"{seed}/body/{case}")
    with Connection(bootstrap) as witness, Connection(bootstrap) as bad:
        key = noise.choice([ApiKey.METADATA, ApiKey.FETCH, ApiKey.LIST_OFFSETS, ApiKey.FIND_COORDINATOR, ApiKey.CREATE_TOPICS])
        frame = request_frame(key, 4, 1, noise.randbytes(noise.randrange(200)))
        swallow(bad, struct.pack(">i", len(frame)) + frame)
        assert answers(witness)


@pytest.mark.parametrize("bytes_sent", [1, 3, 4, 9, 15])
def test_half_a_frame(bootstrap: str, bytes_sent: int) -> None:
    """Nothing is answered to it, and its end frees it."""
    frame = request_frame(ApiKey.METADATA, 1, 1, struct.pack(">i", 0))
    data = (struct.pack(">i", len(frame)) + frame)[:bytes_sent]
    with Connection(bootstrap) as witness, Connection(bootstrap) as half:
        half.send_raw(data)
        assert answers(witness)
        half.socket.shutdown(socket.SHUT_WR)
        assert half.closed_by_peer


def test_a_frame_byte_by_byte(bootstrap: str) -> None:
    frame = request_frame(ApiKey.API_VERSIONS, 0, 77, b"")
    with Connection(bootstrap) as connection:
        for byte in struct.pack(">i", len(frame)) + frame:
            connection.send_raw(bytes([byte]))
        assert connection.receive(ApiKey.API_VERSIONS, 0, 77).error_code == 0


def test_many_connections_come_and_go(bootstrap: str) -> None:
    for _ in range(200):
        with Connection(bootstrap) as connection:
            connection.send_raw(b"\0\0")
    with Connection(bootstrap) as after:
        assert answers(after)
