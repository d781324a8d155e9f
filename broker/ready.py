"""`oncelog ready`: does a broker serve? One ApiVersions round trip, repeated until the time is up."""

from __future__ import annotations

import socket
import struct
import sys
import time

_API_VERSIONS_V0 = struct.pack(">hhih", 18, 0, 7, -1)
PAUSE_SECONDS = 0.05


def ready(*, bootstrap: str = "127.0.0.1:9092", timeout: float = 0.0) -> int:
    """Exit with 0 as soon as a broker serves, with 1 when it does not in time.

    Parameters
    ----------
    bootstrap
        host:port of the broker.
    timeout
        Seconds to wait for it; 0 asks once.
    """
    host, separator, port = bootstrap.rpartition(":")
    if not separator or not port.isdecimal():
        sys.stderr.write(f"oncelog ready: --bootstrap takes host:port, not {bootstrap!r}\n")
        return 2
    deadline = time.monotonic() + timeout
    while True:
        problem = _ask(host.strip("[]") or "127.0.0.1", int(port))
        if problem is None:
            return 0
        if time.monotonic() >= deadline:
            sys.stderr.write(f"oncelog ready: {bootstrap} does not serve: {problem}\n")
            return 1
        time.sleep(PAUSE_SECONDS)


def _ask(host: str, port: int) -> str | None:
    try:
        with socket.create_connection((host, port), 2.0) as connection:
            connection.sendall(struct.pack(">i", len(_API_VERSIONS_V0)) + _API_VERSIONS_V0)
            head = connection.recv(8)
    except OSError as error:
        return str(error)
    if len(head) < 8 or head[4:8] != struct.pack(">i", 7):
        return "it does not speak Kafka's protocol (or wants TLS or SASL)"
    return None
