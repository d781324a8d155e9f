from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.bench.generators import parse, told

pytestmark = pytest.mark.unit


class Windows:
    """How often it was opened and closed."""

    def __init__(self) -> None:
        self.opened = self.closed = 0

    @contextmanager
    def __call__(self) -> Iterator[None]:
        self.opened += 1
        yield
        self.closed += 1


def program(text: str) -> list[str]:
    return [sys.executable, "-c", text]


def test_the_window_is_open_from_begin_to_the_last_line() -> None:
    windows = Windows()
    assert told(program("print('begin', flush=True); print('12 2.0 900 1500')"), windows, 1.0) == "12 2.0 900 1500\n"
    assert (windows.opened, windows.closed) == (1, 1)


@pytest.mark.parametrize(
    "text",
    ["import sys; sys.exit('what went wrong')", "import sys; print('begin', flush=True); print(1); sys.exit('what went wrong')"],
    ids=["before", "behind its last line"],
)
def test_a_program_that_fails_says_why(text: str) -> None:
    with pytest.raises(RuntimeError, match="what went wrong"):
        told(program(text), Windows(), 1.0)


def test_a_program_that_ends_without_its_line_failed() -> None:
    with pytest.raises(RuntimeError, match="ended with 0"):
        told(program("print('begin', flush=True)"), Windows(), 1.0)


def test_what_clients_print() -> None:
    found = parse("300 2.0 900 1500\n")
    assert (found.rate, found.percentile_ms(0.5), found.percentile_ms(0.99)) == (150.0, 0.9, 1.5)
