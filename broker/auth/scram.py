"""SCRAM-SHA-256 and -512 credentials: kept in the metadata store, altered by key 51, checked at authentication.

Only what proves a password is stored (salt, iterations, stored key, server key: RFC 5802), never a password.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple

from oncelog.broker.answers import Ended
from oncelog.broker.auth.authorizer import Store
from oncelog.protocol.errors import ErrorCode, KafkaError

SECTION = "scram"
ITERATIONS_MAX = 16384


class ScramMechanism(IntEnum):
    """Numbers of DescribeUserScramCredentials and AlterUserScramCredentials."""

    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2

    @property
    def sasl_name(self) -> str:
        return self.name.replace("_", "-")

    @property
    def digest(self) -> Callable[..., hashlib._Hash]:
        return hashlib.sha256 if self is ScramMechanism.SCRAM_SHA_256 else hashlib.sha512

    @property
    def iterations_min(self) -> int:
        return 4096

    @classmethod
    def of(cls, sasl_name: str) -> ScramMechanism | None:
        return next((mechanism for mechanism in cls if mechanism.sasl_name == sasl_name), None)


class ScramCredential(NamedTuple):
    """What proves that somebody knows a password, without holding it."""

    salt: bytes
    iterations: int
    stored_key: bytes
    server_key: bytes


def credential_of(mechanism: ScramMechanism, salt: bytes, iterations: int, salted_password: bytes) -> ScramCredential:
    """The credential of a salted password, as clients send it (`ScramFormatter.storedKey`, `serverKey`)."""
    client_key = hmac.digest(salted_password, b"Client Key", mechanism.digest)
    return ScramCredential(
        salt, iterations, mechanism.digest(client_key).digest(), hmac.digest(salted_password, b"Server Key", mechanism.digest)
    )


def salted_password(mechanism: ScramMechanism, password: str, salt: bytes, iterations: int) -> bytes:
    """Hi(password, salt, iterations) of RFC 5802."""
    return hashlib.pbkdf2_hmac(mechanism.digest().name, password.encode(), salt, iterations)


def check_upsertion(user: str, mechanism_number: int, iterations: int) -> ScramMechanism:
    """The mechanism, when the credential may be stored; raises KafkaError 93 or 33 (`ScramControlManager.validateUpsertion`)."""
    mechanism = check_deletion(user, mechanism_number)
    if iterations < mechanism.iterations_min:
        raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too few iterations")
    if iterations > ITERATIONS_MAX:
        raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Too many iterations")
    return mechanism


def check_deletion(user: str, mechanism_number: int) -> ScramMechanism:
    """The mechanism meant; raises KafkaError 93 (no user name) or 33 (unknown mechanism)."""
    if not user:
        raise KafkaError(ErrorCode.UNACCEPTABLE_CREDENTIAL, "Username must not be empty")
    if mechanism_number not in (1, 2):
        raise KafkaError(ErrorCode.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
    return ScramMechanism(mechanism_number)


class ScramCredentials:
    """user -> mechanism -> credential, durable in the metadata store section "scram"."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def users(self) -> list[str]:
        """Users that have any credential, in order of name."""
        return sorted(self._store.section(SECTION))

    def of(self, user: str) -> dict[ScramMechanism, ScramCredential]:
        """The user's credentials; empty when there is no such user."""
        stored = self._store.get(SECTION, user) or {}
        return {ScramMechanism[name]: _decoded(value) for name, value in stored.items()}

    def begin_set(self, user: str, mechanism: ScramMechanism, credential: ScramCredential, done: Ended) -> None:
        """Store a credential over the one that was there; `done` once it is on disk and counts."""
        self._store.begin_update(SECTION, {user: {**self._wanted(user), mechanism.name: _encoded(credential)}}, done)

    def begin_delete(self, user: str, mechanism: ScramMechanism, done: Ended) -> None:
        """Remove a credential; as `begin_set`. Raises KafkaError(RESOURCE_NOT_FOUND)."""
        stored = self._wanted(user)
        if stored.pop(mechanism.name, None) is None:
            raise KafkaError(ErrorCode.RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist")
        self._store.begin_update(SECTION, {user: stored or None}, done)

    def _wanted(self, user: str) -> dict[str, dict[str, str | int]]:
        return dict(self._store.wanted(SECTION, user) or {})


def _encoded(credential: ScramCredential) -> dict[str, str | int]:
    return {
        "salt": base64.b64encode(credential.salt).decode(),
        "iterations": credential.iterations,
        "stored_key": base64.b64encode(credential.stored_key).decode(),
        "server_key": base64.b64encode(credential.server_key).decode(),
    }


def _decoded(value: dict[str, str | int]) -> ScramCredential:
    salt, stored_key, server_key = (base64.b64decode(str(value[name])) for name in ("salt", "stored_key", "server_key"))
    return ScramCredential(salt, int(value["iterations"]), stored_key, server_key)
