"""What the demo runs: flights, or (demo_parts/access_log.py) the user's own log. Each knows how to count without Spark."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from oncelog.spark_jobs import flights, load
from oncelog.spark_jobs.demo_parts.readback import differences, newest_by_key, read_all, read_parquet


@dataclass(frozen=True)
class Verdict:
    """One comparison."""

    what: str
    cells: int
    rows: int
    differences: list[str] = field(default_factory=list)

    @property
    def equal(self) -> bool:
        return not self.differences


class Pipeline(Protocol):
    """Data, job and expectation."""

    what: str
    title: str
    topic: str
    job: str
    rows: int
    expected: Mapping[str, tuple[int, ...]]

    def load(self, bootstrap: str, done: Callable[[int], None]) -> None: ...

    def outputs(self, folder: Path) -> list[str]: ...

    def verdicts(self, bootstrap: str, folder: Path) -> list[Verdict]: ...


class Table:
    """The two outputs of a job against the expected cells; `columns` make a cell, the last of `counted` … is the number of rows in it."""

    columns: tuple[str, ...]
    counted: str
    topic: str
    table_topic: str
    rows: int
    expected: Mapping[str, tuple[int, ...]]

    def outputs(self, folder: Path) -> list[str]:
        """One topic and one Parquet folder."""
        return [self.table_topic, str(folder / "table.parquet")]

    def name(self, row: dict[str, Any]) -> str:
        """Key of a Parquet row, as the job writes it for the topic."""
        raise NotImplementedError

    def verdicts(self, bootstrap: str, folder: Path) -> list[Verdict]:
        """Input topic, output topic and Parquet, each against the direct count."""
        loaded = sum(1 for _ in read_all(bootstrap, self.topic))
        short = [] if loaded == self.rows else [f"found {loaded:,} records, expected {self.rows:,}"]
        return [
            Verdict(f"topic {self.topic} (confluent-kafka)", self.rows, loaded, short),
            *self.table_verdicts(bootstrap, folder),
        ]

    def table_verdicts(self, bootstrap: str, folder: Path) -> list[Verdict]:
        """Output topic and Parquet against the direct count."""
        return [
            self.verdict(f"topic {self.table_topic} (confluent-kafka)", newest_by_key(read_all(bootstrap, self.table_topic))),
            self.verdict("Parquet (pyarrow)", {self.name(row): row for row in read_parquet(folder / "table.parquet")}),
        ]

    def verdict(self, what: str, table: Mapping[str, dict[str, Any]]) -> Verdict:
        """Compare one table, cell by cell."""
        found = {key: tuple(row[column] for column in self.columns) for key, row in table.items()}
        return Verdict(what, len(found), sum(row[self.counted] for row in table.values()), differences(found, self.expected))


class Flights(Table):
    """Departures per airport and hour of 2013."""

    what = "flights"
    title = "departures per airport and hour"
    job = "oncelog.spark_jobs.departures"
    columns = ("departures", "cancelled", "delay_minutes")
    counted = "departures"

    def __init__(self, run: str) -> None:
        self.topic, self.table_topic = f"flights-{run}", f"departures-{run}"
        self.rows = flights.FLIGHTS
        self.expected = {key: tuple(cell) for key, cell in flights.expected_departures().items()}

    def load(self, bootstrap: str, done: Callable[[int], None]) -> None:
        """With confluent-kafka's idempotent producer."""
        load.create_topic(bootstrap, self.topic, 3, load.TOPIC_SETTINGS)
        load.create_topic(bootstrap, self.table_topic, 1, {})
        load.load_idempotent(bootstrap, self.topic, done)

    def name(self, row: dict[str, Any]) -> str:
        return f"{row['origin']} {row['hour']:%Y-%m-%dT%H:%M:%SZ}"
