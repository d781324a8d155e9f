"""The SASL state of one connection: what may be asked before, during and after authentication (Kafka's `SaslServerAuthenticator`).

    state            SaslHandshake            SaslAuthenticate       other keys
    INITIAL          -> HANDSHAKEN, or 33+close   close              only ApiVersions (18), else close
    HANDSHAKEN       34, close                step; -> AUTHENTICATED,  close
                                              or 58+close
    AUTHENTICATED    -> REAUTHENTICATING      34 (connection stays)  served until the session ends, then close
    REAUTHENTICATING 34, close                step; as above, and    served (the old session goes on)
                                              the principal must
                                              stay the same

A listener without SASL has no such state: both requests get 34 there and the connection stays open.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple

from oncelog.broker.auth.mechanisms import ANONYMOUS, Exchange, SaslFailure, new_exchange
from oncelog.broker.auth.scram import ScramCredentials
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode

ALLOWED_BEFORE = frozenset({ApiKey.SASL_HANDSHAKE, ApiKey.API_VERSIONS, ApiKey.SASL_AUTHENTICATE})
AFTER_AUTHENTICATION = "SaslAuthenticate request received after successful authentication"
# KIP-368: a client that authenticates more often than that is not served
REAUTHENTICATION_INTERVAL_MS_MIN = 1000

__all__ = ["ANONYMOUS", "SaslConfig", "SaslPhase", "SaslState"]


class SaslPhase(Enum):
    """Where a connection stands."""

    INITIAL = auto()
    HANDSHAKEN = auto()
    AUTHENTICATED = auto()
    REAUTHENTICATING = auto()


@dataclass(frozen=True, slots=True)
class SaslConfig:
    """What a SASL listener offers. `plain_users`: user -> password."""

    mechanisms: tuple[str, ...]
    plain_users: Mapping[str, str]
    credentials: ScramCredentials
    max_reauth_ms: int = 0
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

    __slots__ = ("_config", "_exchange", "_framed", "_started_ms", "expires_at_ms", "mechanism", "phase", "principal")

    def __init__(self, config: SaslConfig) -> None:
        self._config = config
        self._exchange: Exchange | None = None
        self._framed = False  # tokens come in SaslAuthenticate, since a SaslHandshake of v1 or above
        self.mechanism = ""
        self._started_ms: float | None = None
        self.phase = SaslPhase.INITIAL
        self.principal = ANONYMOUS
        self.expires_at_ms: float | None = None

    @property
    def max_receive_bytes(self) -> int:
        """The longest request of a client that has not authenticated (`sasl.server.max.receive.size`)."""
        return self._config.max_receive_bytes

    def allows(self, key: int, now_ms: float) -> bool:
        """Whether a request of `key` is served now; if not, the connection is to be closed without an answer."""
        if key in ALLOWED_BEFORE:
            return (self.phase, key) not in ((SaslPhase.HANDSHAKEN, ApiKey.API_VERSIONS), (SaslPhase.INITIAL, ApiKey.SASL_AUTHENTICATE))
        if self.phase in (SaslPhase.INITIAL, SaslPhase.HANDSHAKEN):
            return False
        return self.expires_at_ms is None or now_ms < self.expires_at_ms

    @property
    def takes_tokens(self) -> bool:
        """Whether the next frame is a bare token: the client shook hands with v0, before SaslAuthenticate was there."""
        return self._exchange is not None and not self._framed

    def handshake(self, mechanism: str, now_ms: float, *, framed: bool = True) -> HandshakeAnswer:
        """The client names its mechanism; once authenticated, this begins a re-authentication."""
        self._framed |= framed
        offered = self._config.mechanisms
        if self.phase in (SaslPhase.HANDSHAKEN, SaslPhase.REAUTHENTICATING):
            return HandshakeAnswer(ErrorCode.ILLEGAL_SASL_STATE, (), close=True)
        if self.phase is SaslPhase.AUTHENTICATED and self._too_soon(now_ms):
            return HandshakeAnswer(ErrorCode.ILLEGAL_SASL_STATE, ())
        if mechanism not in offered:
            return HandshakeAnswer(ErrorCode.UNSUPPORTED_SASL_MECHANISM, offered, close=True)
        if self.phase is SaslPhase.AUTHENTICATED and mechanism != self.mechanism:
            # the mechanism may not change with the session (SaslServerAuthenticator.ReauthInfo)
            return HandshakeAnswer(ErrorCode.UNSUPPORTED_SASL_MECHANISM, (self.mechanism,), close=True)
        self.phase = SaslPhase.REAUTHENTICATING if self.phase is SaslPhase.AUTHENTICATED else SaslPhase.HANDSHAKEN
        self.mechanism = mechanism
        self._started_ms = now_ms
        self._exchange = new_exchange(mechanism, self._config.plain_users, self._config.credentials)
        return HandshakeAnswer(ErrorCode.NONE, offered)

    def authenticate(self, token: bytes, now_ms: float) -> AuthenticateAnswer:
        """The client's next token."""
        if self._exchange is None:
            early = self.phase is SaslPhase.INITIAL
            text = "SaslAuthenticate request received before SaslHandshake" if early else AFTER_AUTHENTICATION
            return AuthenticateAnswer(ErrorCode.ILLEGAL_SASL_STATE, text, close=early)
        try:
            challenge, user = self._exchange.step(token)
            if user is not None:
                self._check_same_principal(f"User:{user}")
        except SaslFailure as failure:
            claimed, self._exchange = self._exchange.user, None
            return AuthenticateAnswer(
                ErrorCode.SASL_AUTHENTICATION_FAILED, str(failure), close=True, delay_ms=self._config.failure_delay_ms, claimed=claimed
            )
        if user is None:
            return AuthenticateAnswer(ErrorCode.NONE, token=challenge)
        return self._succeed(f"User:{user}", challenge, now_ms)

    def _succeed(self, principal: str, challenge: bytes, now_ms: float) -> AuthenticateAnswer:
        lifetime_ms = self._config.max_reauth_ms
        self._exchange = None
        self.principal = principal
        self.phase = SaslPhase.AUTHENTICATED
        self.expires_at_ms = now_ms + lifetime_ms if lifetime_ms else None
        return AuthenticateAnswer(ErrorCode.NONE, token=challenge, session_lifetime_ms=lifetime_ms)

    def _check_same_principal(self, principal: str) -> None:
        if self.phase is SaslPhase.REAUTHENTICATING and principal != self.principal:
            raise SaslFailure(f"Cannot change principals during re-authentication from {self.principal}: {principal}")

    def _too_soon(self, now_ms: float) -> bool:
        return self._started_ms is not None and now_ms - self._started_ms < REAUTHENTICATION_INTERVAL_MS_MIN
