"""What is no Kafka client, told by the first bytes it sends."""

from __future__ import annotations

from oncelog.broker.net.dispatch import CloseConnection

_TLS_HELLO = b"\x16\x03"
_HTTP_METHODS = (b"GET ", b"POST", b"HEAD", b"PUT ", b"OPTI", b"DELE", b"PRI ")


def check_protocol(head: bytes, listener_name: str) -> None:
    """`head`: the first four bytes of a connection. Raises CloseConnection."""
    if head.startswith(_TLS_HELLO):
        raise CloseConnection(f"a TLS hello on listener {listener_name}, which does not speak TLS")
    if head in _HTTP_METHODS:
        raise CloseConnection("an HTTP request on a Kafka port")
