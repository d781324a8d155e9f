"""The inspector put together: of the broker of this process."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, NamedTuple

from oncelog.broker.console.access import Access
from oncelog.broker.console.app import console_routes
from oncelog.broker.console.embedded import EmbeddedSource
from oncelog.broker.console.watching import Watching
from starlette.routing import Route

if TYPE_CHECKING:
    from oncelog.broker.settings.control import ControlEndpoint
    from oncelog.broker.testkit.controlled import Controlled


class Console(NamedTuple):
    """What an HTTP server is to serve, and the token of whoever may change something."""

    routes: list[Route]
    token: str


def new_token() -> str:
    return secrets.token_urlsafe(24)


def embedded(controlled: Controlled, endpoint: ControlEndpoint) -> Console:
    """Of `controlled`, before it starts: from then on it is watched."""
    if controlled.watching is None:
        controlled.watching = Watching()
    source = EmbeddedSource(lambda: controlled.broker, controlled.watching)
    token = endpoint.token if endpoint.token is not None else new_token()
    access = Access(token, None if endpoint.token is not None else endpoint.host, reads_freely=endpoint.token is None)
    return Console(console_routes(source, access), token)
