"""Where a broker of this machine is asked whether it serves, by the settings it was started with: the health check of an image."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from oncelog.broker.settings.listeners import PROTOCOLS, bound_listeners, refusal
from oncelog.broker.settings.server import ServerConfig
from oncelog.protocol.config_def import parse_config

_EASY_FIRST = ("PLAINTEXT", "SASL_PLAINTEXT", "SSL", "SASL_SSL")
_ANY = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}


class OwnAddress(NamedTuple):
    """A listener as this machine reaches it. `security`: PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL."""

    host: str
    port: int
    security: str

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def own_address(values: Mapping[str, str], wanted: tuple[str, ...] = _EASY_FIRST) -> OwnAddress:
    """The listener of `values` that asks least of a client, of those with a `wanted` security. Raises KafkaError(INVALID_CONFIG)."""
    assert set(wanted) <= set(PROTOCOLS)
    found = [one for one in bound_listeners(parse_config(ServerConfig, values), values) if one.security in wanted]
    if not found:
        raise refusal(f"none of listeners={values.get('listeners')} is {' or '.join(wanted)}")
    best = min(found, key=lambda one: _EASY_FIRST.index(one.security))
    return OwnAddress(_ANY.get(best.host, best.host), best.port, best.security)
