"""A small blocking Kafka client for the command line: one connection, one request, one answer.

Connect, TLS, ApiVersions, SASL, then `send(key, request)`, each at the highest version both sides know. `cluster.py` finds leaders
and coordinators with it.

    with WireClient("localhost", 9092) as client:
        answer = client.send(ApiKey.LIST_GROUPS, messages.ListGroupsRequest(states_filter=[]))
"""

from __future__ import annotations

import itertools
import re
import socket
import ssl
import struct
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypeVar

from oncelog.broker.commands.client.sasl import Conversation, SaslClientError, conversation
from oncelog.broker.ending import shortened
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from oncelog.protocol.messages import ApiVersionsResponse, Request

Answer = TypeVar("Answer")
DEFAULT_PORT = 9092
MAX_PORT = 65535
MAX_RESPONSE_BYTES = 100 * 1024 * 1024
API_VERSIONS_AT_FIRST = 3
_ALERT = re.compile(r"ALERT_(\w+)")  # OpenSSL's reason for an alert that came
# a TLS server that gets plain text answers with an alert record: 0x15 0x03 minor
_TLS_ALERT_START = 0x1503


class ConnectFailure(Exception):
    """A broker could not be used. `stage` is one of dns, tcp, tls, api_versions, sasl, request."""

    def __init__(self, stage: str, address: str, why: str) -> None:
        super().__init__(f"{address}: {why}")
        self.stage = stage
        self.address = address
        self.why = why


@dataclass(frozen=True, slots=True)
class Security:
    """How to talk to a broker. `tls` None is plain text; `mechanism` None means no SASL."""

    tls: ssl.SSLContext | None = None
    mechanism: str | None = None
    username: str = ""
    password: str = field(default="", repr=False)


PLAINTEXT = Security()


class AddressError(ValueError):
    """What was given as the address of a broker is none."""


def parse_address(text: str) -> tuple[str, int]:
    """`host:port`, `host` (port 9092) or `[v6]:port`. Raises AddressError."""
    text = text.strip()
    shown = repr(shortened(text, 100))
    if text.startswith("["):
        host, _, rest = text[1:].partition("]")
        port = rest.removeprefix(":")
    else:
        host, _, port = text.rpartition(":") if ":" in text else (text, "", "")
    if not host:
        raise AddressError(f"{shown} is not HOST:PORT")
    if port and not (port.isascii() and port.isdecimal() and len(port) <= 5 and 0 < int(port) <= MAX_PORT):
        raise AddressError(f"{shown} is not HOST:PORT: a port is a number from 1 to {MAX_PORT}")
    return host, int(port or DEFAULT_PORT)


class WireClient:
    """One connection to one broker. A failure of the connection is a ConnectFailure; a refusal inside an answer is the caller's."""

    def __init__(
        self, host: str, port: int, *, security: Security = PLAINTEXT, client_id: str = "oncelog-cli", timeout_s: float = 10.0
    ) -> None:
        self.host = host
        self.port = port
        self.security = security
        self.client_id = client_id
        self.timeout_s = timeout_s
        self.versions: dict[int, tuple[int, int]] = {}
        self._api_versions: ApiVersionsResponse | None = None
        self._socket: socket.socket | None = None
        self._correlation_ids = itertools.count(1)

    @property
    def address(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def api_versions(self) -> ApiVersionsResponse:
        """The broker's ApiVersions answer (ranges, finalized features), once connected."""
        assert self._api_versions is not None
        return self._api_versions

    def connect(self) -> Self:
        """Open the connection, agree on versions, authenticate."""
        self._socket = self._secured(self._open())
        try:
            self._learn_versions()
            if self.security.mechanism is not None:
                self._authenticate(self.security.mechanism)
        except BaseException:
            self.close()
            raise
        return self

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def __enter__(self) -> Self:
        return self if self._socket is not None else self.connect()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def supports(self, key: ApiKey, version: int = 0) -> bool:
        """Whether the broker serves `key` in `version` or above."""
        return key in self.versions and self.versions[key][1] >= version

    def negotiate(self, key: ApiKey, max_version: int | None = None) -> int:
        """The highest version of `key` that broker and client share, at most `max_version`; KafkaError(UNSUPPORTED_VERSION) if none."""
        from oncelog.protocol import messages

        if key not in self.versions:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"{self.address} does not serve {key.name}")
        lowest, highest = self.versions[key]
        ours = messages.valid_versions(key)[1]
        chosen = min(highest, ours, ours if max_version is None else max_version)
        if chosen < lowest:
            raise KafkaError(
                ErrorCode.UNSUPPORTED_VERSION, f"{self.address} serves {key.name} v{lowest}-{highest}, too new for this client"
            )
        return chosen

    def send(self, key: ApiKey, request: Request[Answer], *, version: int | None = None, max_version: int | None = None) -> Answer:
        """Send `request`, return the decoded answer. `version` fixes the version, `max_version` caps the negotiated one."""
        from oncelog.protocol import messages

        chosen = self.negotiate(key, max_version) if version is None else version
        try:
            encoded = messages.encode_request(key, chosen, request)
        except (struct.error, OverflowError) as error:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"{key.name} cannot carry a value that large ({error})") from error
        body = self.send_raw(key, chosen, encoded)
        try:
            answer: Answer = messages.decode_response(key, chosen, body)
        except (ValueError, IndexError, struct.error) as error:
            raise ConnectFailure("request", self.address, f"answered {key.name} with something that cannot be read ({error})") from error
        return answer

    def send_raw(self, key: ApiKey, version: int, body: bytes | bytearray | memoryview) -> memoryview:
        """Send an encoded body, return the body of the answer."""
        from oncelog.protocol import messages

        flexible = messages.is_flexible(key, version)
        correlation_id = next(self._correlation_ids)
        self._write(request_header(key, version, correlation_id, self.client_id, flexible), body)
        answer = self._read_frame(key)
        if len(answer) < 4 or int.from_bytes(answer[:4], "big", signed=True) != correlation_id:
            raise ConnectFailure("request", self.address, f"answered {key.name} with something that is no Kafka response")
        # ApiVersions answers always carry the old header, so that any client can read the error
        return _skip_tags(answer, 4) if flexible and key is not ApiKey.API_VERSIONS else answer[4:]

    def _open(self) -> socket.socket:
        try:
            addresses = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)
        except (OSError, ValueError) as error:  # a name that is no name is a ValueError
            shown = ConnectFailure("dns", shortened(self.address, 100), f"the name cannot be resolved ({_why(error)})")
            raise shown from error
        last: OSError | None = None
        for family, kind, protocol, _, address in addresses:
            opened = socket.socket(family, kind, protocol)
            opened.settimeout(self.timeout_s)
            try:
                opened.connect(address)
            except OSError as error:
                opened.close()
                last = error
                continue
            opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return opened
        why = (
            "no answer to the connection attempt"
            if isinstance(last, TimeoutError)
            else str(last.strerror or last if last else "no address")
        )
        raise ConnectFailure("tcp", self.address, why)

    def _secured(self, plain: socket.socket) -> socket.socket:
        if self.security.tls is None:
            return plain
        try:
            return self.security.tls.wrap_socket(plain, server_hostname=self.host)
        except ssl.SSLCertVerificationError as error:
            plain.close()
            raise ConnectFailure("tls", self.address, f"the certificate is not accepted: {error.verify_message}") from error
        except OSError as error:
            plain.close()
            if isinstance(error, TimeoutError):
                raise ConnectFailure("tls", self.address, "no answer to the TLS handshake") from error
            self._raise_alert(error)
            why = getattr(error, "reason", None) or _why(error)
            raise ConnectFailure("tls", self.address, f"TLS handshake failed; the port may speak plain text ({why})") from error

    def _raise_alert(self, error: OSError) -> None:
        """ConnectFailure for an alert of the broker's; with TLS 1.3 it comes behind the handshake."""
        found = _ALERT.search(getattr(error, "reason", None) or "")
        if found is not None:
            alert = found[1].replace("_", " ").lower()
            raise ConnectFailure("tls", self.address, f"the broker turns this client away: alert {alert}") from error

    def _learn_versions(self) -> None:
        from oncelog.protocol import messages

        request = messages.ApiVersionsRequest(client_software_name="oncelog", client_software_version=_own_version())
        version = API_VERSIONS_AT_FIRST
        try:
            body = self.send_raw(ApiKey.API_VERSIONS, version, messages.encode_request(ApiKey.API_VERSIONS, version, request))
        except ConnectFailure as failure:
            stage = "tls" if failure.stage == "tls" else "api_versions"
            raise ConnectFailure(stage, self.address, failure.why) from failure
        if int.from_bytes(body[:2], "big", signed=True) == ErrorCode.UNSUPPORTED_VERSION:
            # an older broker: the refusal is in the shape of v0, and v0 every broker has
            version = 0
            body = self.send_raw(ApiKey.API_VERSIONS, version, messages.encode_request(ApiKey.API_VERSIONS, version, request))
        try:
            answer = messages.decode_response(ApiKey.API_VERSIONS, version, body)
        except ValueError as error:
            raise ConnectFailure("api_versions", self.address, f"answered ApiVersions with something else ({error})") from error
        if answer.error_code:
            raise ConnectFailure("api_versions", self.address, f"refused ApiVersions: {error_code(answer.error_code).name}")
        self._api_versions = answer
        self.versions = {entry.api_key: (entry.min_version, entry.max_version) for entry in answer.api_keys}

    def _authenticate(self, mechanism: str) -> None:
        from oncelog.protocol import messages

        handshake = self.send(ApiKey.SASL_HANDSHAKE, messages.SaslHandshakeRequest(mechanism=mechanism))
        if handshake.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
            offered = ", ".join(handshake.mechanisms) or "none"
            raise ConnectFailure("sasl", self.address, f"does not offer {mechanism}; it offers: {offered}")
        if handshake.error_code == ErrorCode.ILLEGAL_SASL_STATE:
            raise ConnectFailure("sasl", self.address, "this listener takes no SASL authentication")
        if handshake.error_code:
            raise ConnectFailure("sasl", self.address, f"refused the handshake: {error_code(handshake.error_code).name}")
        talk = conversation(mechanism, self.security.username, self.security.password)
        try:
            self._exchange(talk)
        except SaslClientError as error:
            raise ConnectFailure("sasl", self.address, str(error)) from error

    def _exchange(self, talk: Conversation) -> None:
        """Send each token of `talk`, hand it the broker's challenge."""
        from oncelog.protocol import messages

        token = next(talk)
        while True:
            answer = self.send(ApiKey.SASL_AUTHENTICATE, messages.SaslAuthenticateRequest(auth_bytes=token))
            if answer.error_code:
                raise ConnectFailure("sasl", self.address, answer.error_message or error_code(answer.error_code).name)
            try:
                token = talk.send(bytes(answer.auth_bytes))
            except StopIteration:
                return

    def _write(self, head: bytes, body: bytes | bytearray | memoryview) -> None:
        if self._socket is None:
            raise ConnectFailure("request", self.address, "the connection is closed")
        try:
            self._socket.sendall((len(head) + len(body)).to_bytes(4, "big") + head + bytes(body))
        except (BrokenPipeError, ConnectionResetError):
            pass  # an answer, or the end of the connection, may still be there to read
        except OSError as error:
            raise ConnectFailure("request", self.address, _why(error)) from error

    def _read_frame(self, key: ApiKey) -> memoryview:
        size = int.from_bytes(self._read_exactly(4, key), "big", signed=True)
        if not 0 <= size <= MAX_RESPONSE_BYTES:
            hint = " (the port speaks TLS)" if size >> 16 == _TLS_ALERT_START else ""
            raise ConnectFailure("request", self.address, f"answered with something that is no Kafka response{hint}")
        return memoryview(self._read_exactly(size, key))

    def _read_exactly(self, size: int, key: ApiKey) -> bytes:
        assert self._socket is not None
        chunks = bytearray()
        while len(chunks) < size:
            try:
                chunk = self._socket.recv(min(size - len(chunks), 1 << 20))
            except ConnectionResetError:
                chunk = b""
            except TimeoutError as error:
                raise ConnectFailure("request", self.address, f"no answer to {key.name} within {self.timeout_s:g} s") from error
            except OSError as error:
                self._raise_alert(error)
                raise ConnectFailure("request", self.address, f"{_why(error)} while waiting for {key.name}") from error
            if not chunk:
                raise ConnectFailure("request", self.address, f"closed the connection instead of answering {key.name}")
            chunks += chunk
        return bytes(chunks)


def error_code(code: int) -> ErrorCode:
    """The ErrorCode of a number on the wire; UNKNOWN_SERVER_ERROR for one that this client does not know."""
    try:
        return ErrorCode(code)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR


def request_header(key: int, version: int, correlation_id: int, client_id: str, flexible: bool) -> bytes:
    """Request header v1, or v2 (with an empty tag section) when `flexible`."""
    name = client_id.encode()
    fixed = key.to_bytes(2, "big") + version.to_bytes(2, "big") + correlation_id.to_bytes(4, "big")
    return fixed + len(name).to_bytes(2, "big") + name + (b"\x00" if flexible else b"")


def _skip_tags(frame: memoryview, position: int) -> memoryview:
    count, position = _read_uvarint(frame, position)
    for _ in range(count):
        _, position = _read_uvarint(frame, position)
        size, position = _read_uvarint(frame, position)
        position += size
    return frame[position:]


def _read_uvarint(frame: memoryview, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = frame[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7


def _why(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)


def _own_version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("oncelog")
    except PackageNotFoundError:
        return "0"
