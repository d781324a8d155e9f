"""Programs in C, built at need into the user's cache folder: the load generator, and the echo server that is the floor."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from contextlib import nullcontext
from functools import cache
from pathlib import Path

from tests.bench import load
from tests.bench.generators import Window, told
from tests.bench.servers import Unavailable, built_folder

SOURCES = Path(__file__).with_name("c")


@cache
def built(name: str) -> Path:
    """The program of that name. Raises Unavailable without a compiler."""
    source = SOURCES / f"{name}.c"
    program = built_folder(source) / name
    if program.exists():
        return program
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise Unavailable("there is no C compiler")
    program.parent.mkdir(parents=True, exist_ok=True)
    draft = program.with_suffix(f".{os.getpid()}")
    done = subprocess.run([compiler, "-O2", "-o", str(draft), str(source)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Unavailable(f"{source.name} does not compile: {done.stderr.strip()[-500:]}")
    draft.replace(program)
    return program


@cache
def generator() -> str:
    """What makes the load of small requests: `C`, or `Python` where nothing compiles."""
    try:
        built("load")
    except Unavailable:
        return "Python"
    return "C"


def run(
    port: int,
    frames: list[bytes],
    *,
    connections: int,
    depth: int = 1,
    seconds: float,
    warm_seconds: float,
    error_at: int = -1,
    window: Window = nullcontext,
) -> load.Result:
    """Send `frames` in turn on each connection; `window` is open while it counts. `error_at`: where an answer's error code stands.

    Raises RuntimeError where an answer is an error.
    """
    if generator() == "Python":
        if error_at >= 0 and any(load.exchange(port, frames[0])[error_at : error_at + 2]):
            raise RuntimeError("the first request was answered with an error")
        return load.run(port, *frames, connections=connections, depth=depth, seconds=seconds, warm_seconds=warm_seconds, window=window)
    with tempfile.NamedTemporaryFile(prefix="oncelog-bench-frames-") as file:
        file.write(b"".join(frames))
        file.flush()
        numbers = [port, connections, depth, warm_seconds, seconds, error_at]
        return parse(told([str(built("load")), *map(str, numbers), file.name], window, warm_seconds + seconds))


def parse(line: str) -> load.Result:
    """The last line of the load generator. Raises RuntimeError where an answer was an error."""
    requests, seconds, size, errors, p50, p90, p99, p999, longest = line.split()
    if int(errors):
        raise RuntimeError(f"{errors} of {requests} requests were answered with an error")
    waits = {0.5: p50, 0.9: p90, 0.99: p99, 0.999: p999, 1.0: longest}
    return load.Result(int(requests), float(seconds), int(size), percentiles_ms={share: int(us) / 1000 for share, us in waits.items()})
