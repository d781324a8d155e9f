from __future__ import annotations

from xml.etree import ElementTree

import pytest

from tests.bench.charts import Bar, bars, chart
from tests.bench.results import Round, RowResult, Sample

pytestmark = pytest.mark.unit
SVG = "{http://www.w3.org/2000/svg}"


def row(better: str, *pairs: tuple[float, float]) -> RowResult:
    rounds = [Round(1, False, {"oncelog": Sample(ours), "kafka": Sample(theirs)}) for ours, theirs in pairs]
    return RowResult("r", "Section", "a & b", "x", better, "request", rounds)


def test_more_is_better() -> None:
    assert bars(row("more", (10, 5), (12, 4), (9, 9)), ["kafka", "kfake"]) == [Bar("kafka", 2.0, 1.0, 3.0)]


def test_where_less_is_better_the_ratio_is_turned() -> None:
    assert bars(row("less", (5, 10), (10, 10), (4, 16)), ["kafka"]) == [Bar("kafka", 2.0, 1.0, 4.0)]


def test_better_is_right_of_the_line_and_worse_left_as_far() -> None:
    def bar(ours: float) -> tuple[float, float]:
        drawn = chart("Title", [row("more", (ours, 4.0))], ["kafka"])
        assert drawn is not None
        (found,) = [one for one in ElementTree.fromstring(drawn).iter(f"{SVG}rect") if len(one)]
        return float(found.attrib["x"]), float(found.attrib["width"])

    (better_x, better_width), (worse_x, worse_width) = bar(8.0), bar(2.0)
    assert worse_x + worse_width == pytest.approx(better_x, abs=0.2)
    assert worse_width == pytest.approx(better_width, abs=0.2)


def test_without_ratios_there_is_no_chart() -> None:
    assert chart("Title", [RowResult("r", "Section", "a", "x", "more", "request", [])], ["kafka"]) is None
