"""The inspector with a port of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.console.access import Access
from oncelog.broker.console.app import console_routes
from oncelog.broker.console.setup import new_token
from oncelog.broker.control.server import HttpServer
from oncelog.broker.settings.control import LOOPBACK
from starlette.applications import Starlette

if TYPE_CHECKING:
    from oncelog.broker.console.model import Source


class Served:
    """The inspector of any source on a port of this machine; 0: a free one. Everything but the page itself needs the token."""

    def __init__(self, source: Source, port: int) -> None:
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
