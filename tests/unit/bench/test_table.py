from __future__ import annotations

import pytest

from tests.bench.table import TABLE, chosen

pytestmark = pytest.mark.unit


def test_every_row_has_a_name_and_a_title_of_its_own() -> None:
    assert len({row.name for row in TABLE}) == len({row.title for row in TABLE}) == len(TABLE)
    assert all(row.section and row.better in ("more", "less") for row in TABLE)


def test_durable_rows_stand_beside_those_from_the_page_cache() -> None:
    durable = {row.name.removesuffix("-durable") for row in TABLE if row.durable}
    assert durable == {row.name.removesuffix("-fast") for row in TABLE if row.name.endswith("-fast")}


def test_rows_are_chosen_by_pattern_in_the_order_of_the_page() -> None:
    assert [row.name for row in chosen(["start", "echo-1", "produce-1kb-*"])] == [
        "produce-1kb-durable",
        "produce-1kb-fast",
        "start",
        "echo-1",
    ]
    assert chosen([]) == TABLE


def test_a_pattern_that_fits_none_is_told() -> None:
    with pytest.raises(LookupError, match="nothing"):
        chosen(["start", "nothing-*"])
