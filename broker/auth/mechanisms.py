"""The broker's side of PLAIN and SCRAM: tokens in, challenges out, the user's name at the end."""

from __future__ import annotations

import hmac
from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from oncelog.broker.auth.scram import ScramCredentials, ScramMechanism

# the principal of a connection that did not authenticate (`KafkaPrincipal.ANONYMOUS`)
ANONYMOUS = "User:ANONYMOUS"
# the answer to every wrong password and unknown user is the same, so that names cannot be guessed
_REFUSED = "Authentication failed: Invalid username or password"
_SCRAM_REFUSED = "Authentication failed during authentication due to invalid credentials with SASL mechanism {}"


class SaslFailure(Exception):
    """Authentication failed; the text is what the client may read."""


class Step(NamedTuple):
    """What to send back, and the user's name once authentication is complete."""

    challenge: bytes
    user: str | None


class Exchange(Protocol):
    """One authentication under way."""

    def step(self, token: bytes) -> Step:
        """Take the client's token. Raises SaslFailure."""


class PlainExchange:
    """PLAIN (RFC 4616): one token, `authzid NUL user NUL password`; authzid is empty or the user (`PlainSaslServer`)."""

    def __init__(self, users: Mapping[str, str]) -> None:
        self._users = users

    def step(self, token: bytes) -> Step:
        try:
            parts = token.decode().split("\0")
        except UnicodeDecodeError:
            raise SaslFailure("Authentication failed: the PLAIN token is not UTF-8") from None
        if len(parts) != 3:
            raise SaslFailure(f"Invalid SASL/PLAIN response: expected 3 tokens, got {len(parts)}")
        authorization_id, user, password = parts
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
    """SCRAM (RFC 5802) in two round trips, over stored credentials."""

    def __init__(self, mechanism: ScramMechanism, credentials: ScramCredentials) -> None:
        import scramp

        self._mechanism = mechanism
        self._credentials = credentials
        self._user: str | None = None
        self._error: type[Exception] = scramp.ScramException
        self._server = scramp.ScramMechanism(mechanism.sasl_name).make_server(self._look_up)
        self._steps: list[Callable[[str], Step]] = [self._last, self._first]

    def step(self, token: bytes) -> Step:
        if not self._steps:
            raise SaslFailure("Authentication failed: the SCRAM exchange is over")
        try:
            return self._steps.pop()(token.decode())
        except (self._error, UnicodeDecodeError):
            raise SaslFailure(_SCRAM_REFUSED.format(self._mechanism.sasl_name)) from None

    def _first(self, message: str) -> Step:
        self._server.set_client_first(message)
        return Step(self._server.get_server_first().encode(), None)

    def _last(self, message: str) -> Step:
        self._server.set_client_final(message)
        return Step(self._server.get_server_final().encode(), self._user)

    def _look_up(self, user: str) -> tuple[bytes, bytes, bytes, int] | None:
        credential = self._credentials.of(user).get(self._mechanism)
        self._user = user
        return None if credential is None else (credential.salt, credential.stored_key, credential.server_key, credential.iterations)


def new_exchange(mechanism: str, plain_users: Mapping[str, str], credentials: ScramCredentials) -> Exchange:
    """An exchange of `mechanism`, one of those enabled."""
    scram = ScramMechanism.of(mechanism)
    return PlainExchange(plain_users) if scram is None else ScramExchange(scram, credentials)
