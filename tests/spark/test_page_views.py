"""Views per page, status and minute; Spark and Python read the same in every line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from oncelog.spark_jobs import page_views
from oncelog.spark_jobs.demo_parts import access_log
from oncelog.spark_jobs.demo_parts.readback import differences


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
