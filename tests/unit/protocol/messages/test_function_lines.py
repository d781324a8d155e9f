"""Functions made of lines: names that do not clash, values that need no name in the text, tracebacks that say what was at work."""

from __future__ import annotations

import traceback

import pytest
from oncelog.protocol.messages.function_lines import FunctionLines

pytestmark = pytest.mark.unit


def test_a_function_of_lines() -> None:
    lines = FunctionLines(3, flexible=True, names={"least": min})
    lines.line(0, "def pick(value):")
    first, second = lines.fresh("n"), lines.fresh("n")
    assert first != second
    limit = object.__new__(Limit)
    lines.line(1, f"{first} = {lines.constant('n', limit)}.limit")
    lines.line(1, f"{second} = least(value, {first})")
    lines.line(1, f"return {first}, {second}")
    assert lines.function("pick", "Sample")(9) == (7, 7)


class Limit:
    limit = 7


def test_a_traceback_names_the_message_and_its_version() -> None:
    lines = FunctionLines(3, flexible=False, names={})
    lines.line(0, "def fail():")
    lines.line(1, "raise ValueError")
    with pytest.raises(ValueError, match=r"^$") as raised:
        lines.function("fail", "Sample")()
    assert traceback.extract_tb(raised.value.__traceback__)[-1].filename == "<fail Sample v3>"
