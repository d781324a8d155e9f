from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.bench.results import MACHINE
from tests.bench.servers import Unavailable
from tests.bench.stage import Outcome, Row, Stage, Staged, both

pytestmark = pytest.mark.unit


def staged(work: Callable[[Stage], Outcome], only: tuple[str, ...] | None = (MACHINE,)) -> Staged:
    return Staged(Row("r", "a row", "1/s", work, only=only, section="Section"), 5.0, 2.5)


def test_a_row_is_for_those_it_names_of_those_that_are_asked() -> None:
    def never(stage: Stage) -> Outcome:
        raise AssertionError

    assert staged(never, None).brokers(["oncelog", "kafka"]) == ["oncelog", "kafka"]
    assert staged(never, ("oncelog",)).brokers(["oncelog", "kafka"]) == ["oncelog"]
    assert staged(never, ("kfake",)).brokers(["oncelog", "kafka"]) == []
    assert staged(never).brokers(["oncelog", "kafka"]) == [MACHINE]


def test_what_a_row_finds_is_the_sample() -> None:
    def work(stage: Stage) -> Outcome:
        assert stage.folder.is_dir()
        with stage.window():
            pass
        return Outcome(7.0, 2, {"p99 ms": stage.seconds, "p50 ms": stage.warm_seconds})

    found = staged(work).measure(MACHINE)
    assert (found.value, found.cpu_us, found.peak_mib, found.error) == (7.0, 0.0, None, None)
    assert found.more == {"p99 ms": 5.0, "p50 ms": 2.5}


@pytest.mark.parametrize(("error", "told"), [(Unavailable("no Go"), "no Go"), (ValueError("odd"), "ValueError: odd")])
def test_what_goes_wrong_is_told_in_the_sample(error: Exception, told: str) -> None:
    def work(stage: Stage) -> Outcome:
        raise error

    assert staged(work).measure(MACHINE).error == told


def test_a_row_that_opened_no_window_is_wrong() -> None:
    assert staged(lambda stage: Outcome(1.0)).measure(MACHINE).error == "AssertionError: nothing was measured"


def test_either_promise_is_a_row() -> None:
    rows = both("x", "title", "1/s", lambda stage: Outcome(1.0))
    assert [(row.name, row.title, row.durable) for row in rows] == [
        ("x-durable", "title, durable", True),
        ("x-fast", "title, page cache", False),
    ]
