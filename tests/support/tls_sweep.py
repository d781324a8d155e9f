"""TLS from a client's side: what it sees with each certificate and version, to be compared with Apache Kafka 4.3.0.

Who the broker takes a client for is seen in the topics it shows: each is visible to one principal.
"""

from __future__ import annotations

import socket
import ssl
import struct
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oncelog.broker.auth.acls import AclOperation, PatternType, PermissionType, ResourceType
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey

from support.certificates import Authority
from support.process import free_port, wait_until
from support.wire import Connection, request_frame, request_message, response_tags

VERSIONS = {"1.1": ssl.TLSVersion.TLSv1_1, "1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}
SUBJECT = r"/C=DE/ST=Berlin/L=Mitte/O=a, b\+c/OU=it/OU=x\\y/CN=alice"
SUBJECTS = {
    "alice": "/CN=alice",
    "long": SUBJECT,
    "multi": "/O=x/CN=alice+UID=7",
    "odd": '/O=  blank /CN=#a#b;b<c>"d"=e',
    "serial": "/serialNumber=42/surname=Doe/title=x/CN=alice",
    "umlaut": "/O=Ä/CN=Jörg",
    "mail": "/emailAddress=a@b.c/DC=org/DC=example/CN=alice",
}
RULES = r"RULE:^CN=(.*?),OU=x\\\\y.*$/$1/U,RULE:^CN=([a-z]+)$/mapped-$1/L,DEFAULT"
LISTENERS = ("PLAINTEXT", "NONE", "REQUESTED", "REQUIRED", "MAPPED", "UNMAPPED", "ONLY12", "ONLY13", "CIPHERS")
SEEN_BY = (
    "CN=alice",
    r"CN=alice,OU=x\\y,OU=it,O=a\, b\+c,L=Mitte,ST=Berlin,C=DE",
    "CN=alice+UID=7,O=x",
    r"CN=\#a\#b\;b\<c\>\"d\"\=e,O=\ \ blank\ ",
    "CN=Jörg,O=Ä",
    "CN=alice,2.5.4.12=#0c0178,2.5.4.4=#0c03446f65,2.5.4.5=#13023432",
    "CN=alice,DC=example,DC=org,1.2.840.113549.1.9.1=#16056140622e63",
    "ALICE",
    "mapped-alice",
)
CIPHER = "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"
EVERYBODY = len(SEEN_BY)

Ports = Mapping[str, int]


def free_listeners() -> dict[str, int]:
    """Listener -> port."""
    return {name: free_port() for name in LISTENERS}


class Certificates:
    """What clients show, made in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "stranger").mkdir(parents=True)
        self.authority, stranger = Authority(folder), Authority(folder / "stranger")
        self.server = self.authority.issue("localhost")
        self.shown: dict[str, Path | None] = {
            "none": None,
            "unknown authority": stranger.issue("eve"),
            "expired": self.authority.issue("late", expired=True),
            "self-signed": stranger.self_signed("alice"),
        }
        self.shown |= {name: self.authority.issue(name, subject=subject) for name, subject in SUBJECTS.items()}


def settings(ports: Ports, certificates: Certificates) -> dict[str, str]:
    """Of either broker: each listener demands something else of its clients."""
    where = ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items())
    secured = LISTENERS[1:]
    return {
        "listeners": where,
        "advertised.listeners": where,
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT," + ",".join(f"{name}:SSL" for name in secured),
        "inter.broker.listener.name": "PLAINTEXT",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "auto.create.topics.enable": "false",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(certificates.server),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(certificates.authority.certificate),
        "listener.name.requested.ssl.client.auth": "requested",
        "listener.name.required.ssl.client.auth": "required",
        "listener.name.mapped.ssl.client.auth": "required",
        "ssl.principal.mapping.rules": RULES,
        "listener.name.required.ssl.principal.mapping.rules": "DEFAULT",
        "listener.name.unmapped.ssl.client.auth": "requested",
        "listener.name.unmapped.ssl.principal.mapping.rules": "RULE:^CN=bob$/bob/",
        "listener.name.only12.ssl.enabled.protocols": "TLSv1.2",
        "listener.name.only13.ssl.enabled.protocols": "TLSv1.3",
        "listener.name.ciphers.ssl.cipher.suites": f"{CIPHER},TLS_AES_128_GCM_SHA256",
    }


def prepare(ports: Ports) -> None:
    """A topic for each principal, which it alone may see."""
    creations = []
    for number, name in enumerate(SEEN_BY):
        creations.append(
            {
                "resource_type": ResourceType.TOPIC,
                "resource_name": f"t{number}",
                "resource_pattern_type": PatternType.LITERAL,
                "principal": f"User:{name}",
                "host": "*",
                "operation": AclOperation.DESCRIBE,
                "permission_type": PermissionType.ALLOW,
            }
        )
    topics = [{"name": f"t{number}", "num_partitions": 1, "replication_factor": 1} for number in range(EVERYBODY)]
    with Connection(f"127.0.0.1:{ports['PLAINTEXT']}") as connection:
        made = connection.request(ApiKey.CREATE_TOPICS, 5, {"topics": topics, "timeout_ms": 10_000})
        assert {topic.error_code for topic in made.topics} == {0}, made
        ruled = connection.request(ApiKey.CREATE_ACLS, 3, {"creations": creations})
        assert {result.error_code for result in ruled.results} == {0}, ruled

        def all_there() -> bool:
            return len(connection.request(ApiKey.METADATA, 1, {"topics": None}).topics) == EVERYBODY

        wait_until(all_there, 30.0, "the topics")


@dataclass(frozen=True)
class Visit:
    """One connection of one client. `version` None: no TLS at all."""

    listener: str
    version: str | None = "1.3"
    shows: str = "none"
    ciphers: str = ""
    host: str = "localhost"
    trusts: bool = True

    @property
    def name(self) -> str:
        how = f"TLS {self.version}" if self.version else "plain text"
        parts = [f"{self.listener}: {how}", f"shows {self.shows}", self.ciphers, "" if self.host == "localhost" else f"to {self.host}"]
        return ", ".join([part for part in parts if part] + ([] if self.trusts else ["does not trust"]))


def visits() -> Iterator[Visit]:
    for listener in ("NONE", "REQUESTED", "REQUIRED"):
        for version in VERSIONS:
            for shows in ("none", "alice", "unknown authority", "expired", "self-signed"):
                yield Visit(listener, version, shows)
        yield Visit(listener, None)
    for version in ("1.2", "1.3"):
        yield Visit("PLAINTEXT", version)
        yield Visit("ONLY12", version)
        yield Visit("ONLY13", version)
        yield Visit("NONE", version, host="elsewhere.example")
        yield Visit("NONE", version, host="127.0.0.1")
        yield Visit("NONE", version, trusts=False)
    yield Visit("PLAINTEXT", None)
    for shows in SUBJECTS:
        yield Visit("MAPPED", "1.3", shows)
    for version in ("1.2", "1.3"):
        for shows in ("none", "alice"):
            yield Visit("UNMAPPED", version, shows)
    yield Visit("REQUIRED", "1.3", "long")
    for cipher in (
        "ECDHE-RSA-AES256-GCM-SHA384",
        "ECDHE-RSA-AES128-GCM-SHA256",
        "ECDHE-RSA-CHACHA20-POLY1305",
        "AES128-SHA",
        "NULL-SHA256",
    ):
        yield Visit("NONE", "1.2", ciphers=cipher)
        yield Visit("CIPHERS", "1.2", ciphers=cipher)
    yield Visit("CIPHERS", "1.3")


def sweep(ports: Ports, certificates: Certificates) -> dict[str, str]:
    """Every visit -> what its client saw."""
    found = {visit.name: _visit(visit, ports[visit.listener], certificates) for visit in visits()}
    assert len(found) == len(list(visits())), "two visits have one name"
    return found


def _visit(visit: Visit, port: int, certificates: Certificates) -> str:
    plain = socket.create_connection(("127.0.0.1", port), 20.0)
    if visit.version is None:
        with plain:
            return f"request: {_metadata(plain)}"
    try:
        secured = _context(visit, certificates).wrap_socket(plain, server_hostname=visit.host)
    except ssl.SSLCertVerificationError as error:
        return f"client refuses: {error.verify_message}"
    except OSError as error:
        return f"handshake: {_reason(error)}"
    finally:
        plain.close()
    with secured:
        return f"{secured.version()} {(secured.cipher() or ('',))[0]}: {_metadata(secured)}"


def _context(visit: Visit, certificates: Certificates) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(certificates.authority.certificate) if visit.trusts else None)
    assert visit.version is not None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of TLS 1.1
        context.minimum_version = context.maximum_version = VERSIONS[visit.version]
    if visit.ciphers or visit.version == "1.1":
        context.set_ciphers(f"{visit.ciphers or 'ALL'}:@SECLEVEL=0")
    shown = certificates.shown[visit.shows]
    if shown is not None:
        context.load_cert_chain(shown)
    return context


def _metadata(opened: socket.socket) -> str:
    """Whose topics are shown, or how the connection ended."""
    body = bytes(messages.encode_request(ApiKey.METADATA, 1, request_message(ApiKey.METADATA, {"topics": None})))
    frame = request_frame(ApiKey.METADATA, 1, 1, body)
    received = b""
    try:
        opened.sendall(struct.pack(">i", len(frame)) + frame)
        while len(received) < 4 or len(received) < 4 + struct.unpack_from(">i", received)[0]:
            part = opened.recv(1 << 16)
            if not part:
                return f"closed behind {received.hex()}" if received else "closed"
            received += part
            if received[:2] == b"\x15\x03":
                return f"TLS alert {received.hex()}"
    except OSError as error:
        return _reason(error)
    answer: Any = messages.decode_response(ApiKey.METADATA, 1, memoryview(received)[8 + response_tags(ApiKey.METADATA, 1) :])
    seen = [SEEN_BY[int(topic.name[1:])] for topic in answer.topics]
    return "ANONYMOUS" if len(seen) == EVERYBODY else " and ".join(seen) or "somebody else"


def _reason(error: OSError) -> str:
    if (
        isinstance(error, (ConnectionResetError, BrokenPipeError, ssl.SSLEOFError))
        or getattr(error, "reason", "") == "UNEXPECTED_EOF_WHILE_READING"
    ):
        return "closed"
    return str(getattr(error, "reason", None) or error)
