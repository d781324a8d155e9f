"""What was reached and killed when, and the weeks of the picture."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from oncelog.spark_jobs.demo_parts import timeline as module
from oncelog.spark_jobs.demo_parts.timeline import Timeline, departures_per_week, draw


def test_what_happened_when(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(module.time, "monotonic", lambda: now[0])
    line = Timeline()
    for at, rows in ((101.5, 10), (103.0, 30)):
        now[0] = at
        line.reached("load", rows)
    line.killed("broker")
    now[0] = 110.0
    line.killed("loader")
    line.killed("broker")
    assert dict(line.rows) == {"load": [(1.5, 10), (3.0, 30)]}
    assert line.kills == [(3.0, "broker"), (10.0, "loader"), (10.0, "broker")]
    assert line.kill_counts() == {"broker": 2, "loader": 1}


def cells(airport: str, first: datetime, days: int, per_day: int) -> dict[str, tuple[int, ...]]:
    return {f"{airport} {first + timedelta(days=day):%Y-%m-%dT%H:%M:%SZ}": (per_day, 9, 9) for day in range(days)}


def test_weeks_are_whole_and_begin_on_monday() -> None:
    """2013 begins on a Tuesday: the weeks at either end are not whole and would look like a drop."""
    first = datetime(2013, 1, 1, 10, tzinfo=UTC)
    weeks = departures_per_week({**cells("EWR", first, 28, 2), **cells("JFK", first, 28, 5)})
    mondays = [datetime(2013, 1, day, 10, tzinfo=UTC) for day in (7, 14, 21)]
    assert weeks == {"EWR": [(at, 14) for at in mondays], "JFK": [(at, 35) for at in mondays]}


def test_weeks_of_two_years_are_not_added_up() -> None:
    weeks = departures_per_week(
        {**cells("EWR", datetime(2013, 3, 4, tzinfo=UTC), 21, 1), **cells("EWR", datetime(2014, 3, 3, tzinfo=UTC), 21, 1)}
    )
    assert [count for _, count in weeks["EWR"]] == [7] * 4
    assert [at.year for at, _ in weeks["EWR"]] == [2013, 2013, 2014, 2014]


def test_a_picture(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    assert departures_per_week({}) == {}
    line = Timeline()
    line.reached("load", 5)
    line.killed("broker")
    file = draw(line, cells("EWR", datetime(2013, 1, 1, tzinfo=UTC), 28, 2), tmp_path / "demo.png")
    assert file.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
