"""A user's password."""

from __future__ import annotations

import pytest
from oncelog.broker.commands import user
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from support.scripted_broker import ScriptedBroker, run

pytestmark = pytest.mark.unit


def test_a_password_is_salted_before_it_travels(broker: ScriptedBroker) -> None:
    result = messages.AlterUserScramCredentialsResponse.AlterUserScramCredentialsResult
    broker.answers[ApiKey.ALTER_USER_SCRAM_CREDENTIALS] = lambda version, request: messages.AlterUserScramCredentialsResponse(
        results=[result(user="al", error_code=0, error_message=None)]
    )
    assert run(user.app, "set", "al", "--new-password", "secret", broker=broker) == 0
    (sent,) = broker.seen[-1][2].upsertions
    assert (sent.name, sent.mechanism, sent.iterations, len(sent.salt), len(sent.salted_password)) == ("al", 1, 8192, 24, 32)
    assert b"secret" not in sent.salted_password
