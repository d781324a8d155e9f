"""Listeners: sockets that accept, what their connections share, and reaping the idle. `lifecycle` opens and closes them."""

from __future__ import annotations

import asyncio
import functools
import socket
import ssl
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from oncelog.broker.auth.sasl import ANONYMOUS, SaslConfig, SaslState
from oncelog.broker.net import refusals
from oncelog.broker.net.answer_line import Arrivals
from oncelog.broker.net.answer_stream import UnreadAnswers
from oncelog.broker.net.backlog import CLOSINGS_A_TURN, HANDSHAKES_A_TURN, Backlog
from oncelog.broker.net.connection import Connection, Handles
from oncelog.broker.net.connection_quotas import ConnectionQuotas
from oncelog.broker.net.request_memory import RequestMemory
from oncelog.broker.settings.listeners import ListenerConfig

if TYPE_CHECKING:
    from oncelog.broker.net.tls_layer import TlsLayer

RECEIVE_BUFFER_BYTES = 256 * 1024
TLS_BUFFER_BYTES = 64 * 1024  # of what is not decrypted yet
WRITE_BUFFER_HIGH_BYTES = 64 << 10  # what may wait for a client that does not read, before its requests wait too
UNREAD_BYTES = 64 << 20


class Listener:
    """One entry of `listeners`, and what all its connections share."""

    def __init__(
        self,
        config: ListenerConfig,
        handler: Handles,
        *,
        max_frame_bytes: int,
        quotas: ConnectionQuotas,
        tls: ssl.SSLContext | None = None,
        map_principal: Callable[[Mapping[str, Any]], str] | None = None,
        sasl: SaslConfig | None = None,
        receive_buffer: memoryview | None = None,
        request_memory: RequestMemory | None = None,
        unread: UnreadAnswers | None = None,
        backlog: Backlog | None = None,
    ) -> None:
        self.config = config
        self.name = config.name
        self.max_frame_bytes = max_frame_bytes
        self.receive_buffer = receive_buffer if receive_buffer is not None else memoryview(bytearray(RECEIVE_BUFFER_BYTES))
        self.request_memory = request_memory if request_memory is not None else RequestMemory(max_frame_bytes, handler.clock.monotonic_ms)
        self.arrivals = Arrivals()
        self.unread = unread if unread is not None else UnreadAnswers(UNREAD_BYTES)
        self.backlog = backlog if backlog is not None else Backlog()
        self._closings = Backlog(CLOSINGS_A_TURN, 1)
        self.handshake_steps = Backlog(HANDSHAKES_A_TURN, 1)
        self.connections: set[Connection] = set()
        self.handshakes: set[TlsLayer] = set()
        self.tls_buffer = memoryview(bytearray(TLS_BUFFER_BYTES if tls is not None else 0))
        self.port = config.port
        self._handler = handler
        self._quotas = quotas
        self._tls = tls
        self._map_principal = map_principal
        self._sasl = sasl
        self._server: asyncio.Server | None = None
        self._empty: asyncio.Future[None] | None = None  # while closing: done when the last connection has ended

    async def open(self) -> None:
        """Accept connections. Raises OSError when the address cannot be had."""
        loop = asyncio.get_running_loop()
        make: Callable[[], asyncio.BaseProtocol] = functools.partial(Connection, self, self._handler)
        if self._tls is not None:
            make = functools.partial(self._tls_layer, self._tls)
        self._server = await loop.create_server(make, self.config.host, self.config.port, backlog=1024, reuse_address=True)
        self.port = self._server.sockets[0].getsockname()[1]

    def _tls_layer(self, context: ssl.SSLContext) -> asyncio.BaseProtocol:
        from oncelog.broker.net.tls_layer import TlsLayer

        return TlsLayer(context, self, Connection(self, self._handler))

    async def close(self) -> None:
        """Accept no more and end what is open; when it returns, no connection is left that could be served."""
        if self._server is None:
            return
        self._empty = asyncio.get_running_loop().create_future()
        self._server.close()
        for handshake in list(self.handshakes):
            handshake.abort()
        for connection in list(self.connections):
            connection.abort()
        if self.connections:
            await self._empty
        await self._server.wait_closed()

    def drop(self) -> None:
        """Accept no more and cut off whoever is connected, now."""
        if self._server is not None:
            self._server.close()
        for handshake in list(self.handshakes):
            handshake.abort()
        for connection in list(self.connections):
            connection.abort()

    def accepted(self, host: str) -> bool:
        """Count a socket from `host`, before its TLS handshake if it has one; False: it must be closed. Either way it is told `gone`."""
        refusal = self._quotas.opened(host)
        if refusal is not None:
            self.log_once(host, refusal)
        return refusal is None

    def gone(self, host: str) -> None:
        """A socket that was counted is closed."""
        self._quotas.closed(host)

    def opened(self, connection: Connection) -> None:
        transport = connection.transport
        if self._empty is not None:  # accepted in the last moment
            connection.abort()
            return
        transport.set_write_buffer_limits(high=WRITE_BUFFER_HIGH_BYTES)
        raw = transport.get_extra_info("socket")
        if raw is not None and raw.family in (socket.AF_INET, socket.AF_INET6):
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.connections.add(connection)
        if self._tls is None and not self.accepted(connection.client_host):
            connection.abort()

    def closed(self, connection: Connection) -> None:
        if connection in self.connections:
            self.connections.discard(connection)
            if self._tls is None:
                self.gone(connection.client_host)
        if self._empty is not None and not self.connections and not self._empty.done():
            self._empty.set_result(None)

    def closed_later(self, transport: asyncio.Transport | None) -> bool:
        """The client has gone. Whether `transport` stays open for now: when many go at once, it is closed in a later turn."""
        if transport is None or self._closings.takes_another():
            return False
        self._closings.wait(transport.close)
        return True

    def new_sasl_state(self) -> SaslState | None:
        return SaslState(self._sasl) if self._sasl is not None else None

    def principal_of(self, certificate: Mapping[str, Any]) -> str:
        """Who shows that: nobody in particular where clients log in. Raises NoMatchingRule."""
        return self._map_principal(certificate) if self._map_principal is not None else ANONYMOUS

    def log_once(self, host: str, text: str) -> None:
        """One warning a peer and reason in a while."""
        refusals.tell("turned away", host, listener=self.name, reason=text)

    def reap_idle(self, now_ms: float, idle_ms: float) -> None:
        """Close the connections that have been silent for longer (`connections.max.idle.ms`; negative: none)."""
        if idle_ms < 0:
            return
        for connection in list(self.connections):
            since = connection.idle_since()
            if since is not None and now_ms - since > idle_ms:
                self._closings.wait(connection.abort)
