"""Where the control port listens, and for whom (`control.listener`, `control.token`)."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field

from oncelog.broker.settings.listeners import refusal

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True, slots=True)
class ControlEndpoint:
    """`token` None: whoever reaches a loopback address."""

    host: str
    port: int
    token: str | None = field(default=None, repr=False)

    @property
    def url(self) -> str:
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


def control_endpoint(listener: str, token: str | None) -> ControlEndpoint | None:
    """None for an empty `listener`. Raises KafkaError(INVALID_CONFIG)."""
    if not listener:
        return None
    from urllib.parse import urlsplit  # a plain start does without

    try:
        url = urlsplit(listener)
        host, port = url.hostname, url.port
    except ValueError:
        host = port = None
    if host is None or port is None or url.scheme != "http" or url.path not in ("", "/") or "@" in url.netloc or url.query or url.fragment:
        raise refusal(f"control.listener: {listener!r} is not http://host:port, as http://127.0.0.1:9644")
    if token is not None and (not token.strip() or not token.isascii() or any(sign.isspace() for sign in token)):
        raise refusal("control.token: a token is ASCII text without spaces, and not empty")
    if token is None and not is_loopback(host):
        raise refusal(f"control.listener: {host} can be reached from other machines; set control.token, or listen on {LOOPBACK}")
    return ControlEndpoint(host, port, token)


def is_loopback(host: str) -> bool:
    """Is it this machine alone, by its name or address?"""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
