"""SASL conversations without a connection."""

from __future__ import annotations

import os
from typing import Any

from oncelog.broker.auth.sasl import AuthenticateAnswer, SaslConfig, SaslState
from oncelog.broker.auth.scram import ScramCredentials, ScramMechanism, credential_of, salted_password
from oncelog.broker.commands.client.sasl import conversation
from oncelog.protocol.errors import ErrorCode

from support.memory_store import MemoryStore, written

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


def settings(**changes: Any) -> SaslConfig:
    credentials = ScramCredentials(MemoryStore())
    for mechanism in ScramMechanism:
        salt = os.urandom(20)
        credential = credential_of(mechanism, salt, 4096, salted_password(mechanism, "secret", salt, 4096))
        credentials.begin_set("alice", mechanism, credential, written)
    made: dict[str, Any] = {"mechanisms": MECHANISMS, "plain_users": {"alice": "secret", "bob": "other"}, "credentials": credentials}
    return SaslConfig(**{**made, **changes})


def authenticate(state: SaslState, mechanism: str, user: str, password: str, now_ms: float = 0) -> AuthenticateAnswer:
    assert state.handshake(mechanism, now_ms).error is ErrorCode.NONE
    talk = conversation(mechanism, user, password)
    token = next(talk)
    while True:
        answer = state.authenticate(token, now_ms)
        if answer.error is not ErrorCode.NONE:
            return answer
        try:
            token = talk.send(answer.token)
        except StopIteration:
            return answer
