"""What a job's command line makes of its queries: source, sinks, names, checkpoints, progress lines."""

from __future__ import annotations

import argparse
import io
from types import SimpleNamespace
from typing import Any

import pytest
from oncelog.spark_jobs import job
from oncelog.spark_jobs.job import (
    Job,
    arguments,
    checkpoint_of,
    client_options,
    progress_listener,
    read_topic,
    replace_parquet,
    run,
    run_queries,
    start,
    start_topic,
    trigger_settings,
)
from support.spark_double import Recorder

NEEDED = ["--input", "in", "--output", "out", "--checkpoint", "/c/"]


def options(*more: str) -> argparse.Namespace:
    return arguments("job", "doc", [*NEEDED, *more])


@pytest.mark.parametrize("missing", ["--input", "--output", "--checkpoint"])
def test_what_must_be_given(missing: str, capsys: pytest.CaptureFixture[str]) -> None:
    at = NEEDED.index(missing)
    with pytest.raises(SystemExit):
        arguments("job", "doc", NEEDED[:at] + NEEDED[at + 2 :])
    assert missing in capsys.readouterr().err


def test_client_settings_may_hold_equals_signs() -> None:
    given = options("--kafka-option", "sasl.jaas.config=a=b", "--kafka-option", "security.protocol=SSL", "--bootstrap-servers", "h:1")
    assert client_options(given) == {
        "kafka.bootstrap.servers": "h:1",
        "kafka.sasl.jaas.config": "a=b",
        "kafka.security.protocol": "SSL",
    }


@pytest.mark.parametrize(("more", "limited"), [((), False), (("--max-offsets-per-trigger", "5"), True)])
def test_the_source(more: tuple[str, ...], limited: bool) -> None:
    session = Recorder()
    read_topic(session, options("--isolation", "read_uncommitted", *more))
    said = session.said
    assert said["format"] == ("kafka",)
    assert said["option kafka.isolation.level"] == "read_uncommitted"
    assert (said["option subscribe"], said["option startingOffsets"]) == ("in", "earliest")
    assert said.get("option maxOffsetsPerTrigger") == (5 if limited else None)


def test_triggers() -> None:
    assert trigger_settings("available-now") == {"availableNow": True}
    assert trigger_settings("10 seconds") == {"processingTime": "10 seconds"}


@pytest.mark.parametrize(("folder", "expected"), [("/c", "/c/q"), ("/c/", "/c/q"), ("s3a://b/c/", "s3a://b/c/q")])
def test_each_query_has_a_checkpoint_of_its_own(folder: str, expected: str) -> None:
    assert checkpoint_of("q", arguments("job", "doc", [*NEEDED[:-1], folder])) == expected


def test_a_topic_by_sparks_own_sink() -> None:
    records = Recorder()
    start_topic(records, "out", "q", "update", options("--trigger", "5 seconds"))
    assert records.said["outputMode"] == ("update",)
    assert records.said["queryName"] == ("q",)
    assert (records.said["option topic"], records.said["option checkpointLocation"]) == ("out", "/c/q")
    assert records.said["trigger"] == {"processingTime": "5 seconds"}
    assert records.started == 1


def test_a_topic_by_the_exactly_once_sink(monkeypatch: pytest.MonkeyPatch) -> None:
    from oncelog.spark_jobs import exactly_once

    told: dict[str, Any] = {}
    monkeypatch.setattr(exactly_once, "write_exactly_once", lambda records, **given: told.update(given, records=records))
    records = Recorder()
    start_topic(records, "out", "q", "append", options("--delivery", "exactly-once", "--kafka-option", "a=b=c"))
    assert told == {
        "records": records,
        "bootstrap_servers": "127.0.0.1:9092",
        "topic": "out",
        "query_name": "q",
        "checkpoint": "/c/q",
        "trigger": {"availableNow": True},
        "output_mode": "append",
        "client": {"a": "b=c"},
    }
    assert records.started == 0


def test_an_output_with_a_slash_is_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    one, table = Job("my job", "doc", lambda df: df, lambda: None), Recorder()
    start(one, table, "./x/y.parquet", options())
    assert table.said["outputMode"] == ("complete",)
    assert (table.said["queryName"], table.said["option checkpointLocation"]) == (("my-job-x-y-parquet",), "/c/my-job-x-y-parquet")
    topics: list[tuple[Any, ...]] = []
    monkeypatch.setattr(job, "as_records", lambda _job, table: table)
    monkeypatch.setattr(job, "start_topic", lambda *given: topics.append(given))
    given = options()
    start(one, table, "out", given)
    assert topics == [(table, "out", "my-job-out", "update", given)]


def test_a_table_is_replaced() -> None:
    for _ in range(2):  # running a batch twice leaves what once leaves
        batch = Recorder()
        replace_parquet("/x")(batch, 7)
        assert batch.said == {"coalesce": (1,), "mode": ("overwrite",), "parquet": ("/x",)}


class Query:
    def __init__(self, error: Exception | None = None) -> None:
        self.error, self.awaited = error, False

    def awaitTermination(self) -> None:
        self.awaited = True
        if self.error:
            raise self.error


class Session:
    def __init__(self) -> None:
        self.stopped = 0
        self.streams = SimpleNamespace(addListener=lambda _listener: None)

    def stop(self) -> None:
        self.stopped += 1


@pytest.fixture
def session(monkeypatch: pytest.MonkeyPatch) -> Session:
    made = Session()
    monkeypatch.setattr(job, "kafka_session", lambda *_arguments: made)
    monkeypatch.setattr(job, "progress_listener", lambda _out: None)
    return made


def test_all_queries_are_awaited_and_the_session_stopped(session: Session) -> None:
    queries = [Query(), Query()]
    assert run_queries("q", lambda given: queries if given is session else []) == 0
    assert [query.awaited for query in queries] == [True, True]
    assert session.stopped == 1


def test_the_first_failure_stops_the_program(session: Session) -> None:
    with pytest.raises(KeyError):
        run_queries("q", lambda _session: [Query(KeyError("x")), Query()])
    assert session.stopped == 1


def test_a_job_starts_a_query_for_each_output(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[tuple[Any, str]] = []

    def begin(_job: Job, table: Any, output: str, _options: object) -> Query:
        started.append((table, output))
        return Query()

    monkeypatch.setattr(job, "read_topic", lambda *_arguments: "records")
    monkeypatch.setattr(job, "start", begin)
    assert run(Job("j", "doc", str.upper, lambda: None), [*NEEDED, "--output", "./dir"]) == 0
    assert started == [("RECORDS", "out"), ("RECORDS", "./dir")]


def test_progress_lines() -> None:
    pytest.importorskip("pyspark")
    out = io.StringIO()
    listener = progress_listener(out)
    listener.onQueryStarted(SimpleNamespace(name="q", id="i"))
    progress = SimpleNamespace(name="q", batchId=3, numInputRows=12, processedRowsPerSecond=4.4, durationMs={"triggerExecution": 5})
    listener.onQueryProgress(SimpleNamespace(progress=progress))
    listener.onQueryTerminated(SimpleNamespace(id="i", exception="why\nat x"))
    listener.onQueryTerminated(SimpleNamespace(id="i", exception=None))
    assert out.getvalue().splitlines() == [
        "started query=q id=i",
        "progress query=q batch=3 rows=12 rows_per_s=4 took_ms=5",
        "ended id=i exception=why",
        "ended id=i",
    ]
