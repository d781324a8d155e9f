"""One raw connection: frames as bytes, requests by name, nothing between the test and the socket."""

from __future__ import annotations

import socket
import struct
from collections.abc import Mapping
from typing import Any

from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.spark_jobs.demo_parts.patience import Patience

CLIENT_ID = "wire"


class Connection:
    """A blocking connection to `host:port`; use as a context manager."""

    def __init__(self, bootstrap: str, timeout: float = 10.0, client_id: str | None = CLIENT_ID) -> None:
        host, port = bootstrap.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.client_id = client_id
        self.correlation_id = 0

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *exc: object) -> None:
        self.socket.close()

    def close(self) -> None:
        self.socket.close()

    def send_raw(self, data: bytes) -> None:
        """Bytes as they are, length prefix included."""
        self.socket.sendall(data)

    def send_frame(self, frame: bytes) -> None:
        """`frame` behind its length."""
        self.socket.sendall(struct.pack(">i", len(frame)) + frame)

    def receive_frame(self) -> bytes | None:
        """The next frame without its length; None when the broker has closed the connection."""
        head = self._exactly(4)
        if head is None:
            return None
        (size,) = struct.unpack(">i", head)
        return self._exactly(size)

    def _exactly(self, size: int) -> bytes | None:
        parts = bytearray()
        patience = Patience(self.socket.gettimeout() or 0.0)
        while len(parts) < size:
            try:
                part = self._some(size - len(parts), patience)
            except ConnectionResetError:
                return None
            if not part:
                return None
            parts += part
        return bytes(parts)

    def _some(self, most: int, patience: Patience) -> bytes:
        return patience.wait(lambda _slice: self.socket.recv(most))

    @property
    def closed_by_peer(self) -> bool:
        """Waits for the broker to close; TimeoutError if it does not."""
        return self.receive_frame() is None

    def send(self, key: ApiKey, version: int, body: bytes) -> int:
        """Send a request given as its encoded body; its correlation id."""
        self.correlation_id += 1
        self.send_frame(request_frame(key, version, self.correlation_id, body, self.client_id))
        return self.correlation_id

    def request(self, key: ApiKey, version: int, fields: Mapping[str, Any] | Any) -> Any:
        """Send one request and wait for its answer, decoded."""
        message = request_message(key, fields) if isinstance(fields, Mapping) else fields
        correlation_id = self.send(key, version, bytes(messages.encode_request(key, version, message)))
        return self.receive(key, version, correlation_id)

    def receive(self, key: ApiKey, version: int, correlation_id: int) -> Any:
        """The answer to one request; AssertionError when the connection was closed or the answer is another request's."""
        frame = self.receive_frame()
        assert frame is not None, f"connection closed instead of an answer to {key.name} v{version}"
        (seen,) = struct.unpack_from(">i", frame)
        assert seen == correlation_id, f"answer to {seen}, expected {correlation_id}"
        return messages.decode_response(key, version, memoryview(frame)[4 + response_tags(key, version) :])


def response_tags(key: int, version: int) -> int:
    """Bytes of the response header behind the correlation id (no tag is ever sent): 1 if flexible, and never for ApiVersions."""
    return 0 if key == ApiKey.API_VERSIONS else int(messages.is_flexible(key, version))


def request_frame(key: int, version: int, correlation_id: int, body: bytes, client_id: str | None = CLIENT_ID) -> bytes:
    """A whole frame without its length."""
    name = b"\xff\xff" if client_id is None else struct.pack(">h", len(client_id)) + client_id.encode()
    tags = b"\0" if messages.is_flexible(key, version) else b""
    return struct.pack(">hhi", key, version, correlation_id) + name + tags + body


def request_message(key: ApiKey, fields: Mapping[str, Any]) -> Any:
    """A request object from plain dicts and lists, however deep."""
    return _message(getattr(messages, f"{key.schema_name}Request"), fields)


def _message(kind: Any, fields: Mapping[str, Any]) -> Any:
    given = {}
    for name, value in fields.items():
        field = kind._struct.fields[name]
        if isinstance(value, Mapping):
            value = _message(getattr(kind, field.type_str), value)
        elif isinstance(value, list) and value and isinstance(value[0], Mapping):
            value = [_message(getattr(kind, field.array_of.type_str), each) for each in value]
        given[name] = value
    return kind(**given)
