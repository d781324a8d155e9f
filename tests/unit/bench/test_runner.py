from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from tests.bench.results import Results, Round, RowResult, Sample
from tests.bench.runner import Plan, number, one_round, run, told

pytestmark = pytest.mark.unit


@dataclass
class Fake:
    """A row whose foreign load is told in advance, in the order of measuring; its values count up."""

    foreign: list[float] = field(default_factory=list)
    name: str = "fake"
    only: tuple[str, ...] | None = None
    asked: list[str] = field(default_factory=list)

    @property
    def result(self) -> RowResult:
        return RowResult(self.name, "Section", self.name, "req/s", "more", "request")

    def brokers(self, asked: Sequence[str]) -> list[str]:
        return list(asked) if self.only is None else [one for one in asked if one in self.only]

    def measure(self, broker: str) -> Sample:
        self.asked.append(broker)
        return Sample(float(len(self.asked)), foreign=self.foreign[len(self.asked) - 1] if self.foreign else 0.0)


def silent(_: str) -> None: ...


def measured(rows: list[Fake], plan: Plan, results: Results | None = None) -> Results:
    found = results or Results({}, {})
    run(rows, plan, found, lambda: None, silent)
    return found


def test_brokers_take_turns() -> None:
    row = Fake()
    measured([row], Plan(("a", "b", "c"), 3))
    assert row.asked == ["a", "b", "c"] * 3


def test_a_quiet_round_is_measured_once() -> None:
    row = Fake([0.1, 0.1])
    assert one_round(row, Plan(("a", "b"), 1, quiet=0.1), silent) == Round(
        1, False, {"a": Sample(1.0, foreign=0.1), "b": Sample(2.0, foreign=0.1)}
    )


def test_a_round_is_repeated_whole_until_it_is_quiet() -> None:
    row = Fake([0.0, 0.9, 0.9, 0.0, 0.0, 0.1])
    found = one_round(row, Plan(("a", "b"), 1, quiet=0.15), silent)
    assert row.asked == ["a", "b"] * 3
    assert (found.attempts, found.loaded) == (3, False)
    assert [sample.value for sample in found.samples.values()] == [5.0, 6.0]


def test_a_round_that_is_never_quiet_is_marked_and_the_quietest_kept() -> None:
    row = Fake([0.9, 0.5, 0.7, 0.8])
    found = one_round(row, Plan(("a",), 1, quiet=0.15), silent)
    assert row.asked == ["a"] * 4, "the first, and three more"
    assert (found.attempts, found.loaded) == (4, True)
    assert found.samples["a"].value == 2.0


def test_a_resumed_run_measures_only_what_is_missing() -> None:
    first, second = Fake(name="first"), Fake(name="second")
    found = measured([first], Plan(("a",), 2))
    measured([first, second], Plan(("a",), 3), found)
    assert (first.asked, second.asked) == (["a"] * 3, ["a"] * 3)
    assert [(row.name, len(row.rounds)) for row in found.rows] == [("first", 3), ("second", 3)]


def test_every_round_is_kept_as_soon_as_it_is_done() -> None:
    found, kept = Results({}, {}), []
    run([Fake(name="x"), Fake(name="y")], Plan(("a",), 2), found, lambda: kept.append([len(row.rounds) for row in found.rows]), silent)
    assert kept == [[1, 0], [2, 0], [2, 1], [2, 2]]


def test_a_row_for_none_of_the_brokers_is_left_out() -> None:
    assert measured([Fake(only=("z",))], Plan(("a",), 1)).rows == []


def test_progress_tells_what_was_measured_or_why_not() -> None:
    row = Fake().result
    assert told(Sample(1234.0, 2.5, 40.0, foreign=0.02, generator=0.3), row) == (
        "1,234 req/s, 2.5 us of CPU a request, 40 MiB, generator 0.30, others 0.02 cores"
    )
    assert told(Sample(error="it did not start"), row) == "- (it did not start)"


@pytest.mark.parametrize(("value", "text"), [(None, "–"), (123456.7, "123,457"), (99.94, "99.9"), (0.012345, "0.0123"), (0.0, "0")])
def test_three_digits_that_matter(value: float | None, text: str) -> None:
    assert number(value) == text
