"""The jobs' transforms on small tables."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest
from oncelog.spark_jobs import audit, departures, ledger, page_views
from oncelog.spark_jobs.demo_parts import access_log
from oncelog.spark_jobs.demo_parts.readback import count_rows, differences
from oncelog.spark_jobs.sink.ship import write_zip
from oncelog.spark_jobs.sink.slots import slots, spark_hash


def test_departures(spark: Any) -> None:
    values = [
        '{"scheduled": "2013-01-01T10:15:00Z", "origin": "EWR", "dep_delay": 2}',
        '{"scheduled": "2013-01-01T10:59:00Z", "origin": "EWR", "dep_delay": -5}',
        '{"scheduled": "2013-01-01T10:59:00Z", "origin": "EWR", "dep_delay": null}',
        '{"scheduled": "2013-01-01T11:00:00Z", "origin": "EWR"}',
        "not a flight",
        None,
    ]
    records = spark.createDataFrame([(value,) for value in values], "value STRING").selectExpr("CAST(value AS BINARY) AS value")
    table = departures.transform(records).withColumn("name", departures.key()).orderBy("name").collect()
    assert [(row.name, row.departures, row.cancelled, row.delay_minutes, row.mean_delay_minutes) for row in table] == [
        ("EWR 2013-01-01T10:00:00Z", 3, 1, -3, -1.5),
        ("EWR 2013-01-01T11:00:00Z", 1, 1, 0, None),
    ]


def test_page_views(spark: Any) -> None:
    lines = [
        '127.0.0.1 - frank [10/Oct/2000:13:55:36 -0700] "GET /a.gif?x=1 HTTP/1.0" 200 2326',
        'host - - [10/Oct/2000:13:55:59 -0700] "GET /a.gif HTTP/1.0" 200 - "http://example.org" "Mozilla/5.0"',
        'host - - [10/Oct/2000:13:56:00 -0700] "POST /a.gif HTTP/1.0" 503 10',
        "nonsense",
    ]
    records = spark.createDataFrame([(line,) for line in lines], "value STRING").selectExpr(
        "value", "TIMESTAMP '2001-02-03 04:05:06' AS timestamp"
    )
    table = page_views.transform(records).withColumn("name", page_views.key()).orderBy("name").collect()
    assert [(row.name, row.views, row.bytes) for row in table] == [
        ("2000-10-10T20:55:00Z /a.gif 2xx", 2, 2326),
        ("2000-10-10T20:56:00Z /a.gif 5xx", 1, 10),
        ("2001-02-03T04:05:00Z (unparsed) ", 1, 0),
    ]


NASTY = (
    b"", b"nonsense", bytes(range(256)).replace(b"\n", b""), b"x" * 200_000,
    *(b'1.2.3.4 - - [31/Jan/2026:23:59:59 +0000] "GET ' + rest for rest in (
        b'/[red]markup[/]?a=b HTTP/1.1" 200 5', b'/caf\xe9 HTTP/1.1" 200 5', "/caf\u00e9 HTTP/1.1\" 404 7".encode(),
        b'/nul\x00\x1b[31m HTTP/1.1" 200 5',
        b'/n\xc2\xa0bsp\x85 HTTP/1.1" 200 99999999999999999999', b'/' + b"y" * 100_000 + b' HTTP/1.1" 200 5', b'/no-size HTTP/1.1" 304 -',
    )),
    *(b"1.2.3.4 - - [" + at + b'] "GET /' + at.split(b" ")[0] + b' HTTP/1.1" 200 5' for at in (
        b"31/jan/2026:00:00:00 +0000", b"31/Jan/2026:24:00:00 +0000", b"31/Jan/2026:23:59:60 +0000", b"29/Feb/2025:00:00:00 +0000",
        b"31/Jan/0000:00:00:00 +0000", b"31/Jan/2026:00:00:00 +1900", b"1/Jan/2026:00:00:00 +0000", b"31/Jan/2026:00:00:00 +01:00",
        b"31/J\xe4n/2026:00:00:00 +0000", b"29/Feb/2024:00:00:00 -1200",
    )),
)  # fmt: skip


def test_a_log_is_read_alike_by_spark_and_python(spark: Any, tmp_path: Path) -> None:
    file = tmp_path / "access.log"
    file.write_bytes(b"\r\n".join(NASTY))
    pages = access_log.AccessLog(file, "run")
    lines = [(line.encode(),) for line in pages._lines()]
    assert len(lines) == pages.rows == len(NASTY)
    records = spark.createDataFrame(lines, "value BINARY").selectExpr("value", f"TIMESTAMP_MILLIS({pages.now_ms}) AS timestamp")
    table = page_views.transform(records).withColumn("name", page_views.key()).collect()
    assert differences({row.name: (row.views, row.bytes) for row in table}, pages.expected) == []
    assert (pages.cut, pages.unparsed_rows) == (2, 15)


def test_ledger(spark: Any) -> None:
    transfers = [
        '{"id": "t1", "debit": "alice", "credit": "bob", "amount_cents": 500}',
        '{"id": "t2", "debit": "bob", "credit": "carol", "amount_cents": 200}',
        '{"id": "bad", "debit": "bob", "credit": "carol", "amount_cents": -200}',
        '{"id": "bad", "credit": "carol", "amount_cents": 200}',
    ]
    posted = ledger.postings(ledger.transform(spark.createDataFrame([(each,) for each in transfers], "value STRING")))
    assert [tuple(row) for row in ledger.balances(posted).collect()] == [("alice", -500, 1), ("bob", 300, 2), ("carol", 200, 1)]
    assert ledger.unsound(posted).count() == 0
    assert ledger.unsound(posted.limit(1)).count() == 1
    assert ledger.unsound(posted.union(posted)).count() == 2


def test_audit(spark: Any) -> None:
    records = spark.createDataFrame([('{"row": 0}',), ('{"row": 2}',), ('{"row": 2}',), ("{}",), (None,)], "value STRING")
    row = audit.transform(records, "row").first()
    assert (row.records, row.distinct, row.highest, row.unnumbered, row.from_zero) == (5, 2, 2, 2, 2)


def test_slots_follow_sparks_hash(spark: Any) -> None:
    numbers = [0, 1, 2, 41, 2**31 - 1]
    hashed = spark.createDataFrame([(number,) for number in numbers], "n INT").selectExpr("hash(n) AS h").collect()
    assert [row.h for row in hashed] == [spark_hash(number) for number in numbers]
    for tasks in (1, 3, 50):
        assert [spark_hash(number) % tasks for number in slots(tasks)] == list(range(tasks))


def test_shipped_zip_needs_nothing_but_python(tmp_path: Path) -> None:
    """An executor's bare interpreter can import the writing half from the zip."""
    shipped = write_zip(tmp_path / "jobs.zip")
    assert "oncelog/spark_jobs/sink/raw_producer.py" in zipfile.ZipFile(shipped).namelist()
    program = "import oncelog.spark_jobs.sink.raw_producer as m, sys; print(m.__file__); assert 'pyspark' not in sys.modules"
    done = subprocess.run(
        [sys.executable, "-S", "-E", "-c", f"import sys; sys.path.insert(0, {str(shipped)!r}); {program}"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert str(shipped) in done.stdout


@pytest.mark.parametrize(("numbers", "missing", "extra"), [([0, 1, 2], 0, 0), ([0, 2, 2], 1, 1), ([], 3, 0), ([0, 1, 2, 7], 0, 1)])
def test_count_rows(numbers: list[int], missing: int, extra: int) -> None:
    times = count_rows(numbers, 3)
    assert (times.missing, times.extra) == (missing, extra)


def test_differences_name_the_cell() -> None:
    assert differences({"a": 1, "b": 2}, {"a": 1, "b": 3, "c": 4}) == ["b: found 2, expected 3", "c: found nothing, expected 4"]
