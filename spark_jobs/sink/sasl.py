"""SASL on a fresh connection: PLAIN and SCRAM (RFC 5802), standard library only."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
from collections.abc import Callable, Iterable, Mapping

from oncelog.spark_jobs.sink import wire

Call = Callable[[wire.Api, Iterable[bytes]], bytes]


class LoginError(RuntimeError):
    """The broker did not let us in, or could not prove that it knows the password."""


def log_in(call: Call, settings: Mapping[str, str]) -> None:
    """Authenticate with `sasl.mechanism`, `sasl.username`, `sasl.password`. Raises LoginError."""
    mechanism = settings.get("sasl.mechanism", "PLAIN").upper()
    user, password = settings.get("sasl.username", ""), settings.get("sasl.password", "")
    answer = wire.Reader(call(wire.SASL_HANDSHAKE, wire.Writer().string(mechanism).parts))
    if answer.number("h"):
        offered = ", ".join(answer.string() or "" for _ in range(answer.number("i")))
        raise LoginError(f"the broker does not offer {mechanism}, but {offered or 'nothing on this listener'}")
    if mechanism == "PLAIN":
        exchange(call, f"\0{user}\0{password}".encode())
    elif mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
        scram(call, mechanism.removeprefix("SCRAM-").replace("-", "").lower(), user, password)
    else:
        raise LoginError(f"sasl.mechanism {mechanism} is not supported here; PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512 are")


def exchange(call: Call, token: bytes) -> bytes:
    """One round of SaslAuthenticate."""
    answer = wire.Reader(call(wire.SASL_AUTHENTICATE, wire.Writer().pack("i", len(token)).raw(token).parts))
    error, message = answer.number("h"), answer.string()
    if error:
        raise LoginError(message or f"authentication failed ({error})")
    return answer.take(answer.number("i"))


def scram(call: Call, digest: str, user: str, password: str) -> None:
    """The four messages of SCRAM; the server's signature is checked too."""
    nonce = secrets.token_urlsafe(18)
    first = f"n={user.replace('=', '=3D').replace(',', '=2C')},r={nonce}"
    challenge = exchange(call, b"n,," + first.encode()).decode()
    fields = dict(part.split("=", 1) for part in challenge.split(","))
    if not fields["r"].startswith(nonce):
        raise LoginError("the broker answered somebody else's SCRAM challenge")
    salted = hashlib.pbkdf2_hmac(digest, password.encode(), base64.b64decode(fields["s"]), int(fields["i"]))
    final = f"c=biws,r={fields['r']}"
    signed = f"{first},{challenge},{final}".encode()
    client_key = hmac.digest(salted, b"Client Key", digest)
    signature = hmac.digest(hashlib.new(digest, client_key).digest(), signed, digest)
    proof = base64.b64encode(bytes(a ^ b for a, b in zip(client_key, signature, strict=True))).decode()
    answer = exchange(call, f"{final},p={proof}".encode()).decode()
    expected = base64.b64encode(hmac.digest(hmac.digest(salted, b"Server Key", digest), signed, digest)).decode()
    if answer != f"v={expected}":
        raise LoginError("the broker does not know the password")
