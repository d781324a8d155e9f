"""The quick reader of `oncelog serve`'s arguments understands what the real parser understands, or leaves it alone."""

from __future__ import annotations

import pytest
from oncelog.broker import cli
from oncelog.broker.commands.serve import plain_arguments

pytestmark = pytest.mark.unit
PLAIN = [
    "",
    "--port 0 --accept-data-loss",
    "--port=19092 --host ::1",
    "--data-dir /tmp/x --config=server.properties --fast",
    "--control 9644 --clock=virtual",
    "--control=0 --clock running",
    "--topic a:1 --topic=b:2:x=y,z --fast",
    "--override a.b=c --override=d.e=f=g --port 1",
]
NOT_PLAIN = [
    "--help",
    "--port x",
    "--control",
    "--control x",
    "--clock fast",
    "--port",
    "--port -1",
    "--nonsense 1",
    "stray",
    "--fast=yes",
    "--no-fast",
    "--topic",
]


@pytest.mark.parametrize("line", PLAIN)
def test_same_as_the_real_parser(line: str) -> None:
    _command, bound, _ignored = cli.app.parse_args(["serve", *line.split()], exit_on_error=False, print_error=False)
    assert plain_arguments(line.split()) == bound.kwargs


@pytest.mark.parametrize("line", NOT_PLAIN)
def test_everything_else_is_left_to_the_real_parser(line: str) -> None:
    assert plain_arguments(line.split()) is None
