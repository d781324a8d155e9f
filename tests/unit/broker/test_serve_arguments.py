"""The quick reader of `oncelog serve`'s arguments understands what the real parser understands, or leaves it alone."""

from __future__ import annotations

from typing import Any

import pytest
from oncelog.broker import cli, serve
from oncelog.broker.serve_arguments import plain_arguments

pytestmark = pytest.mark.unit
PLAIN = [
    "",
    "--port 0",
    "--port=19092 --host ::1",
    "--data-dir /tmp/x --config=server.properties --fast",
    "--override a.b=c --override=d.e=f=g --port 1",
]
NOT_PLAIN = ["--help", "--port x", "--port", "--port -1", "--nonsense 1", "stray", "--fast=yes", "--port 1 --port 2", "--no-fast"]


@pytest.mark.parametrize("line", PLAIN)
def test_same_as_the_real_parser(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[Any, ...]] = []

    def record(*arguments: Any) -> int:
        seen.append(arguments)
        return 0

    monkeypatch.setattr(serve, "serve", record)
    cli.app(["serve", *line.split()], result_action="return_value")
    plain = plain_arguments(line.split())
    assert plain is not None
    assert seen == [tuple(plain.values())]


@pytest.mark.parametrize("line", NOT_PLAIN)
def test_everything_else_is_left_to_the_real_parser(line: str) -> None:
    assert plain_arguments(line.split()) is None
