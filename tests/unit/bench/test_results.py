from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench.results import QUIET_CORES, Mismatch, Results, Round, RowResult, Sample, load, resume

pytestmark = pytest.mark.unit
MACHINE = {"processor": "a", "source": "abc"}
OPTIONS = {"seconds": 5.0, "rounds": 2}


def row(*rounds: Round) -> RowResult:
    return RowResult("r", "Section", "a row", "req/s", "more", "request", list(rounds))


def quiet(**values: float | None) -> Round:
    return Round(1, False, {broker: Sample(value, cpu_us=2.0 if value is not None else None) for broker, value in values.items()})


def test_medians_leave_out_what_failed() -> None:
    three = row(quiet(oncelog=10.0), quiet(oncelog=None), quiet(oncelog=30.0), quiet(oncelog=11.0))
    assert three.median("oncelog") == 11.0
    assert three.median("kafka") is None


def test_ratios_are_of_the_same_round() -> None:
    """The machine was half as fast in the second round: the ratio of the medians would not tell."""
    two = row(quiet(oncelog=10.0, kafka=5.0), quiet(oncelog=5.0, kafka=2.5), quiet(oncelog=9.0, kafka=None), quiet(oncelog=8.0))
    assert two.ratios("kafka") == [2.0, 2.0]
    assert two.ratios("kafka", "cpu_us") == [1.0, 1.0]


def test_a_rival_that_did_nothing_has_no_ratio() -> None:
    assert row(quiet(oncelog=10.0, kafka=0.0)).ratios("kafka") == []


def test_what_else_was_noted_has_medians_too() -> None:
    rounds = [Round(1, False, {"kafka": Sample(1.0, more={"p99 ms": wait})}) for wait in (1.0, 7.0, 3.0)]
    assert row(*rounds, Round(1, False, {"kafka": Sample(error="no")})).more("kafka") == {"p99 ms": 3.0}


def test_the_first_error_is_told() -> None:
    assert row(quiet(kafka=1.0), Round(1, False, {"kafka": Sample(error="no")})).error("kafka") == "no"
    assert row(quiet(kafka=1.0)).error("kafka") is None


def test_a_row_is_loaded_by_a_marked_round_or_by_more_than_figures_stand() -> None:
    assert not row(quiet(oncelog=1.0)).loaded
    assert row(quiet(oncelog=1.0), Round(4, True, {"oncelog": Sample(1.0)})).loaded
    assert row(Round(1, False, {"oncelog": Sample(1.0, foreign=QUIET_CORES * 1.1)})).loaded, "the run allowed more"


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    found = Results(MACHINE, OPTIONS, [row(quiet(oncelog=1.0, kafka=None), Round(4, True, {"oncelog": Sample(2.0, more={"p99 ms": 1.0})}))])
    path = tmp_path / "new" / "results.json"
    found.save(path)
    assert load(path) == found
    assert [one.name for one in path.parent.iterdir()] == ["results.json"]


def test_resumed_with_more_rounds(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    Results(MACHINE, OPTIONS, [row(quiet(oncelog=1.0))]).save(path)
    found = resume(path, MACHINE, {"seconds": 5.0, "rounds": 5}, ["seconds"])
    assert found.options == {"seconds": 5.0, "rounds": 5}
    assert len(found.rows[0].rounds) == 1


@pytest.mark.parametrize(
    ("machine", "options", "named"),
    [({**MACHINE, "source": "other"}, OPTIONS, "another source"), (MACHINE, {"seconds": 1.0}, "another seconds")],
)
def test_rounds_that_do_not_compare_are_refused(tmp_path: Path, machine: dict[str, str], options: dict[str, float], named: str) -> None:
    path = tmp_path / "results.json"
    Results(MACHINE, OPTIONS).save(path)
    with pytest.raises(Mismatch, match=named):
        resume(path, machine, options, ["seconds"])
