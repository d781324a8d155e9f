"""The client's side of SASL PLAIN and SCRAM, as a generator: it yields a token, is sent the broker's challenge, and returns when done."""

from __future__ import annotations

import base64
import hmac
import os
import re
from collections.abc import Generator

from oncelog.broker.auth.scram import ScramMechanism, salted_password

_SERVER_FIRST = re.compile(r"r=(?P<nonce>[\x21-\x2b\x2d-\x7e]+),s=(?P<salt>[A-Za-z0-9+/]*={0,2}),i=(?P<iterations>[1-9]\d{0,6})(?:,.*)?")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
Conversation = Generator[bytes, bytes, None]


class SaslClientError(Exception):
    """The broker's side of the conversation is not what the mechanism asks for."""


def conversation(mechanism: str, username: str, password: str) -> Conversation:
    """Tokens to send. Raises SaslClientError when the mechanism is not spoken or the broker cannot prove that it knows the password."""
    if mechanism == "PLAIN":
        return _plain(username, password)
    if mechanism not in MECHANISMS:
        raise SaslClientError(f"{mechanism} is not spoken here, only {', '.join(MECHANISMS)}")
    return _scram(mechanism, username, password)


def _plain(username: str, password: str) -> Conversation:
    yield f"\0{username}\0{password}".encode()


def _scram(mechanism: str, username: str, password: str) -> Conversation:
    """RFC 5802 without channel binding."""
    chosen = ScramMechanism.of(mechanism)
    assert chosen is not None
    nonce = base64.b64encode(os.urandom(18)).decode()
    bare = f"n={username.replace('=', '=3D').replace(',', '=2C')},r={nonce}"
    server_first = (yield f"n,,{bare}".encode()).decode(errors="replace")
    challenge = _SERVER_FIRST.fullmatch(server_first)
    if challenge is None or not challenge["nonce"].startswith(nonce):
        raise SaslClientError(f"the broker's {mechanism} challenge is not valid")
    salted = salted_password(chosen, password, base64.b64decode(challenge["salt"]), int(challenge["iterations"]))
    client_key = hmac.digest(salted, b"Client Key", chosen.digest)
    without_proof = f"c={base64.b64encode(b'n,,').decode()},r={challenge['nonce']}"
    signed = f"{bare},{server_first},{without_proof}".encode()
    signature = hmac.digest(chosen.digest(client_key).digest(), signed, chosen.digest)
    proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
    server_final = yield f"{without_proof},p={base64.b64encode(proof).decode()}".encode()
    expected = hmac.digest(hmac.digest(salted, b"Server Key", chosen.digest), signed, chosen.digest)
    if not hmac.compare_digest(server_final, b"v=" + base64.b64encode(expected)):
        raise SaslClientError(f"the broker cannot prove that it knows the password ({mechanism})")
