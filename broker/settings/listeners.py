"""Listeners: what `listeners` and its neighbours say, and what they may not (Kafka's `KafkaConfig.validateValues`, `CoreUtils`).

A listener named in `controller.listener.names` is checked and not bound: there is no separate controller.
"""

from __future__ import annotations

import ipaddress
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from oncelog.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from oncelog.broker.settings.server import ServerConfig

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
ANY_ADDRESS = "0.0.0.0"
_MAP = "listener.security.protocol.map"
_ENDPOINT = re.compile(r"^([A-Za-z0-9_.-]+)://(\[[0-9a-fA-F:.]+\]|[^:]*):(-?\d+)$")


@dataclass(frozen=True, slots=True)
class ListenerConfig:
    """One bound listener."""

    name: str
    host: str
    port: int
    security: str  # PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL


class Endpoint(NamedTuple):
    """NAME://host:port as it is written; the name in upper case, an empty host is every address of the machine."""

    name: str
    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.name}://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


def parse_endpoints(texts: Iterable[str], setting: str) -> list[Endpoint]:
    """The endpoints of `setting`, each name once. Raises KafkaError(INVALID_CONFIG)."""
    found = []
    for text in texts:
        parts = _ENDPOINT.match(text)
        if parts is None or not 0 <= int(parts[3]) <= 65535:
            raise refusal(f"{setting}: {text!r} is not NAME://host:port")
        found.append(Endpoint(parts[1].upper(), parts[2].strip("[]"), int(parts[3])))
    twice = [name for name, count in Counter(endpoint.name for endpoint in found).items() if count > 1]
    if twice:
        raise refusal(f"{setting}: each listener needs a name of its own, {twice[0]} is there more than once")
    return found


def bound_listeners(server: ServerConfig, values: Mapping[str, str]) -> tuple[ListenerConfig, ...]:
    """What to listen on. Raises KafkaError(INVALID_CONFIG)."""
    endpoints = parse_endpoints(server.listeners, "listeners")
    _check_ports(endpoints)
    protocols = security_protocols(server, values)
    controllers = _controllers(server)
    bound = []
    for name, host, port in endpoints:
        security = _protocol_of(name, "listeners", protocols)
        if name not in controllers:
            bound.append(ListenerConfig(name, host or ANY_ADDRESS, port, security))
    if not bound:
        raise refusal("listeners must name at least one listener that is not in controller.listener.names")
    return tuple(bound)


def advertised_endpoints(server: ServerConfig, values: Mapping[str, str], bound: Iterable[ListenerConfig]) -> dict[str, tuple[str, int]]:
    """Listener name -> (host, port) to tell clients; "" and 0 stand for what was dialled. Raises KafkaError(INVALID_CONFIG)."""
    if "advertised.listeners" in values and not server.advertised_listeners:
        raise refusal("advertised.listeners must not be empty; leave it out to tell clients the address that they dialled")
    protocols = security_protocols(server, values)
    names = [listener.name for listener in bound]
    found = {}
    for name, host, port in parse_endpoints(server.advertised_listeners, "advertised.listeners"):
        _protocol_of(name, "advertised.listeners", protocols)
        if name in _controllers(server):
            continue
        if name not in names:
            raise refusal(f"advertised.listeners: {name} is none of the listeners ({', '.join(names)}); add it to listeners")
        if host in (ANY_ADDRESS, "::"):
            raise refusal(f"advertised.listeners: nobody can dial {host}; give {name} a host that clients can reach")
        found[name] = (host, port)
    _check_inter_broker(values, protocols, list(found) or names)
    return found


def security_protocols(server: ServerConfig, values: Mapping[str, str]) -> dict[str, str]:
    """Listener name -> security protocol. Raises KafkaError(INVALID_CONFIG)."""
    found: dict[str, str] = {}
    for entry in filter(None, map(str.strip, server.listener_security_protocol_map.split(","))):
        name, separator, protocol = entry.upper().rpartition(":")
        if not separator or protocol not in PROTOCOLS:
            raise refusal(f"{_MAP}: {entry!r} is not NAME:PROTOCOL with one of {', '.join(PROTOCOLS)}")
        if found.setdefault(name, protocol) != protocol:
            raise refusal(f"{_MAP}: {name} is both {found[name]} and {protocol}")
    if _MAP not in values:
        found.update((name, "PLAINTEXT") for name in _controllers(server) if name not in found)
    return found


def refusal(text: str) -> KafkaError:
    """What is wrong with the settings, and what would be right."""
    return KafkaError(ErrorCode.INVALID_CONFIG, text)


def _controllers(server: ServerConfig) -> set[str]:
    return {name.upper() for name in server.controller_listener_names}


def _protocol_of(name: str, setting: str, protocols: Mapping[str, str]) -> str:
    if name not in protocols:
        raise refusal(f"{setting}: listener {name} has no security protocol; add {name}:PROTOCOL to {_MAP}")
    return protocols[name]


def _check_ports(endpoints: list[Endpoint]) -> None:
    """A port is taken once, or once by an IPv4 and once by an IPv6 address; 0 is any free one."""
    by_port: dict[int, list[Endpoint]] = {}
    for endpoint in endpoints:
        if endpoint.port:
            by_port.setdefault(endpoint.port, []).append(endpoint)
    for port, same in by_port.items():
        if len(same) > 1 and sorted(_ip_version(endpoint.host) for endpoint in same) != [4, 6]:
            names = ", ".join(map(str, same))
            raise refusal(f"listeners: {names} share port {port}; give each its own (only one IPv4 and one IPv6 address may share one)")


def _ip_version(host: str) -> int:
    try:
        return ipaddress.ip_address(host).version
    except ValueError:
        return 0


def _check_inter_broker(values: Mapping[str, str], protocols: Mapping[str, str], advertised: list[str]) -> None:
    """There are no other brokers; but who names a listener for them that does not exist expects another one than is there."""
    by_name, by_protocol = "inter.broker.listener.name", "security.inter.broker.protocol"
    if by_name in values and by_protocol in values:
        raise refusal(f"set {by_name} or {by_protocol}, not both")
    setting = by_name if by_name in values else by_protocol
    if setting not in values:
        return
    name = values[setting].strip().upper()
    if setting == by_protocol and name not in PROTOCOLS:
        raise refusal(f"{by_protocol}: {values[setting]!r} is none of {', '.join(PROTOCOLS)}")
    if name not in protocols:
        raise refusal(f"{setting}: listener {name or repr('')} has no security protocol in {_MAP}")
    if name not in advertised:
        raise refusal(f"{setting}: {name} is none of the advertised listeners ({', '.join(advertised)})")
    mechanism = values.get("sasl.mechanism.inter.broker.protocol")
    offered = values.get(f"listener.name.{name.lower()}.sasl.enabled.mechanisms", values.get("sasl.enabled.mechanisms"))
    if protocols[name].startswith("SASL") and mechanism and offered is not None and mechanism not in re.split(r"\s*,\s*", offered.strip()):
        raise refusal(
            f"sasl.mechanism.inter.broker.protocol {mechanism} is not among sasl.enabled.mechanisms ({offered}) of listener {name}"
        )
