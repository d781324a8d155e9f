"""The limits of the machine, beside what the brokers reach on it."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from functools import partial

from tests.bench import load, native
from tests.bench.results import MACHINE
from tests.bench.rows.small import TOPIC, outcome
from tests.bench.servers import free_port
from tests.bench.stage import Outcome, Row, Stage

SECTION = "Limits of the machine"
APPEND_BYTES = 200


def echo(stage: Stage, connections: int) -> Outcome:
    """The same frames answered by a program in C that only sends them back."""
    port = free_port()
    program = native.built("echo")
    with subprocess.Popen([str(program), str(port)]) as process:
        try:
            reach(port)
            stage.pid = process.pid
            frame = load.produce_frame(TOPIC, range(1), load.batch(100), -1)
            return outcome(
                native.run(
                    port,
                    [frame],
                    connections=connections,
                    seconds=stage.seconds,
                    warm_seconds=stage.warm_seconds,
                    window=stage.window,
                )
            )
        finally:
            process.kill()


def reach(port: int) -> None:
    deadline = time.monotonic() + 10
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


def fdatasync(stage: Stage) -> Outcome:
    """Appends to one file, each with its fdatasync, where the brokers have their data."""
    times: list[float] = []
    with (stage.folder / "probe").open("wb", buffering=0) as file, stage.window():
        end = time.perf_counter() + stage.seconds
        while (begin := time.perf_counter()) < end:
            file.write(b"x" * APPEND_BYTES)
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - begin)
    times.sort()
    waits = {"p50 ms": times[len(times) // 2] * 1000, "p99 ms": times[len(times) * 99 // 100] * 1000}
    return Outcome(len(times) / sum(times), None, waits)


ROWS = [
    *(
        Row(
            f"echo-{connections}",
            f"echo in C, {connections} connection{'s' * (connections > 1)}",
            "req/s",
            partial(echo, connections=connections),
            only=(MACHINE,),
        )
        for connections in (1, 10, 50)
    ),
    Row("fdatasync", f"append of {APPEND_BYTES} B with fdatasync", "1/s", fdatasync, only=(MACHINE,)),
]
