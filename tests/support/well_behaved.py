"""A client that asks one thing after another, in a process of its own: what else this test does must not count as the broker's latency.

Run as a script it reads a line from standard input, the port and the frames to send in turn (hexadecimal), and asks until standard input
ends; then it prints a JSON object: `latencies` of each round in ms, and `failure`, null when there was none.
"""

from __future__ import annotations

import json
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from typing import NamedTuple


class Experience(NamedTuple):
    """Latencies in ms."""

    latencies: list[float]
    failure: str | None


class WellBehaved:
    """Started when made; `end` says how it was."""

    def __init__(self, port: int, frames: Sequence[bytes]) -> None:
        self._process = subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdin is not None
        self._process.stdin.write(" ".join([str(port), *(frame.hex() for frame in frames)]) + "\n")
        self._process.stdin.flush()

    @property
    def asks(self) -> bool:
        return self._process.poll() is None

    def end(self) -> Experience:
        printed, _ = self._process.communicate(timeout=120)
        return Experience(**json.loads(printed))


def _ask(port: int, frames: Sequence[bytes], latencies: list[float], ended: threading.Event) -> None:
    with socket.create_connection(("127.0.0.1", port), 60) as mine, mine.makefile("rb") as stream:
        while not ended.is_set():
            begin = time.perf_counter()
            for frame in frames:
                mine.sendall(frame)
                (length,) = struct.unpack(">i", stream.read(4))
                stream.read(length)
            latencies.append((time.perf_counter() - begin) * 1000)


def main() -> None:
    port, *frames = sys.stdin.readline().split()
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    latencies: list[float] = []
    failure = None
    try:
        _ask(int(port), [bytes.fromhex(frame) for frame in frames], latencies, ended)
    except (OSError, struct.error) as error:
        failure = repr(error)
    print(json.dumps({"latencies": latencies, "failure": failure}))


if __name__ == "__main__":
    main()
