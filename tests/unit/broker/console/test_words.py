"""Durations and names as people say them."""

from __future__ import annotations

import pytest
from oncelog.broker.console.words import duration, named, who

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("milliseconds", "said"),
    [
        (0, "0 ms"),
        (999, "999 ms"),
        (1_000, "1 s"),
        (59_999, "59 s"),
        (60_000, "1 min"),
        (200_000, "3 min 20 s"),
        (3_600_000 * 2 + 60_000 * 5, "2 h 5 min"),
        (3_600_000 * 11 + 60_000 * 5, "11 h"),
        (86_400_000 * 3, "3 d"),
    ],
)
def test_a_duration(milliseconds: int, said: str) -> None:
    assert duration(milliseconds) == said


def test_who_it_is() -> None:
    assert who("checkout", "10.0.0.1") == " (checkout at 10.0.0.1)"
    assert who(None, "10.0.0.1") == " (a client without a name at 10.0.0.1)"
    assert who(None, None) == ""
    assert named("checkout", None) == "checkout"
