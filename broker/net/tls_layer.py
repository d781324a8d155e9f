"""TLS under a connection: decrypts what comes, encrypts what goes, and says why when a handshake fails.

asyncio's and uvloop's own layers drop the alert of a failed handshake with the connection, and tell nobody of the failure; a client then
sees a reset and its operator nothing. Here the alert is sent, the sending side closed, and what still comes is read and thrown away until
the client has gone: closing at once would answer it with a reset that may overtake the alert.

To the socket's transport this is a protocol, to `Connection` a transport.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol, cast

from oncelog.broker.auth.tls import NoMatchingRule
from oncelog.broker.net import refusals
from oncelog.protocol.primitives import Buffer

if TYPE_CHECKING:
    from oncelog.broker.net.backlog import Backlog
    from oncelog.broker.net.connection import Connection

HANDSHAKE_SECONDS = 30.0  # librdkafka has given up by then (`socket.connection.setup.timeout.ms`)
LINGER_SECONDS = 2.0  # for a client to read why its handshake failed
SENT_AT_ONCE = 256 << 10
_PLAIN_TEXT = frozenset({"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "HTTPS_PROXY_REQUEST", "UNKNOWN_PROTOCOL", "PACKET_LENGTH_TOO_LONG"})


class SecuredListener(Protocol):
    """What is needed of `Listener`. `tls_buffer`: where all its sockets receive into."""

    name: str
    handshakes: set[TlsLayer]
    handshake_steps: Backlog
    tls_buffer: memoryview

    def accepted(self, host: str) -> bool: ...

    def gone(self, host: str) -> None: ...

    def closed_later(self, transport: asyncio.Transport | None) -> bool: ...


class TlsLayer(asyncio.BufferedProtocol):
    """Made by the listener for each accepted socket; `connection` hears of it once the handshake is done."""

    def __init__(self, context: ssl.SSLContext, listener: SecuredListener, connection: Connection) -> None:
        self._listener = listener
        self._connection = connection
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._socket: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._host = ""
        self._established = False
        self._failed = False
        self._reading_paused = False

    # -- the socket's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._socket = cast("asyncio.Transport", transport)  # uvloop's is one in all but type
        self._host = (transport.get_extra_info("peername") or ("",))[0]
        if not self._listener.accepted(self._host):
            self._failed = True
            self._socket.abort()
            return
        self._timer = asyncio.get_running_loop().call_later(HANDSHAKE_SECONDS, self._handshake_timed_out)
        self._listener.handshakes.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._listener.gone(self._host)
        self._handshake_over()
        if self._established:
            self._connection.connection_lost(exc)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._listener.tls_buffer

    def buffer_updated(self, nbytes: int) -> None:
        if self._failed:
            return
        self._incoming.write(self._listener.tls_buffer[:nbytes])
        if self._established:
            self._deliver()
        elif self._socket is not None and not self._listener.handshake_steps.takes_another():
            self._socket.pause_reading()  # nothing more of it until its turn has come
            self._listener.handshake_steps.wait(self._go_on)
        elif self._shake_hands():
            self._deliver()

    def eof_received(self) -> bool:
        return self._listener.closed_later(self._socket)

    def pause_writing(self) -> None:
        if self._established:
            self._connection.pause_writing()

    def resume_writing(self) -> None:
        if self._established:
            self._connection.resume_writing()

    # -- handshake

    def _go_on(self) -> None:
        """The turn of this handshake has come; its client may have gone meanwhile."""
        if self._socket is None or self._socket.is_closing():
            return
        self._socket.resume_reading()
        if self._shake_hands():
            self._deliver()

    def _shake_hands(self) -> bool:
        """Whether the handshake is done."""
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            self._send()
            return False
        except ssl.SSLError as error:
            self._fail("TLS handshake failed", error)
            return False
        self._send()
        self._handshake_over()
        try:
            self._connection.connection_made(cast("asyncio.Transport", self))
        except NoMatchingRule as nobody:
            self._tell("authentication failed", str(nobody))
            self._say_farewell()
            self._leave()
            return False
        self._established = True
        return True

    def _handshake_over(self) -> None:
        self._listener.handshakes.discard(self)
        if self._timer is not None:
            self._timer.cancel()

    def _handshake_timed_out(self) -> None:
        self._tell("TLS handshake failed", f"not done within {HANDSHAKE_SECONDS:g} s")
        self.abort()

    def _fail(self, what: str, error: ssl.SSLError) -> None:
        """Send the alert that OpenSSL has made of `error`, and leave when the client has."""
        reason = getattr(error, "verify_message", "") or error.reason or str(error)
        hint = "; does the client speak TLS?" if error.reason in _PLAIN_TEXT else ""
        self._tell(what, f"{reason.lower().replace('_', ' ')}{hint}")
        self._leave()

    def _leave(self) -> None:
        """Say no more behind what is to be sent, and read no more into it."""
        self._failed = True
        self._send()
        socket = self._socket
        if socket is None or socket.is_closing():
            return
        socket.resume_reading()
        if socket.can_write_eof():
            socket.write_eof()
        self._handshake_over()
        self._timer = asyncio.get_running_loop().call_later(LINGER_SECONDS, self.abort)

    def _tell(self, what: str, reason: str) -> None:
        refusals.tell(what, self._host, listener=self._listener.name, reason=reason)

    # -- data

    def _deliver(self) -> None:
        """Hand on what has been decrypted, for as long as it is wanted."""
        connection, socket = self._connection, self._socket
        try:
            while not (self._reading_paused or socket is None or socket.is_closing()):
                buffer = connection.get_buffer(-1)
                received = cast("int", self._tls.read(len(buffer), buffer))  # bytes only without a buffer
                if not received:
                    break
                connection.buffer_updated(received)
        except ssl.SSLWantReadError:
            self._send()  # an answer of TLS itself, if there is one
        except ssl.SSLZeroReturnError:
            self.close()
        except ssl.SSLError as error:
            self._fail("TLS failed", error)

    def _send(self) -> None:
        if self._outgoing.pending and self._socket is not None:
            self._socket.write(self._outgoing.read())

    # -- the transport of the connection

    def write(self, data: Buffer) -> None:
        """Encrypt and send."""
        self.writelines((data,))

    def writelines(self, parts: Iterable[Buffer]) -> None:
        """Encrypt and send in turn."""
        if self._failed:
            return
        try:
            for part in parts:
                rest = memoryview(part)
                while rest:
                    rest = rest[self._tls.write(rest) :]
                    if self._outgoing.pending >= SENT_AT_ONCE:
                        self._send()
        except ssl.SSLError as error:
            self._fail("TLS failed", error)
            return
        self._send()

    def close(self) -> None:
        """Tell the client that nothing follows, then close when all is sent."""
        if self._socket is None or self._socket.is_closing():
            return
        self._say_farewell()
        self._send()
        self._socket.close()

    def _say_farewell(self) -> None:
        with contextlib.suppress(ssl.SSLError):  # the client's own is not waited for
            self._tls.unwrap()

    def abort(self) -> None:
        """Close at once."""
        if self._socket is not None:
            self._socket.abort()

    def is_closing(self) -> bool:
        return self._socket is None or self._socket.is_closing()

    def pause_reading(self) -> None:
        self._reading_paused = True
        if self._socket is not None:
            self._socket.pause_reading()

    def resume_reading(self) -> None:
        self._reading_paused = False
        if self._socket is not None:
            self._socket.resume_reading()
            asyncio.get_running_loop().call_soon(self._deliver)  # what was decrypted before; not inside of what is delivered now

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        if self._socket is not None:
            self._socket.set_write_buffer_limits(high, low)

    def get_write_buffer_size(self) -> int:
        return self._socket.get_write_buffer_size() if self._socket is not None else 0

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        if name == "peercert":
            return self._tls.getpeercert()
        return self._socket.get_extra_info(name, default) if self._socket is not None else default
