"""The broker's side of PLAIN and SCRAM: tokens in, challenges out, the user's name at the end."""

from __future__ import annotations

import base64
import hmac
import os
import re
from collections.abc import Mapping
from typing import NamedTuple, Protocol

from oncelog.broker.auth.scram import ScramCredential, ScramCredentials, ScramMechanism

# the principal of a connection that did not authenticate (`KafkaPrincipal.ANONYMOUS`)
ANONYMOUS = "User:ANONYMOUS"
# the answer to every wrong password and unknown user is the same, so that names cannot be guessed
_REFUSED = "Authentication failed: Invalid username or password"
_MOST_PARTS = 4  # that `PlainSaslServer` looks for, one too many


_BASE64 = r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)?"
_NAME = r"(?:[^\0=,]|=2C|=3D)+"
_CLIENT_FIRST = re.compile(
    rf"(?P<gs2>n,(?:a=(?P<authzid>{_NAME}))?,)(?P<bare>n=(?P<user>{_NAME}),r=(?P<nonce>[\x21-\x2b\x2d-\x7e]+)"
    r"(?P<extensions>(?:,[A-Za-z]+=[^\0,]+)*))"
)
_CLIENT_FINAL = re.compile(
    rf"(?P<without_proof>c=(?P<binding>{_BASE64}),r=(?P<nonce>[\x21-\x2b\x2d-\x7e]+)(?:,[A-Za-z]+=[^\0,]+)*),p=(?P<proof>{_BASE64})"
)
_TOKEN_AUTHENTICATION = "tokenauth=true"


class SaslFailure(Exception):
    """Authentication failed; the text is what the client may read, without one no more than that the credentials are invalid."""


class Step(NamedTuple):
    """What to send back, and the user's name once authentication is complete."""

    challenge: bytes
    user: str | None


class Exchange(Protocol):
    """One authentication under way. `user`: who the client says it is, once it has said so."""

    user: str | None

    def step(self, token: bytes) -> Step:
        """Take the client's token. Raises SaslFailure."""


class _FirstMessages(NamedTuple):
    """What the last messages of a SCRAM exchange are checked against."""

    gs2_header: str
    client_bare: str
    server: str
    nonce: str
    user: str
    credential: ScramCredential


class PlainExchange:
    """PLAIN (RFC 4616): one token, `authzid NUL user NUL password`; authzid is empty or the user (`PlainSaslServer`)."""

    def __init__(self, users: Mapping[str, str]) -> None:
        self._users = users
        self.user: str | None = None

    def step(self, token: bytes) -> Step:
        parts = token.decode(errors="replace").split("\0")
        if len(parts) != 3:
            raise SaslFailure(f"Invalid SASL/PLAIN response: expected 3 tokens, got {min(len(parts), _MOST_PARTS)}")
        authorization_id, user, password = parts
        self.user = user
        if not user:
            raise SaslFailure("Authentication failed: username not specified")
        if not password:
            raise SaslFailure("Authentication failed: password not specified")
        expected = self._users.get(user)
        if not hmac.compare_digest((expected or "").encode(), password.encode()) or expected is None:
            raise SaslFailure(_REFUSED)
        if authorization_id not in ("", user):
            raise SaslFailure("Authentication failed: Client requested an authorization id that is different from username")
        return Step(b"", user)


class ScramExchange:
    """SCRAM (RFC 5802) in two round trips, over stored credentials (`ScramSaslServer`): no channel binding, no delegation tokens."""

    def __init__(self, mechanism: ScramMechanism, credentials: ScramCredentials) -> None:
        self._mechanism = mechanism
        self._credentials = credentials
        self._first: _FirstMessages | None = None
        self.user: str | None = None

    def step(self, token: bytes) -> Step:
        try:
            message = token.decode()
        except UnicodeDecodeError:
            raise SaslFailure from None
        first, self._first = self._first, None
        return self._begin(message) if first is None else self._finish(message, first)

    def _begin(self, message: str) -> Step:
        found = _CLIENT_FIRST.fullmatch(message)
        if found is None:
            raise SaslFailure
        user = found["user"].replace("=2C", ",").replace("=3D", "=")
        if self.user is None:
            self.user = user
        credential = self._credentials.of(user).get(self._mechanism)
        if credential is None or _TOKEN_AUTHENTICATION in found["extensions"].split(","):
            raise SaslFailure
        authorization_id = (found["authzid"] or "").replace("=2C", ",").replace("=3D", "=")
        if authorization_id not in ("", user):
            raise SaslFailure("Authentication failed: Client requested an authorization id that is different from username")
        nonce = found["nonce"] + base64.b64encode(os.urandom(18)).decode()
        answer = f"r={nonce},s={base64.b64encode(credential.salt).decode()},i={credential.iterations}"
        self._first = _FirstMessages(found["gs2"], found["bare"], answer, nonce, user, credential)
        return Step(answer.encode(), None)

    def _finish(self, message: str, first: _FirstMessages) -> Step:
        found = _CLIENT_FINAL.fullmatch(message)
        if found is None or found["nonce"] != first.nonce or base64.b64decode(found["binding"]) != first.gs2_header.encode():
            raise SaslFailure
        signed = f"{first.client_bare},{first.server},{found['without_proof']}".encode()
        proof, digest = base64.b64decode(found["proof"]), self._mechanism.digest
        signature = hmac.digest(first.credential.stored_key, signed, digest)
        if len(proof) != len(signature):
            raise SaslFailure
        client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=True))
        if not hmac.compare_digest(digest(client_key).digest(), first.credential.stored_key):
            raise SaslFailure
        server_signature = hmac.digest(first.credential.server_key, signed, digest)
        return Step(b"v=" + base64.b64encode(server_signature), first.user)


def new_exchange(mechanism: str, plain_users: Mapping[str, str], credentials: ScramCredentials) -> Exchange:
    """An exchange of `mechanism`, one of those enabled."""
    scram = ScramMechanism.of(mechanism)
    return PlainExchange(plain_users) if scram is None else ScramExchange(scram, credentials)
