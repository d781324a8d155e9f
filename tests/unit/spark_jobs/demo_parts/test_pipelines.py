"""A job's outputs against the cells that were counted without Spark."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from oncelog.spark_jobs.demo_parts import pipelines
from oncelog.spark_jobs.demo_parts.pipelines import Flights, Verdict
from oncelog.spark_jobs.demo_parts.readback import Message
from oncelog.spark_jobs.flights import Cell

ROW = {"origin": "EWR", "hour": datetime(2013, 1, 1, 10, tzinfo=UTC), "departures": 2, "cancelled": 1, "delay_minutes": -3}


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Flights:
    monkeypatch.setattr(pipelines.flights, "expected_departures", lambda: {"EWR 2013-01-01T10:00:00Z": Cell(2, 1, -3)})
    flights = Flights("run")
    flights.rows = 2
    return flights


def serve(monkeypatch: pytest.MonkeyPatch, topics: dict[str, list[Message]], table: list[dict[str, Any]]) -> None:
    def read(_bootstrap: str, topic: str) -> Iterator[Message]:
        yield from topics[topic]

    monkeypatch.setattr(pipelines, "read_all", read)
    monkeypatch.setattr(pipelines, "read_parquet", lambda _folder: table)


def cell(departures: int) -> Message:
    return Message(0, 0, b"EWR 2013-01-01T10:00:00Z", b'{"departures": %d, "cancelled": 1, "delay_minutes": -3}' % departures)


def test_both_outputs_and_the_input_are_compared(made: Flights, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    loaded = [Message(0, n, None, b"") for n in range(2)]
    serve(monkeypatch, {"flights-run": loaded, "departures-run": [cell(1), cell(2)]}, [ROW])
    verdicts = made.verdicts("h:1", tmp_path)
    assert [(verdict.cells, verdict.rows, verdict.equal) for verdict in verdicts] == [(2, 2, True), (1, 2, True), (1, 2, True)]
    assert [verdict.what.split(" (")[0] for verdict in verdicts] == ["topic flights-run", "topic departures-run", "Parquet"]


def test_what_differs_is_told(made: Flights, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    serve(monkeypatch, {"flights-run": [Message(0, 0, None, b"")], "departures-run": [cell(3)]}, [{**ROW, "origin": "JFK"}])
    loaded, topic, table = made.verdicts("h:1", tmp_path)
    assert loaded.differences == ["found 1 records, expected 2"]
    assert topic.differences == ["EWR 2013-01-01T10:00:00Z: found (3, 1, -3), expected (2, 1, -3)"]
    assert [line.split(":")[0] for line in table.differences] == ["EWR 2013-01-01T10", "JFK 2013-01-01T10"]
    assert not any(verdict.equal for verdict in (loaded, topic, table))


def test_names_and_outputs(made: Flights, tmp_path: Path) -> None:
    assert made.name(ROW) == "EWR 2013-01-01T10:00:00Z"
    assert made.outputs(tmp_path) == ["departures-run", f"{tmp_path}/table.parquet"]
    assert Verdict("x", 0, 0).equal


def test_loading_makes_both_topics_first(made: Flights, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[Any, ...]] = []
    monkeypatch.setattr(pipelines.load, "create_topic", lambda *arguments: calls.append(arguments))
    monkeypatch.setattr(pipelines.load, "load_idempotent", lambda *arguments: calls.append(arguments))
    made.load("h:1", print)
    assert calls == [
        ("h:1", "flights-run", 3, pipelines.load.TOPIC_SETTINGS),
        ("h:1", "departures-run", 1, {}),
        ("h:1", "flights-run", print),
    ]
