"""The load generator in C against the echo server in C: `pytest tests/bench`. Needs a compiler."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import pytest

from tests.bench import native
from tests.bench.rows.machine import reach
from tests.bench.servers import free_port

pytestmark = [pytest.mark.bench, pytest.mark.skipif(native.generator() != "C", reason="no C compiler")]


@pytest.fixture
def echo() -> Iterator[int]:
    port = free_port()
    with subprocess.Popen([str(native.built("echo")), str(port)]) as process:
        try:
            reach(port)
            yield port
        finally:
            process.kill()


def frame(body: bytes) -> bytes:
    return len(body).to_bytes(4) + body


@pytest.mark.parametrize(("connections", "depth", "size"), [(1, 1, 1), (50, 1, 170), (3, 7, 170), (2, 2, 3_000_000)])
def test_it_counts_whole_answers(echo: int, connections: int, depth: int, size: int) -> None:
    found = native.run(echo, [frame(bytes(size))], connections=connections, depth=depth, seconds=0.3, warm_seconds=0.1, error_at=-1)
    assert found.requests > 0
    slack = connections * depth * (size + 4)  # answers that had begun to come before, or were not whole at the end
    assert abs(found.bytes_in - found.requests * (size + 4)) <= slack
    assert 0 <= found.percentile_ms(0.5) <= found.percentile_ms(0.99) <= found.percentile_ms(1.0) + 0.001


def test_frames_are_sent_in_turn_and_errors_counted(echo: int) -> None:
    good, bad = frame(bytes(20)), frame(bytes(8) + b"\0\3" + bytes(10))
    native.run(echo, [good, good], connections=2, seconds=0.1, warm_seconds=0.0, error_at=8)
    with pytest.raises(RuntimeError, match="answered with an error"):
        native.run(echo, [good, good, bad], connections=1, seconds=0.1, warm_seconds=0.0, error_at=8)


def test_a_port_that_nobody_listens_on_is_told() -> None:
    with pytest.raises(RuntimeError, match="connect"):
        native.run(free_port(), [frame(b"x")], connections=1, seconds=0.1, warm_seconds=0.0)
