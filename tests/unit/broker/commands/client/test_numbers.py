"""Numbers on the command line: what fits into a request, and what is none."""

from __future__ import annotations

from typing import Any

import pytest
from cyclopts import App
from oncelog.broker.commands.client.numbers import (
    A_DAY_S,
    MAX_INT16,
    MAX_INT32,
    MAX_INT64,
    Amount,
    Int16,
    Int16OrDefault,
    Int32,
    Int32OrDefault,
    Int64,
    Seconds,
    SecondsOrNone,
    SignedInt64,
    whole_number,
)
from support.scripted_broker import run

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0), ("7", 7), ("007", 7), (str(MAX_INT64), MAX_INT64), (str(MAX_INT64 + 1), None), ("-1", None), ("", None), ("1.0", None)],
)
def test_whole_numbers(text: str, number: int | None) -> None:
    assert whole_number(text) == number


@pytest.mark.parametrize("text", ["+1", " 1", "1_000", "١", "²", "0x1", "9" * 5000])
def test_other_ways_to_write_one(text: str) -> None:
    """`int` would take most of them, and be slow about the last."""
    assert whole_number(text) is None


@pytest.mark.parametrize(("text", "number"), [(str(MAX_INT32), MAX_INT32), (str(MAX_INT32 + 1), None), ("0" * 11, None)])
def test_the_most_that_fits(text: str, number: int | None) -> None:
    assert whole_number(text, MAX_INT32) == number


@pytest.mark.parametrize(
    ("kind", "least", "most"),
    [
        (Int16, 0, MAX_INT16),
        (Int32, 0, MAX_INT32),
        (Int64, 0, MAX_INT64),
        (SignedInt64, -MAX_INT64, MAX_INT64),
        (Int16OrDefault, -1, MAX_INT16),
        (Int32OrDefault, -1, MAX_INT32),
        (Amount, 1, MAX_INT64),
        (SecondsOrNone, 0, A_DAY_S),
        (Seconds, 0.001, A_DAY_S),
    ],
    ids=str,
)
def test_ranges_of_options(kind: Any, least: float, most: float) -> None:
    taken: list[float] = []
    app = App()

    def command(*, number: kind) -> None:
        taken.append(number)

    command.__annotations__["number"] = kind
    app.default(command)
    step = 0.001 if isinstance(least, float) else 1
    for inside in (least, most):
        assert run(app, f"--number={inside}") == 0
    assert taken == [least, most]
    for outside in (least - step, most + 1):
        with pytest.raises(Exception, match="number"):
            run(app, f"--number={outside}")
    assert len(taken) == 2
