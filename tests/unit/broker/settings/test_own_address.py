"""Whom a health check asks: of the listeners the one that asks least, at an address of this machine."""

from __future__ import annotations

import pytest
from oncelog.broker.settings.own_address import own_address
from oncelog.protocol.errors import KafkaError

pytestmark = pytest.mark.unit
MAP = "listener.security.protocol.map"


@pytest.mark.parametrize(
    ("listeners", "address", "security"),
    [
        ("PLAINTEXT://:9092", "127.0.0.1:9092", "PLAINTEXT"),
        ("PLAINTEXT://0.0.0.0:1", "127.0.0.1:1", "PLAINTEXT"),
        ("PLAINTEXT://[::]:1", "[::1]:1", "PLAINTEXT"),
        ("PLAINTEXT://broker:29092", "broker:29092", "PLAINTEXT"),
        ("CONTROLLER://:9,PLAINTEXT://:2", "127.0.0.1:2", "PLAINTEXT"),
        ("SASL_SSL://:1,SSL://:2,SASL_PLAINTEXT://:3,PLAINTEXT://:4", "127.0.0.1:4", "PLAINTEXT"),
        ("SASL_SSL://:1,SSL://:2,SASL_PLAINTEXT://:3", "127.0.0.1:3", "SASL_PLAINTEXT"),
        ("SASL_SSL://:1,SSL://:2", "127.0.0.1:2", "SSL"),
    ],
)
def test_the_one_that_asks_least(listeners: str, address: str, security: str) -> None:
    found = own_address({"listeners": listeners})
    assert (str(found), found.security) == (address, security)


def test_names_of_listeners_stand_for_their_protocol() -> None:
    found = own_address({"listeners": "OUT://:1,IN://:2", MAP: "OUT:SASL_SSL,IN:SASL_PLAINTEXT"})
    assert (str(found), found.security) == ("127.0.0.1:2", "SASL_PLAINTEXT")


def test_what_is_wanted_wins() -> None:
    values = {"listeners": "PLAINTEXT://:1,SASL_SSL://:2"}
    assert own_address(values, ("SASL_PLAINTEXT", "SASL_SSL")).port == 2
    with pytest.raises(KafkaError, match="none of listeners=PLAINTEXT://:1,SASL_SSL://:2 is SSL"):
        own_address(values, ("SSL",))
