"""The control port's socket, in the loop that the broker runs in: uvicorn's protocol without its process.

A client that sends nothing, or half of a head, is cut off; connections are few, so that they cost the broker little.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from oncelog.broker.console.setup import embedded
from oncelog.broker.control.app import new_app
from oncelog.broker.settings.control import ControlEndpoint
from oncelog.broker.testkit.controlled import Controlled
from uvicorn.config import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

MOST_CONNECTIONS = 100
HEAD_BYTES = 16 << 10
HEAD_SECONDS = 10.0  # at most twice that between two requests
_KEEP_ALIVE_SECONDS = 5
_CLOSING_SECONDS = 1.0
_quiet = logging.getLogger(f"{__name__}.http")
_quiet.setLevel(logging.CRITICAL)  # what clients do wrong they are told


class HttpServer:
    """Serves an ASGI application. `port` 0: a free one, which it then has."""

    def __init__(self, app: Any, host: str, port: int) -> None:
        self._app = app
        self._host = host
        self._state = ServerState()
        self._server: asyncio.Server | None = None
        self.port = port

    @property
    def url(self) -> str:
        return ControlEndpoint(self._host, self.port).url

    async def start(self) -> None:
        """Raises OSError when the address cannot be had."""
        config = Config(
            self._app,
            http=H11Protocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            date_header=False,
            timeout_keep_alive=_KEEP_ALIVE_SECONDS,
            h11_max_incomplete_event_size=HEAD_BYTES,
        )
        config.load()
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Protocol(config, self._state, {}, loop), self._host, self.port, reuse_address=True)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        """Accept no more, and end what is under way."""
        if self._server is None:
            return
        server, self._server = self._server, None
        server.close()
        for connection in list(self._state.connections):
            connection.transport.abort()
        tasks = list(self._state.tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_CLOSING_SECONDS)


class ControlServer(HttpServer):
    """`endpoint.port` 0: a free one; `url` tells it. From now on the broker is watched for the inspector."""

    def __init__(self, controlled: Controlled, endpoint: ControlEndpoint) -> None:
        self._endpoint = endpoint
        self._console = embedded(controlled, endpoint)
        super().__init__(new_app(controlled, endpoint, self._console.routes), endpoint.host, endpoint.port)

    @property
    def console_url(self) -> str:
        """Where the inspector's page is, with the token that changes need; one that was configured is not told."""
        return f"{self.url}/" + ("" if self._endpoint.token is not None else f"?token={self._console.token}")


class _Protocol(H11Protocol):
    """One connection."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.logger = _quiet
        self.access_log = False
        self._seen: Any = None
        self._look: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.abort()
        else:
            self._look_later()

    def connection_lost(self, exc: Exception | None) -> None:
        if self._look is not None:
            self._look.cancel()
        super().connection_lost(exc)

    def _look_later(self) -> None:
        self._seen = self.cycle
        self._look = self.loop.call_later(HEAD_SECONDS, self._look_now)

    def _look_now(self) -> None:
        """Has a request come since, or is one being answered?"""
        if self.cycle is self._seen and (self.cycle is None or self.cycle.response_complete):
            self.transport.abort()
        else:
            self._look_later()
