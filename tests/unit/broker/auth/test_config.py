"""A listener's own settings come before the general ones."""

from __future__ import annotations

import pytest
from oncelog.broker.auth.config import listener_value

pytestmark = pytest.mark.unit


def test_settings_of_a_listener_come_before_the_general_ones() -> None:
    values = {"sasl.jaas.config": "a", "listener.name.in.sasl.jaas.config": "b", "listener.name.in.plain.sasl.jaas.config": "c"}
    assert listener_value(values, "IN", "sasl.jaas.config", "PLAIN") == "c"
    assert listener_value(values, "IN", "sasl.jaas.config") == "b"
    assert listener_value(values, "OUT", "sasl.jaas.config", "PLAIN") == "a"
