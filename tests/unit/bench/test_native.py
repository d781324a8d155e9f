from __future__ import annotations

import pytest

from tests.bench.native import parse

pytestmark = pytest.mark.unit


def test_what_the_program_prints() -> None:
    found = parse("1000 2.000000 54000 0 90 100 250 900 4000\n")
    assert (found.requests, found.rate, found.bytes_in) == (1000, 500.0, 54000)
    assert [found.percentile_ms(share) for share in (0.5, 0.99, 0.999)] == [0.09, 0.25, 0.9]


def test_answers_that_are_errors_spoil_it() -> None:
    with pytest.raises(RuntimeError, match="3 of 1000"):
        parse("1000 2.0 54000 3 90 100 250 900 4000")
