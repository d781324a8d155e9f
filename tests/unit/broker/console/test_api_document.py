"""API.md: every example in it can be read; what is answered has its shape (the tests of the routes hold that)."""

from __future__ import annotations

import pytest
from support.console_examples import EXAMPLES, misshapen

pytestmark = pytest.mark.unit


def test_every_endpoint_has_its_example() -> None:
    assert {"GET /api/v1/stuck", "GET /api/v1/transactions", "GET /api/v1/fencings", "GET /api/v1/lint"} <= EXAMPLES.keys()
    assert len(EXAMPLES) >= 11


@pytest.mark.parametrize(
    ("value", "wrong"),
    [
        ({"a": 1, "b": None}, []),
        ({"a": None, "b": "x"}, []),
        ({"a": "1", "b": None}, [".a: str, not int"]),
        ({"b": None}, [".a is missing"]),
        ({"a": 1, "b": None, "c": 2}, [".c is not described"]),
    ],
)
def test_a_shape(value: object, wrong: list[str]) -> None:
    assert misshapen(value, {"a": 2, "b": None}) == wrong


def test_a_shape_of_lists() -> None:
    assert misshapen([{"a": 1}, {"a": "x"}], [{"a": 2}]) == ["[1].a: str, not int"]
    assert misshapen([], [{"a": 2}]) == []
