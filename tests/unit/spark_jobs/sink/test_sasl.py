"""PLAIN and SCRAM against a server that follows RFC 5802 by the book, and against some that do not."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Iterable
from typing import Any

import pytest
from oncelog.spark_jobs.sink import wire
from oncelog.spark_jobs.sink.sasl import LoginError, log_in


def settings(mechanism: str, user: str = "alice", password: str = "secret") -> dict[str, str]:
    return {"sasl.mechanism": mechanism, "sasl.username": user, "sasl.password": password}


class Server:
    """Knows one user; `forget` and `strange` are ways to be somebody else."""

    def __init__(
        self,
        user: str = "alice",
        password: str = "secret",
        *,
        offers: tuple[str, ...] = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"),
        **ways: Any,
    ) -> None:
        self.user, self.password, self.offers, self.ways = user, password, offers, ways
        self.mechanism, self.rounds, self.in_ = "", list[bytes](), False

    def call(self, api: wire.Api, body: Iterable[bytes]) -> bytes:
        reader = wire.Reader(b"".join(body))
        if api == wire.SASL_HANDSHAKE:
            self.mechanism = reader.string() or ""
            answer = wire.Writer().pack("hi", 0 if self.mechanism in self.offers else 33, len(self.offers))
            for name in self.offers:
                answer.string(name)
            return b"".join(answer.parts)
        assert api == wire.SASL_AUTHENTICATE
        token = reader.take(reader.number("i"))
        assert reader.at == len(reader.data)
        self.rounds.append(token)
        error, text, data = self.plain(token) if self.mechanism == "PLAIN" else self.scram(token.decode())
        return b"".join(wire.Writer().pack("h", error).string(text).pack("i", len(data)).raw(data).parts)

    def plain(self, token: bytes) -> tuple[int, str | None, bytes]:
        self.in_ = token.decode().split("\0") == ["", self.user, self.password]
        return (0, None, b"") if self.in_ else (58, "Authentication failed" if not self.ways.get("silent") else None, b"")

    def scram(self, token: str) -> tuple[int, str | None, bytes]:
        digest = self.mechanism.removeprefix("SCRAM-").replace("-", "").lower()
        if len(self.rounds) == 1:
            self.bare = token.removeprefix("n,,")
            fields = dict(part.split("=", 1) for part in self.bare.split(","))
            assert fields["n"].replace("=2C", ",").replace("=3D", "=") == self.user
            nonce = ("stranger" if self.ways.get("strange") else fields["r"]) + "server"
            self.challenge = f"r={nonce},s={base64.b64encode(b'salt').decode()},i=4096"
            return 0, None, self.challenge.encode()
        final, _, proof = token.rpartition(",p=")
        salted = hashlib.pbkdf2_hmac(digest, self.password.encode(), b"salt", 4096)
        signed = f"{self.bare},{self.challenge},{final}".encode()
        client_key = hmac.digest(salted, b"Client Key", digest)
        signature = hmac.digest(hashlib.new(digest, client_key).digest(), signed, digest)
        self.in_ = bytes(a ^ b for a, b in zip(base64.b64decode(proof), signature, strict=True)) == client_key
        if not self.in_ and not self.ways.get("forgets"):
            return 58, "Authentication failed during authentication due to invalid credentials", b""
        key = hmac.digest(b"guess" if self.ways.get("forgets") else salted, b"Server Key", digest)
        return 0, None, b"v=" + base64.b64encode(hmac.digest(key, signed, digest))


MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "scram-sha-512")


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(("user", "password"), [("alice", "secret"), ("a,b=c", "=,ä"), ("", "")])
def test_who_knows_the_password_is_let_in(mechanism: str, user: str, password: str) -> None:
    server = Server(user, password)
    log_in(server.call, settings(mechanism, user, password))
    assert server.in_
    assert password == "" or mechanism == "PLAIN" or all(password.encode() not in token for token in server.rounds)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_wrong_password_is_told(mechanism: str) -> None:
    with pytest.raises(LoginError, match="Authentication failed"):
        log_in(Server().call, settings(mechanism, password="wrong"))


def test_a_refusal_without_a_word() -> None:
    with pytest.raises(LoginError, match=r"authentication failed \(58\)"):
        log_in(Server(silent=True).call, settings("PLAIN", password="wrong"))


def test_plain_is_what_is_spoken_without_a_mechanism() -> None:
    server = Server()
    log_in(server.call, {"sasl.username": "alice", "sasl.password": "secret"})
    assert (server.mechanism, server.in_) == ("PLAIN", True)


@pytest.mark.parametrize(("offers", "why"), [(("PLAIN", "GSSAPI"), "PLAIN, GSSAPI"), ((), "nothing on this listener")])
def test_what_is_not_offered(offers: tuple[str, ...], why: str) -> None:
    with pytest.raises(LoginError, match=f"does not offer SCRAM-SHA-256, but {why}"):
        log_in(Server(offers=offers).call, settings("SCRAM-SHA-256"))


def test_what_is_offered_and_not_known_here() -> None:
    with pytest.raises(LoginError, match=r"sasl\.mechanism GSSAPI is not supported here"):
        log_in(Server(offers=("GSSAPI",)).call, settings("GSSAPI"))


def test_a_server_that_does_not_know_the_password_itself() -> None:
    with pytest.raises(LoginError, match="the broker does not know the password"):
        log_in(Server(forgets=True).call, settings("SCRAM-SHA-256"))


def test_an_answer_to_somebody_elses_challenge() -> None:
    with pytest.raises(LoginError, match="somebody else"):
        log_in(Server(strange=True).call, settings("SCRAM-SHA-256"))


def test_no_two_logins_share_a_nonce() -> None:
    first = []
    for _ in range(2):
        server = Server()
        log_in(server.call, settings("SCRAM-SHA-256"))
        first.append(server.rounds[0])
    assert first[0] != first[1]
