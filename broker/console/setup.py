"""The inspector put together: of the broker of this process, or with a port of its own."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, NamedTuple

from oncelog.broker.console.access import Access
from oncelog.broker.console.app import console_routes
from oncelog.broker.console.embedded import EmbeddedSource
from oncelog.broker.console.watching import Watching
from oncelog.broker.settings.control import LOOPBACK
from starlette.applications import Starlette
from starlette.routing import Route

if TYPE_CHECKING:
    from oncelog.broker.console.model import Source
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


class Served:
    """The inspector of any source on a port of this machine; 0: a free one. Everything but the page itself needs the token."""

    def __init__(self, source: Source, port: int) -> None:
        from oncelog.broker.control.server import HttpServer

        self._source = source
        self.token = new_token()
        self._server = HttpServer(Starlette(routes=list(console_routes(source, Access(self.token, LOOPBACK)))), LOOPBACK, port)

    @property
    def url(self) -> str:
        """With the token."""
        return f"{self._server.url}/?token={self.token}"

    async def start(self) -> None:
        """Raises OSError when the port cannot be had."""
        await self._server.start()

    async def close(self) -> None:
        await self._server.close()
        await self._source.close()
