"""The SASL state of one connection: what may be asked before, during and after authentication (Kafka's `SaslServerAuthenticator`).

    state            SaslHandshake            SaslAuthenticate          other keys
    INITIAL          -> HANDSHAKEN, or 33+close   close                 ApiVersions, -> VERSIONED if it succeeds; else close
    VERSIONED        as above                 close                     close
    HANDSHAKEN       34+close                 step; -> AUTHENTICATED,   34+close
                                              or 58+close
    AUTHENTICATED    -> REAUTHENTICATING,     34 (connection stays)     served until the session ends, then close
                     or close; 34 if sessions
                     have no end or too soon
    REAUTHENTICATING 34+close                 step; as above, and the   34+close
                                              principal must stay
    REFUSED          close                    close                     close

A bare token stands for SaslAuthenticate after a SaslHandshake of v0; its refusal is a closed connection. A re-authentication may begin
after the session's end. A listener without SASL has no such state: both requests get 34 there and the connection stays open.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import NamedTuple

from oncelog.broker.auth.mechanisms import ANONYMOUS, Exchange, SaslFailure, new_exchange
from oncelog.broker.auth.scram import ScramCredentials
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode

AFTER_AUTHENTICATION = "SaslAuthenticate request received after successful authentication"
# KIP-368: a client that authenticates more often than that is not served
REAUTHENTICATION_INTERVAL_MS_MIN = 1000

__all__ = ["ANONYMOUS", "SaslConfig", "SaslPhase", "SaslState"]


class SaslPhase(Enum):
    """Where a connection stands."""

    INITIAL = auto()
    VERSIONED = auto()  # ApiVersions has been answered, which it is once
    HANDSHAKEN = auto()
    AUTHENTICATED = auto()
    REAUTHENTICATING = auto()
    REFUSED = auto()  # it named another mechanism for its re-authentication, which is told by closing at its next request


_SERVED_BEFORE = {
    SaslPhase.INITIAL: frozenset({ApiKey.SASL_HANDSHAKE, ApiKey.API_VERSIONS}),
    SaslPhase.VERSIONED: frozenset({ApiKey.SASL_HANDSHAKE}),
    SaslPhase.HANDSHAKEN: frozenset({ApiKey.SASL_AUTHENTICATE}),
    SaslPhase.REAUTHENTICATING: frozenset({ApiKey.SASL_AUTHENTICATE}),
    SaslPhase.REFUSED: frozenset[ApiKey](),
}
_EXCHANGING = (SaslPhase.HANDSHAKEN, SaslPhase.REAUTHENTICATING)


@dataclass(frozen=True, slots=True)
class SaslConfig:
    """What a SASL listener offers. `plain_users`: user -> password; `max_reauth_ms`: mechanism -> a session's length (0: no end)."""

    mechanisms: tuple[str, ...]
    plain_users: Mapping[str, str]
    credentials: ScramCredentials
    max_reauth_ms: Mapping[str, int] = field(default_factory=dict)
    failure_delay_ms: int = 100
    max_receive_bytes: int = 524_288


class HandshakeAnswer(NamedTuple):
    """Body of a SaslHandshake answer; `close` the connection after it."""

    error: ErrorCode
    mechanisms: tuple[str, ...]
    close: bool = False


class AuthenticateAnswer(NamedTuple):
    """Body of a SaslAuthenticate answer; `close` the connection after it, both `delay_ms` later."""

    error: ErrorCode
    message: str | None = None
    token: bytes = b""
    session_lifetime_ms: int = 0
    close: bool = False
    delay_ms: int = 0
    claimed: str | None = None  # who a refused client says it is


class SaslState:
    """The state of one connection on a SASL listener. Times are monotonic milliseconds, handed in."""

    __slots__ = ("_config", "_exchange", "_framed", "_reauth_began_ms", "expires_at_ms", "mechanism", "phase", "principal")

    def __init__(self, config: SaslConfig) -> None:
        self._config = config
        self._exchange: Exchange | None = None
        self._framed = False  # tokens come in SaslAuthenticate, since a SaslHandshake of v1 or above
        self.mechanism = ""
        self._reauth_began_ms: float | None = None
        self.phase = SaslPhase.INITIAL
        self.principal = ANONYMOUS
        self.expires_at_ms: float | None = None

    @property
    def max_receive_bytes(self) -> int:
        """The longest request of a client that has not authenticated (`sasl.server.max.receive.size`)."""
        return self._config.max_receive_bytes

    @property
    def failure_delay_ms(self) -> int:
        """How long a refusal waits (`connection.failed.authentication.delay.ms`)."""
        return self._config.failure_delay_ms

    def allows(self, key: int, now_ms: float) -> bool:
        """Whether a request of `key` is served now; if not, the connection is to be closed, `tells_refusals` says how."""
        if self.phase is not SaslPhase.AUTHENTICATED:
            return key in _SERVED_BEFORE[self.phase]
        if self.expires_at_ms is None or now_ms < self.expires_at_ms:
            return True
        return key == ApiKey.SASL_HANDSHAKE and not self._too_soon(now_ms)

    @property
    def tells_refusals(self) -> bool:
        """Whether a request that is not allowed is answered with error 34 before the connection is closed."""
        return self.phase in _EXCHANGING

    @property
    def takes_tokens(self) -> bool:
        """Whether the next frame is a bare token: the client shook hands with v0, before SaslAuthenticate was there."""
        return self._exchange is not None and not self._framed

    def versions_told(self) -> None:
        """ApiVersions has been answered without an error: before the login that is done once."""
        if self.phase is SaslPhase.INITIAL:
            self.phase = SaslPhase.VERSIONED

    def handshake(self, mechanism: str, now_ms: float, *, framed: bool = True) -> HandshakeAnswer:
        """The client names its mechanism; once authenticated, this begins a re-authentication. Raises SaslFailure: close, no answer."""
        again, offered = self.phase is SaslPhase.AUTHENTICATED, self._config.mechanisms
        if again:
            if self.expires_at_ms is None or self._too_soon(now_ms):
                return HandshakeAnswer(ErrorCode.ILLEGAL_SASL_STATE, ())
            self._reauth_began_ms = now_ms
        if mechanism not in offered:
            if again:
                raise SaslFailure(f"re-authentication with {mechanism}, which is not offered")
            return HandshakeAnswer(ErrorCode.UNSUPPORTED_SASL_MECHANISM, offered, close=True)
        if again and mechanism != self.mechanism:
            self.phase = SaslPhase.REFUSED
            return HandshakeAnswer(ErrorCode.NONE, offered)
        self.phase = SaslPhase.REAUTHENTICATING if again else SaslPhase.HANDSHAKEN
        self.mechanism = mechanism
        self._framed = framed
        self._exchange = new_exchange(mechanism, self._config.plain_users, self._config.credentials)
        return HandshakeAnswer(ErrorCode.NONE, offered)

    def authenticate(self, token: bytes, now_ms: float) -> AuthenticateAnswer:
        """The client's next token."""
        if self._exchange is None:
            return AuthenticateAnswer(ErrorCode.ILLEGAL_SASL_STATE, AFTER_AUTHENTICATION)
        try:
            challenge, user = self._exchange.step(token)
            if user is not None:
                self._check_same_principal(f"User:{user}")
        except SaslFailure as failure:
            claimed, self._exchange = self._exchange.user, None
            message = str(failure) or self._invalid_credentials()
            return AuthenticateAnswer(
                ErrorCode.SASL_AUTHENTICATION_FAILED, message, close=True, delay_ms=self.failure_delay_ms, claimed=claimed
            )
        if user is None:
            return AuthenticateAnswer(ErrorCode.NONE, token=challenge)
        return self._succeed(f"User:{user}", challenge, now_ms)

    def _succeed(self, principal: str, challenge: bytes, now_ms: float) -> AuthenticateAnswer:
        lifetime_ms = self._config.max_reauth_ms.get(self.mechanism, 0)
        self._exchange = None
        self.principal = principal
        self.phase = SaslPhase.AUTHENTICATED
        self.expires_at_ms = now_ms + lifetime_ms if lifetime_ms else None
        return AuthenticateAnswer(ErrorCode.NONE, token=challenge, session_lifetime_ms=lifetime_ms)

    def _check_same_principal(self, principal: str) -> None:
        if self.phase is SaslPhase.REAUTHENTICATING and principal != self.principal:
            before, after = (name.replace(":", ".", 1) for name in (self.principal, principal))
            raise SaslFailure(f"Cannot change principals during re-authentication from {before}: {after}")

    def _invalid_credentials(self) -> str:
        """The same for a wrong password and for an unknown user, so that names cannot be guessed."""
        what = "re-authentication" if self.phase is SaslPhase.REAUTHENTICATING else "authentication"
        return f"Authentication failed during {what} due to invalid credentials with SASL mechanism {self.mechanism}"

    def _too_soon(self, now_ms: float) -> bool:
        return self._reauth_began_ms is not None and now_ms - self._reauth_began_ms < REAUTHENTICATION_INTERVAL_MS_MIN
