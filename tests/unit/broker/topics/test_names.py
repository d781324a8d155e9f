"""Which names a topic may have, at the edges of each rule."""

from __future__ import annotations

import pytest
from oncelog.broker.topics.names import topic_name_problem

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("name", ["a", "A-z_0.9", "...", ".a", "-", "__consumer_offsets", "x" * 249])
def test_names(name: str) -> None:
    assert topic_name_problem(name) is None


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "the empty string is not allowed"),
        (".", "'.' is not allowed"),
        ("..", "'..' is not allowed"),
        ("x" * 250, "is longer than the max allowed length 249"),
        ("a b", "contains one or more characters other than ASCII alphanumerics"),
        ("a/b", "contains one or more characters"),
        ("ä", "contains one or more characters"),
        ("a\n", "contains one or more characters"),
        ("١", "contains one or more characters"),
        ("a\0", "contains one or more characters"),
    ],
)
def test_what_is_none(name: str, why: str) -> None:
    problem = topic_name_problem(name)
    assert problem is not None
    assert why in problem
