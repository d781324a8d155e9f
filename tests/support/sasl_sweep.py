"""Logins of every kind, in and out of order: what a broker answers on one connection, to be compared with Apache Kafka 4.3.0.

A sequence is a function of a `Client`; each of its steps notes one line of what came back, until the connection is closed.
"""

from __future__ import annotations

import base64
import contextlib
import struct
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from oncelog.broker.auth.scram import ScramMechanism, salted_password
from oncelog.broker.commands.client.sasl import conversation
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.spark_jobs.demo_parts.patience import Patience

from support.process import free_port, wait_until
from support.replay import plain
from support.rights_sweep import codes
from support.wire import Connection, request_frame, request_message, response_tags

PASSWORD = "secret"
USERS = ("alice", "bob")  # bob has no credential of SCRAM-SHA-256
LONG_SESSION_MS, SHORT_SESSION_MS = 600_000, 1500
MAX_RECEIVE_BYTES = 20_000
SCRAMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")
MECHANISMS = ("PLAIN", *SCRAMS)
LISTENERS = ("PLAINTEXT", "LOGIN", "LONG", "SHORT", "ONLYPLAIN")
_PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
_SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
_SALT = b"0123456789abcdef"
_PARALLEL = 8

Ports = Mapping[str, int]


def free_listeners() -> dict[str, int]:
    """Listener -> port."""
    return {name: free_port() for name in LISTENERS}


def settings(ports: Ports) -> dict[str, str]:
    """Of either broker. LOGIN: sessions without end; LONG and SHORT: with one; ONLYPLAIN: one mechanism; PLAINTEXT: no logins."""
    users = " ".join(f'user_{name}="{PASSWORD}"' for name in USERS)
    plain_users = f"{_PLAIN_MODULE} required {users};"
    found = {
        "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items()),
        "advertised.listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items()),
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,"
        + ",".join(f"{name}:SASL_PLAINTEXT" for name in LISTENERS[1:]),
        "inter.broker.listener.name": "PLAINTEXT",
        "sasl.enabled.mechanisms": ",".join(MECHANISMS),
        "sasl.server.max.receive.size": str(MAX_RECEIVE_BYTES),
        "listener.name.long.connections.max.reauth.ms": str(LONG_SESSION_MS),
        "listener.name.short.plain.connections.max.reauth.ms": str(SHORT_SESSION_MS),
        "listener.name.onlyplain.sasl.enabled.mechanisms": "PLAIN",
    }
    for name in LISTENERS[1:]:
        prefix = f"listener.name.{name.lower()}"
        found[f"{prefix}.plain.sasl.jaas.config"] = plain_users
        for mechanism in SCRAMS:
            found[f"{prefix}.{mechanism.lower()}.sasl.jaas.config"] = f"{_SCRAM_MODULE} required;"
    return found


def prepare(ports: Ports) -> None:
    """Credentials of SCRAM; waits until they may be used."""
    credentials = [("alice", ScramMechanism.SCRAM_SHA_256), ("alice", ScramMechanism.SCRAM_SHA_512), ("bob", ScramMechanism.SCRAM_SHA_512)]
    with Connection(f"127.0.0.1:{ports['PLAINTEXT']}") as connection:
        for user, mechanism in credentials:
            asked = {"deletions": [], "upsertions": [_credential(user, mechanism)]}
            answer = connection.request(ApiKey.ALTER_USER_SCRAM_CREDENTIALS, 0, asked)
            assert answer.results[0].error_code == 0, answer

    def known() -> bool:
        logins = [Client(ports["LOGIN"]) for _ in range(2)]
        for client, user in zip(logins, USERS, strict=True):
            client.log_in("SCRAM-SHA-512", user)
            client.close()
        return all(client.seen[-1].startswith("SaslAuthenticate 0 proof") for client in logins)

    wait_until(known, 30.0, "the credentials")


def _credential(user: str, mechanism: ScramMechanism) -> dict[str, Any]:
    salted = salted_password(mechanism, PASSWORD, _SALT, 4096)
    return {"name": user, "mechanism": mechanism, "iterations": 4096, "salt": _SALT, "salted_password": salted}


class Client:
    """One connection, and what was seen on it. Each method but `close` notes one line, and nothing more once it is closed."""

    def __init__(self, port: int) -> None:
        self.connection = Connection(f"127.0.0.1:{port}", 20.0)
        self.seen: list[str] = []

    @property
    def closed(self) -> bool:
        return bool(self.seen) and self.seen[-1].endswith("closed")

    def close(self) -> None:
        self.connection.close()

    def ask(self, key: ApiKey, version: int, fields: Mapping[str, Any]) -> Any:
        """Any request."""
        self.send(key, version, fields)
        return self.receive(key, version)

    def send(self, key: ApiKey, version: int, fields: Mapping[str, Any]) -> None:
        """Without waiting for the answer; notes nothing."""
        if not self.closed:
            self._send(key, version, bytes(messages.encode_request(key, version, request_message(key, fields))))

    def receive(self, key: ApiKey, version: int) -> Any:
        """The answer to a request that was sent."""
        name = key.schema_name
        frame = self._receive(name)
        if frame is None:
            return None
        answer = messages.decode_response(key, version, memoryview(frame)[4 + response_tags(key, version) :])
        self.seen.append(f"{name} {_shown(key, answer)}")
        return answer

    def api_versions(self, version: int = 3, software: str = "wire") -> None:
        fields = {"client_software_name": software, "client_software_version": "1"} if version >= 3 else {}
        self.ask(ApiKey.API_VERSIONS, version, fields)

    def api_versions_too_new(self) -> None:
        """In a version that nobody knows; the answer is of version 0."""
        self._send(ApiKey.API_VERSIONS, 99, b"\x05wire\x021\0")
        self.receive(ApiKey.API_VERSIONS, 0)

    def metadata(self) -> None:
        self.ask(ApiKey.METADATA, 4, {"topics": [{"name": "absent"}], "allow_auto_topic_creation": False})

    def handshake(self, mechanism: str = "PLAIN", version: int = 1) -> None:
        self.ask(ApiKey.SASL_HANDSHAKE, version, {"mechanism": mechanism})

    def token(self, token: bytes, version: int = 2) -> bytes:
        """In SaslAuthenticate; its challenge."""
        answer = self.ask(ApiKey.SASL_AUTHENTICATE, version, {"auth_bytes": token})
        return b"" if answer is None else bytes(answer.auth_bytes)

    def bare(self, token: bytes) -> bytes:
        """As a frame of its own; the challenge, which is one too."""
        if self.closed:
            return b""
        self._write(struct.pack(">i", len(token)) + token)
        frame = self._receive("token")
        if frame is not None:
            self.seen.append(f"token {_challenge(frame)}")
        return frame or b""

    def frame(self, frame: bytes) -> None:
        """Bytes that are no token."""
        if not self.closed:
            self._write(struct.pack(">i", len(frame)) + frame)
            answer = self._receive("frame")
            if answer is not None:
                self.seen.append(f"frame {answer.hex()}")

    def exchange(self, mechanism: str, user: str = "alice", password: str = PASSWORD, *, version: int | None = 2, until: int = 2) -> None:
        """The first `until` tokens of a login; bare ones if there is no version."""
        talk = conversation(mechanism, user, password)
        token = next(talk)
        for _ in range(until):
            challenge = self.bare(token) if version is None else self.token(token, version)
            if not self.seen[-1].startswith(("token", "SaslAuthenticate 0 ")) or self.closed:
                return
            try:
                token = talk.send(challenge)
            except StopIteration:
                return

    def log_in(self, mechanism: str = "PLAIN", user: str = "alice", password: str = PASSWORD) -> None:
        self.handshake(mechanism)
        self.exchange(mechanism, user, password)

    def until_closed(self) -> None:
        """Ask for Metadata until the connection is closed; notes the last line."""
        patience = Patience(3 * SHORT_SESSION_MS / 1000)
        self.metadata()
        while not (self.closed or patience.over):
            self.seen.pop()
            self.metadata()

    def _send(self, key: ApiKey, version: int, body: bytes) -> None:
        self.connection.correlation_id += 1
        frame = request_frame(key, version, self.connection.correlation_id, body)
        self._write(struct.pack(">i", len(frame)) + frame)

    def _write(self, data: bytes) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # seen when the answer is read
            self.connection.send_raw(data)

    def _receive(self, name: str) -> bytes | None:
        if self.closed:
            return None
        try:
            frame = self.connection.receive_frame()
        except TimeoutError:
            self.seen.append(f"{name} neither answered nor closed")
            return None
        if frame is None:
            self.seen.append(f"{name} closed")
        return frame


def _shown(key: ApiKey, answer: Any) -> str:
    match key:
        case ApiKey.SASL_HANDSHAKE:
            return f"{answer.error_code} {','.join(sorted(answer.mechanisms)) or 'none'}"
        case ApiKey.SASL_AUTHENTICATE:
            lifetime = f" for {answer.session_lifetime_ms} ms" if answer.session_lifetime_ms else ""
            return f"{answer.error_code} {_challenge(bytes(answer.auth_bytes))} {answer.error_message!r}{lifetime}"
        case ApiKey.API_VERSIONS:
            return f"{answer.error_code} {'all' if len(answer.api_keys) > 1 else len(answer.api_keys)}"
        case _:
            return codes(plain(answer))


def _challenge(token: bytes) -> str:
    """A challenge without what is made up anew each time."""
    if not token:
        return "empty"
    fields = dict(part.split("=", 1) for part in token.decode().split(","))
    if "v" in fields:
        return "proof"
    return f"challenge i={fields['i']} nonce={len(fields['r']) > 20} salt={base64.b64decode(fields['s']).decode()}"


Sequence = Callable[[Client], None]
PLAIN_TOKENS: dict[str, bytes] = {
    "right": b"\0alice\0secret",
    "wrong password": b"\0alice\0wrong",
    "unknown user": b"\0nobody\0secret",
    "user in capitals": b"\0ALICE\0secret",
    "user with a blank": b"\0 alice\0secret",
    "password with more": b"\0alice\0secretsecret",
    "password with a newline": b"\0alice\0secret\n",
    "empty token": b"",
    "no user": b"\0\0secret",
    "no password": b"\0alice\0",
    "nothing between": b"\0\0",
    "no separator": b"alice",
    "one separator": b"alice\0secret",
    "four parts": b"\0alice\0secret\0",
    "seven parts": b"\0alice\0secret\0\0\0\0",
    "authorization id the same": b"alice\0alice\0secret",
    "authorization id another": b"bob\0alice\0secret",
    "authorization id another, wrong password": b"bob\0alice\0wrong",
    "not UTF-8": b"\0al\xffice\0secret",
    "password not UTF-8": b"\0alice\0\xff\xfe",
    "garbage": bytes(range(255, 200, -1)),
    "long": b"\0alice\0" + b"x" * 19_000,
    "too long": b"\0alice\0" + b"x" * MAX_RECEIVE_BYTES,
}
SCRAM_FIRST_TOKENS: dict[str, bytes] = {
    "right": b"n,,n=alice,r=abcdef",
    "authorization id the same": b"n,a=alice,n=alice,r=abcdef",
    "authorization id another": b"n,a=bob,n=alice,r=abcdef",
    "supports channel binding": b"y,,n=alice,r=abcdef",
    "demands channel binding": b"p=tls-unique,,n=alice,r=abcdef",
    "unknown user": b"n,,n=nobody,r=abcdef",
    "user in capitals": b"n,,n=ALICE,r=abcdef",
    "user written with =61": b"n,,n==61lice,r=abcdef",
    "no nonce": b"n,,n=alice,r=",
    "extension": b"n,,n=alice,r=abcdef,x=y",
    "mandatory extension": b"n,,m=x,n=alice,r=abcdef",
    "delegation token": b"n,,n=alice,r=abcdef,tokenauth=true",
    "empty token": b"",
    "a PLAIN token": b"\0alice\0secret",
    "not UTF-8": b"n,,n=al\xffice,r=abcdef",
    "garbage": bytes(range(255, 200, -1)),
    "too long": b"n,,n=alice,r=" + b"x" * MAX_RECEIVE_BYTES,
}
SCRAM_LAST_TOKENS: dict[str, Callable[[bytes], bytes]] = {
    "wrong proof": lambda right: right.rpartition(b",p=")[0] + b",p=" + base64.b64encode(bytes(64)),
    "short proof": lambda right: right.rpartition(b",p=")[0] + b",p=" + base64.b64encode(bytes(5)),
    "no proof": lambda right: right.rpartition(b",p=")[0],
    "another nonce": lambda right: right.replace(b",r=", b",r=x"),
    "another channel binding": lambda right: right.replace(b"c=biws", b"c=eSws"),
    "empty token": lambda right: b"",
    "the first again": lambda right: b"n,,n=alice,r=abcdef",
    "not UTF-8": lambda right: right + b"\xff",
    "extension unproved": lambda right: right.replace(b",p=", b",x=y,p="),
}
# a request of each kind that a client may send too early, in a version that Kafka 4.3.0 serves
EARLY: tuple[tuple[ApiKey, int, dict[str, Any]], ...] = (
    (ApiKey.API_VERSIONS, 0, {}),
    (ApiKey.API_VERSIONS, 4, {"client_software_name": "wire", "client_software_version": "1"}),
    (ApiKey.METADATA, 1, {"topics": [{"name": "a"}, {"name": "b"}]}),
    (ApiKey.METADATA, 12, {"topics": None}),
    (ApiKey.METADATA, 13, {"topics": [{"name": "a"}]}),
    (ApiKey.SASL_HANDSHAKE, 0, {"mechanism": "PLAIN"}),
    (ApiKey.FIND_COORDINATOR, 3, {"key": "g", "key_type": 0}),
    (ApiKey.FIND_COORDINATOR, 6, {"key_type": 0, "coordinator_keys": ["g"]}),
    (ApiKey.PRODUCE, 9, {"acks": 1, "timeout_ms": 1, "topic_data": [{"name": "a", "partition_data": [{"index": 0, "records": b""}]}]}),
    (ApiKey.PRODUCE, 9, {"acks": 0, "timeout_ms": 1, "topic_data": []}),
    (ApiKey.FETCH, 12, {"max_wait_ms": 0, "topics": [{"topic": "a", "partitions": [{"partition": 0}]}]}),
    (ApiKey.LIST_OFFSETS, 7, {"replica_id": -1, "topics": [{"name": "a", "partitions": [{"partition_index": 0, "timestamp": -1}]}]}),
    (ApiKey.JOIN_GROUP, 5, {"group_id": "g", "session_timeout_ms": 1, "protocol_type": "consumer", "protocols": []}),
    (ApiKey.HEARTBEAT, 4, {"group_id": "g", "generation_id": 1, "member_id": "m"}),
    (ApiKey.INIT_PRODUCER_ID, 4, {"transactional_id": "x", "transaction_timeout_ms": 1}),
    (ApiKey.END_TXN, 3, {"transactional_id": "x", "producer_id": 1, "producer_epoch": 0, "committed": True}),
    (ApiKey.CREATE_TOPICS, 7, {"topics": [{"name": "a", "num_partitions": 1, "replication_factor": 1}], "timeout_ms": 1}),
    (ApiKey.DESCRIBE_CLUSTER, 1, {}),
    (ApiKey.LIST_GROUPS, 4, {}),
    (ApiKey.DESCRIBE_ACLS, 3, {"resource_type_filter": 1, "pattern_type_filter": 1, "operation": 1, "permission_type": 1}),
)


def sequences() -> Iterator[tuple[str, str, Sequence]]:
    """(listener, what is done, how)"""
    yield from _mechanisms()
    yield from _tokens()
    yield from _order()
    yield from _sessions()


def _mechanisms() -> Iterator[tuple[str, str, Sequence]]:
    others = ("plain", "Plain", "scram-sha-256", "SCRAM-SHA-1", "GSSAPI", "OAUTHBEARER", "", " PLAIN", "PLAIN,SCRAM-SHA-256", "ÄÖ")
    for version in (0, 1):
        for mechanism in (*MECHANISMS, *others):
            yield "LOGIN", f"handshake v{version} {mechanism}", lambda c, m=mechanism, v=version: c.handshake(m, v)
        yield "ONLYPLAIN", f"handshake v{version} SCRAM-SHA-256", lambda c, v=version: c.handshake("SCRAM-SHA-256", v)
        yield "PLAINTEXT", f"handshake v{version} PLAIN, metadata", lambda c, v=version: (c.handshake("PLAIN", v), c.metadata())
    yield "PLAINTEXT", "token, metadata", lambda c: (c.token(PLAIN_TOKENS["right"]), c.metadata())
    for mechanism in MECHANISMS:
        for version in (0, 1, 2, None):
            how = "bare" if version is None else f"SaslAuthenticate v{version}"
            for user, password in (("alice", PASSWORD), ("alice", "wrong"), ("nobody", PASSWORD), ("bob", PASSWORD)):

                def log_in(c: Client, m: str = mechanism, v: int | None = version, u: str = user, p: str = password) -> None:
                    c.handshake(m, 0 if v is None else 1)
                    c.exchange(m, u, p, version=v)
                    c.metadata()

                yield "LOGIN", f"{mechanism} {how} {user} {password}, metadata", log_in


def _tokens() -> Iterator[tuple[str, str, Sequence]]:
    for name, token in PLAIN_TOKENS.items():
        yield "LOGIN", f"PLAIN token: {name}", lambda c, t=token: (c.handshake(), c.token(t), c.metadata())
        yield "LOGIN", f"PLAIN bare token: {name}", lambda c, t=token: (c.handshake("PLAIN", 0), c.bare(t), c.metadata())
    for name, token in SCRAM_FIRST_TOKENS.items():
        yield "LOGIN", f"SCRAM token: {name}", lambda c, t=token: (c.handshake("SCRAM-SHA-256"), c.token(t))
        yield "LOGIN", f"SCRAM bare token: {name}", lambda c, t=token: (c.handshake("SCRAM-SHA-256", 0), c.bare(t))
    for name, change in SCRAM_LAST_TOKENS.items():
        for version in (2, None):

            def answer(c: Client, change: Callable[[bytes], bytes] = change, v: int | None = version) -> None:
                c.handshake("SCRAM-SHA-512", 0 if v is None else 1)
                talk = conversation("SCRAM-SHA-512", "alice", PASSWORD)
                first = next(talk)
                right = talk.send(c.bare(first) if v is None else c.token(first))
                changed = change(right)
                _ = c.bare(changed) if v is None else c.token(changed)
                c.metadata()

            yield "LOGIN", f"SCRAM last {'bare ' if version is None else ''}token: {name}", answer


def _order() -> Iterator[tuple[str, str, Sequence]]:
    right = PLAIN_TOKENS["right"]
    yield "LOGIN", "versions, versions", lambda c: (c.api_versions(), c.api_versions())
    yield "LOGIN", "versions v0, versions v3", lambda c: (c.api_versions(0), c.api_versions(3))
    yield "LOGIN", "versions too new, versions, login", lambda c: (c.api_versions_too_new(), c.api_versions(), c.log_in())
    yield "LOGIN", "versions too new twice, login", lambda c: (c.api_versions_too_new(), c.api_versions_too_new(), c.log_in())
    yield "LOGIN", "versions of bad software, versions", lambda c: (c.api_versions(3, "-"), c.api_versions())
    yield "LOGIN", "versions, versions too new", lambda c: (c.api_versions(), c.api_versions_too_new())
    yield "LOGIN", "versions, versions of bad software", lambda c: (c.api_versions(), c.api_versions(3, "-"))
    yield "LOGIN", "versions, login, versions twice", lambda c: (c.api_versions(), c.log_in(), c.api_versions(), c.api_versions())
    yield "LOGIN", "versions, metadata", lambda c: (c.api_versions(), c.metadata())
    yield "LOGIN", "versions, token", lambda c: (c.api_versions(), c.token(right))
    yield "LOGIN", "token first", lambda c: c.token(right)
    yield "LOGIN", "bare token first", lambda c: c.bare(right)
    yield "LOGIN", "empty frame first", lambda c: c.frame(b"")
    yield "LOGIN", "GSSAPI token first", lambda c: c.frame(b"\x60\x82\x01\x00" + bytes(100))
    yield "LOGIN", "unknown key first", lambda c: c.frame(struct.pack(">hhih", 999, 0, 1, -1))
    yield "LOGIN", "negative length first", lambda c: (c._write(struct.pack(">i", -5)), c.receive(ApiKey.METADATA, 4))
    yield "LOGIN", "handshake v2", lambda c: c.frame(struct.pack(">hhih", 17, 2, 1, -1) + b"\0\x05PLAIN")
    yield "LOGIN", "versions behind the handshake", lambda c: (c.handshake(), c.api_versions())
    yield "LOGIN", "versions too new behind the handshake", lambda c: (c.handshake(), c.api_versions_too_new())
    yield "LOGIN", "handshake twice", lambda c: (c.handshake(), c.handshake())
    yield "LOGIN", "handshake v0 twice", lambda c: (c.handshake("PLAIN", 0), c.handshake("PLAIN", 0))
    yield "LOGIN", "handshake v0, SaslAuthenticate", lambda c: (c.handshake("PLAIN", 0), c.token(right))
    yield "LOGIN", "handshake v1, bare token", lambda c: (c.handshake(), c.bare(right))
    yield "LOGIN", "refused handshake, handshake", lambda c: (c.handshake("X"), c.handshake())
    yield "LOGIN", "refused token, token", lambda c: (c.handshake(), c.token(PLAIN_TOKENS["wrong password"]), c.token(right))
    yield "LOGIN", "SaslAuthenticate v3", lambda c: (c.handshake(), c.frame(struct.pack(">hhih", 36, 3, 2, -1) + b"\0\x02x\0"))
    yield "LOGIN", "SaslAuthenticate cut short", lambda c: (c.handshake(), c.frame(struct.pack(">hhih", 36, 1, 2, -1) + b"\0\0\0\x09x"))
    yield "LOGIN", "unknown key behind the handshake", lambda c: (c.handshake(), c.frame(struct.pack(">hhih", 999, 0, 1, -1)))
    yield "LOGIN", "login, handshake, metadata", lambda c: (c.log_in(), c.handshake(), c.metadata())
    yield "LOGIN", "login, handshake v0, metadata", lambda c: (c.log_in(), c.handshake("PLAIN", 0), c.metadata())
    yield "LOGIN", "login, unknown handshake, metadata", lambda c: (c.log_in(), c.handshake("X"), c.metadata())
    yield "LOGIN", "login, token, metadata", lambda c: (c.log_in(), c.token(right), c.metadata())
    yield "LOGIN", "login, empty token v0, metadata", lambda c: (c.log_in(), c.token(b"", 0), c.metadata())
    yield "LOGIN", "login, a longer request than before", lambda c: (c.log_in(), c.ask(*_long_metadata()))
    yield "LOGIN", "a longer request before the login", lambda c: (c.ask(*_long_metadata()),)
    for key, version, fields in EARLY:
        name = f"{key.schema_name} v{version}{'' if fields.get('acks') != 0 else ' acks=0'}"
        yield "LOGIN", f"{name} behind the handshake", lambda c, k=key, v=version, f=fields: (c.handshake(), c.ask(k, v, f))
        yield (
            "LOGIN",
            f"{name} during SCRAM",
            lambda c, k=key, v=version, f=fields: (
                c.handshake("SCRAM-SHA-256"),
                c.exchange("SCRAM-SHA-256", until=1),
                c.ask(k, v, f),
            ),
        )
        yield "LOGIN", f"{name} first", lambda c, k=key, v=version, f=fields: c.ask(k, v, f)
    yield "LOGIN", "all in one write", _all_in_one_write


def _long_metadata() -> tuple[ApiKey, int, dict[str, Any]]:
    return ApiKey.METADATA, 4, {"topics": [{"name": "a" * 249}] * 100, "allow_auto_topic_creation": False}


def _all_in_one_write(c: Client) -> None:
    c.send(ApiKey.SASL_HANDSHAKE, 1, {"mechanism": "PLAIN"})
    c.send(ApiKey.SASL_AUTHENTICATE, 2, {"auth_bytes": PLAIN_TOKENS["right"]})
    c.send(ApiKey.METADATA, 4, {"topics": [{"name": "absent"}], "allow_auto_topic_creation": False})
    c.receive(ApiKey.SASL_HANDSHAKE, 1)
    c.receive(ApiKey.SASL_AUTHENTICATE, 2)
    c.receive(ApiKey.METADATA, 4)


def _sessions() -> Iterator[tuple[str, str, Sequence]]:
    right = PLAIN_TOKENS["right"]
    for mechanism in MECHANISMS:
        other = "SCRAM-SHA-512" if mechanism != "SCRAM-SHA-512" else "PLAIN"
        for name, user, password in (("again", "alice", PASSWORD), ("wrong password", "alice", "wrong"), ("another user", "bob", PASSWORD)):

            def again(c: Client, m: str = mechanism, u: str = user, p: str = password) -> None:
                c.log_in(m)
                c.metadata()
                c.log_in(m, u, p)
                c.metadata()

            yield "LONG", f"{mechanism} login, {name}", again

        def by_another(c: Client, m: str = mechanism, other: str = other) -> None:
            c.log_in(m)
            c.handshake(other)
            c.exchange(other)
            c.metadata()

        yield "LONG", f"{mechanism} login, another mechanism", by_another
    yield "LONG", "login, unknown mechanism", lambda c: (c.log_in(), c.handshake("X"), c.metadata())
    yield "LONG", "login, again, again at once", lambda c: (c.log_in(), c.log_in(), c.log_in(), c.metadata())
    yield "LONG", "login, handshake v0, bare token", lambda c: (c.log_in(), c.handshake("PLAIN", 0), c.bare(right), c.metadata())
    yield "LONG", "login, handshake, bare token", lambda c: (c.log_in(), c.handshake(), c.bare(right))
    yield "LONG", "bare login, again", lambda c: (c.handshake("PLAIN", 0), c.bare(right), c.log_in(), c.metadata())
    for version in (0, 1, 2):
        yield (
            "LONG",
            f"SaslAuthenticate v{version}",
            lambda c, v=version: (c.handshake(), c.token(right, v), c.token(right, v), c.metadata()),
        )
    yield "LONG", "login, handshake, handshake", lambda c: (c.log_in(), c.handshake(), c.handshake())
    yield "LONG", "login, token without handshake", lambda c: (c.log_in(), c.token(right), c.metadata())
    for key, version, fields in EARLY[:7]:
        name = f"{key.schema_name} v{version}"
        yield "LONG", f"login, handshake, {name}", lambda c, k=key, v=version, f=fields: (c.log_in(), c.handshake(), c.ask(k, v, f))
    yield (
        "LONG",
        "login, during SCRAM again metadata",
        lambda c: (
            c.log_in("SCRAM-SHA-256"),
            c.handshake("SCRAM-SHA-256"),
            c.exchange("SCRAM-SHA-256", until=1),
            c.metadata(),
        ),
    )
    yield "SHORT", "login until the end of the session", lambda c: (c.log_in(), c.until_closed())
    yield "SHORT", "SaslAuthenticate v0 until the end of the session", lambda c: (c.handshake(), c.token(right, 0), c.until_closed())
    yield "SHORT", "bare token until the end of the session", lambda c: (c.handshake("PLAIN", 0), c.bare(right), c.until_closed())
    yield "SHORT", "again until the end of the session", lambda c: (c.log_in(), c.log_in(), c.until_closed())
    yield "SHORT", "SCRAM has no such end", lambda c: c.log_in("SCRAM-SHA-256")
    yield "SHORT", "again after the end of the session", lambda c: (c.log_in(), _session_ends(c), c.log_in(), c.metadata())
    yield "SHORT", "versions after the end of the session", lambda c: (c.log_in(), _session_ends(c), c.api_versions())
    yield "SHORT", "token after the end of the session", lambda c: (c.log_in(), _session_ends(c), c.token(right))
    yield "SHORT", "wrong mechanism after the end of the session", lambda c: (c.log_in(), _session_ends(c), c.handshake("X"))


def _session_ends(c: Client) -> None:
    """Wait until a session that began later has ended."""
    later = Client(c.connection.socket.getpeername()[1])
    later.log_in()
    later.until_closed()
    later.close()


def sweep(ports: Ports) -> dict[str, list[str]]:
    """Every sequence -> what was seen, line by line."""
    todo = list(sequences())
    names = [f"{listener}: {what}" for listener, what, _ in todo]
    assert len(set(names)) == len(names), "two sequences have one name"

    def run(one: tuple[str, str, Sequence]) -> list[str]:
        client = Client(ports[one[0]])
        try:
            one[2](client)
            client.metadata()  # is it still open, and who answers?
        finally:
            client.close()
        return client.seen

    with ThreadPoolExecutor(_PARALLEL) as pool:
        return dict(zip(names, pool.map(run, todo), strict=True))
