"""What is set up from the settings: SASL of a listener, an authorizer."""

from __future__ import annotations

import pytest
from oncelog.broker.auth.config import AuthConfig
from oncelog.broker.auth.setup import new_authorizer, new_sasl_config
from oncelog.protocol.config_def import parse_config
from oncelog.protocol.errors import KafkaError

pytestmark = pytest.mark.unit


def test_sasl_settings_of_a_listener() -> None:
    values = {
        "listener.name.in.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.in.plain.sasl.jaas.config": 'org.x.PlainLoginModule required user_alice="s";',
        "connections.max.reauth.ms": "5000",
    }
    made = new_sasl_config(values, "IN", None)  # type: ignore[arg-type]
    assert (made.mechanisms, made.plain_users, made.max_reauth_ms) == (("PLAIN",), {"alice": "s"}, {"PLAIN": 5000})


def test_how_long_a_session_lasts_is_set_for_a_mechanism_too() -> None:
    values = {
        "connections.max.reauth.ms": "1",
        "listener.name.in.connections.max.reauth.ms": "2",
        "listener.name.in.scram-sha-256.connections.max.reauth.ms": "3",
        "listener.name.out.plain.connections.max.reauth.ms": "4",
    }
    made = {listener: new_sasl_config(values, listener, None).max_reauth_ms for listener in ("IN", "OUT")}  # type: ignore[arg-type]
    assert made["IN"] == {"PLAIN": 2, "SCRAM-SHA-256": 3, "SCRAM-SHA-512": 2}
    assert made["OUT"] == {"PLAIN": 4, "SCRAM-SHA-256": 1, "SCRAM-SHA-512": 1}


def test_no_authorizer_unless_it_is_asked_for() -> None:
    assert new_authorizer(parse_config(AuthConfig, {}), None) is None  # type: ignore[arg-type]
    with pytest.raises(KafkaError):
        parse_config(AuthConfig, {"authorizer.class.name": "com.example.Mine"})
