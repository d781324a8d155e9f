"""A proxy that cuts connections around Produce requests: before the broker got one, or after it did and before the client heard of it."""

from __future__ import annotations

import contextlib
import itertools
import random
import socket
import struct
import threading
from collections import Counter

PRODUCE = 0


class CuttingProxy:
    """Listens at `port`; every connection is passed on to `target()`. One in `rarity` Produce requests costs its connection."""

    def __init__(self, seed: int, rarity: int) -> None:
        self.cuts: Counter[str] = Counter()
        self.target_port = 0
        self._random = random.Random(seed)
        self._kinds = itertools.cycle(("before", "after"))
        self._rarity = rarity
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._threads: list[threading.Thread] = []
        self._sockets: list[socket.socket] = []

    def __enter__(self) -> CuttingProxy:
        self._run(self._accept)
        return self

    def __exit__(self, *exc: object) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts
        self._listener.close()
        for each in self._sockets:
            hang_up(each)
        for thread in self._threads:
            thread.join(5)

    def _run(self, work: object, *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)  # type: ignore[arg-type]
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                client, _ = self._listener.accept()
                broker = socket.create_connection(("127.0.0.1", self.target_port))
                self._sockets += [client, broker]
                lost: set[int] = set()
                self._run(self._requests, client, broker, lost)
                self._run(self._answers, client, broker, lost)

    def _requests(self, client: socket.socket, broker: socket.socket, lost: set[int]) -> None:
        """`lost` takes the correlation ids whose answer shall not arrive."""
        while (frame := read_frame(client)) is not None:
            key, correlation_id = struct.unpack_from(">hxxi", frame)
            cut = next(self._kinds) if key == PRODUCE and not self._random.randrange(self._rarity) else None
            if cut == "before":
                self.cuts[cut] += 1
                break
            if cut == "after":
                lost.add(correlation_id)
            if not write_frame(broker, frame):
                break
        hang_up(client)
        hang_up(broker)

    def _answers(self, client: socket.socket, broker: socket.socket, lost: set[int]) -> None:
        while (frame := read_frame(broker)) is not None:
            if struct.unpack_from(">i", frame)[0] in lost:
                self.cuts["after"] += 1
                break
            if not write_frame(client, frame):
                break
        hang_up(client)
        hang_up(broker)


def read_frame(source: socket.socket) -> bytes | None:
    """None at the end of the connection."""
    try:
        head = source.recv(4, socket.MSG_WAITALL)
        if len(head) < 4:
            return None
        (size,) = struct.unpack(">i", head)
        body = source.recv(size, socket.MSG_WAITALL)
        return body if len(body) == size else None
    except OSError:
        return None


def write_frame(target: socket.socket, frame: bytes) -> bool:
    try:
        target.sendall(struct.pack(">i", len(frame)) + frame)
    except OSError:
        return False
    return True


def hang_up(connection: socket.socket) -> None:
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    connection.close()
