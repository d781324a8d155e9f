"""How many connections there may be, of all listeners together and of one address (Kafka's `ConnectionQuotas`).

A connection counts from the moment it is accepted, before a TLS handshake.
"""

from __future__ import annotations

import ipaddress
import socket
from collections import Counter
from collections.abc import Mapping

from oncelog.protocol.errors import ErrorCode, KafkaError

UNLIMITED = 2**31 - 1


class ConnectionQuotas:
    """`open`: how many there are. `per_ip_overrides`: by address. `max_sockets`: what the limit of open files leaves."""

    def __init__(
        self,
        max_connections: int = UNLIMITED,
        *,
        max_sockets: int = UNLIMITED,
        per_ip: int = UNLIMITED,
        per_ip_overrides: Mapping[str, int] | None = None,
    ) -> None:
        self.open = 0
        self._most = min(max_connections, max_sockets)
        self._bound = "max.connections" if max_connections <= max_sockets else "what the limit of open files leaves: raise ulimit -n"
        self._per_ip = per_ip
        self._overrides = per_ip_overrides or {}
        self._of: Counter[str] = Counter()

    def opened(self, host: str) -> str | None:
        """Count a connection from `host`; why it must be closed, if it must."""
        self.open += 1
        self._of[host] += 1
        if self.open > self._most:
            return f"more than {self._most} connections ({self._bound})"
        allowed = self._overrides.get(host, self._per_ip)
        if self._of[host] > allowed:
            return f"address already has the configured maximum of {allowed} connections"
        return None

    def closed(self, host: str) -> None:
        """One that was counted is gone."""
        self.open -= 1
        self._of[host] -= 1
        if not self._of[host]:
            del self._of[host]


def resolved(overrides: Mapping[str, int]) -> dict[str, int]:
    """`max.connections.per.ip.overrides`, by host, as limits by address. Raises KafkaError(INVALID_CONFIG) for a host that has none."""
    found: dict[str, int] = {}
    for host, most in overrides.items():
        try:
            found |= dict.fromkeys(_addresses(host), most)
        except OSError as error:
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"max.connections.per.ip.overrides: no address of {host}: {error}") from error
    return found


def _addresses(host: str) -> list[str]:
    try:
        return [str(ipaddress.ip_address(host))]
    except ValueError:
        return [str(info[4][0]) for info in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)]
