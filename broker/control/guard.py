"""Who may use the control port, and how much of it: decided on a request's head, before anything of it is read.

A page in a browser can reach a port of the same machine: what another site asks is refused by its Origin, and by its Host when the name
of a stranger was made to point here.
"""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from urllib.parse import urlsplit

from oncelog.broker.settings.control import ControlEndpoint, is_loopback

FORBIDDEN, UNAUTHORIZED = 403, 401
WITHOUT_TOKEN = ("/livez", "/readyz")


def refusal(endpoint: ControlEndpoint, path: str, headers: Mapping[str, str]) -> tuple[int, str] | None:
    """A status and what to do; None: go on. `headers` by their names in lower case."""
    stranger = from_elsewhere(headers, None if endpoint.token is not None else endpoint.host)
    if stranger is not None:
        return FORBIDDEN, stranger
    if endpoint.token is not None and path not in WITHOUT_TOKEN and not knows(endpoint.token, headers):
        return UNAUTHORIZED, "Authorization: Bearer TOKEN is missing or wrong; the token is control.token of the broker's settings"
    return None


def from_elsewhere(headers: Mapping[str, str], own_host: str | None) -> str | None:
    """Why a request is another site's. `own_host`: the name that a Host may have beside this machine's; None: any."""
    host = headers.get("host", "")
    name = _name_of(f"//{host}")
    if own_host is not None and not (is_loopback(name) or name == own_host):
        return f"Host: {host} is not this machine's; ask http://{own_host}, or set control.token"
    origin = headers.get("origin")
    if origin is not None and urlsplit(origin).netloc != host:
        return f"a page of {origin} may not use this port"
    if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
        return "a page of another site may not use this port"
    return None


def _name_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def knows(token: str, headers: Mapping[str, str]) -> bool:
    """Is it the token that `Authorization` bears?"""
    scheme, _, given = headers.get("authorization", "").partition(" ")
    return scheme.lower() == "bearer" and hmac.compare_digest(given.strip().encode(), token.encode())
