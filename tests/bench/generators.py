"""Load generators that are programs of their own: each prints `begin` when it is warm, and at its end one line of what it counted."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from tests.bench.load import Result

Window = Callable[[], AbstractContextManager[object]]
PATIENCE_SECONDS = 180.0


def told(command: Sequence[str], window: Window, seconds: float) -> str:
    """The last line; `window` is open from `begin` until it comes. Raises RuntimeError with what the program said when it failed."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        said: list[str] = []
        listener = threading.Thread(target=lambda stream=process.stderr: said.append(stream.read()))
        listener.start()
        ending = threading.Timer(seconds + PATIENCE_SECONDS, process.kill)
        ending.start()
        try:
            line = ""
            if process.stdout.readline() == "begin\n":
                with window():
                    line = process.stdout.readline()
            status = process.wait()
        finally:
            ending.cancel()
            process.kill()
            listener.join()
    if status or not line:
        raise RuntimeError(f"{command[0]} ended with {status}: {''.join(said).strip()[-500:]}")
    return line


def parse(line: str) -> Result:
    """`count seconds p50 p99`, waits in microseconds: what the programs of stock clients print."""
    count, seconds, p50, p99 = line.split()
    return Result(int(count), float(seconds), percentiles_ms={0.5: float(p50) / 1000, 0.99: float(p99) / 1000})
