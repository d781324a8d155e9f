"""`demo --input FILE`: what kinds of files it takes, and what it tells."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from oncelog.spark_jobs.demo_parts.access_log import AccessLog, LogFileError, keep_table, report
from oncelog.spark_jobs.page_views import UNPARSED
from rich.console import Console

LINE = b'203.0.113.9 - - [31/Jan/2026:12:05:00 +0000] "GET /index.html?q=1 HTTP/1.1" 200 5120\n'
BAD = b'203.0.113.9 - - [31/Jan/2026:12:05:01 +0000] "\\x16\\x03[red]" 400 150\n'


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress], ids=["plain", "gz", "bz2", "xz"])
def test_plain_and_compressed_files_are_counted(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    file = tmp_path / "log"
    file.write_bytes(pack(2 * LINE + BAD + LINE.rstrip()))
    pages = AccessLog(file, "run")
    assert (pages.rows, pages.unparsed_rows) == (4, 1)
    assert pages.unparsed == [(3, BAD.decode().rstrip())]
    assert pages.expected["2026-01-31T12:05:00Z /index.html 2xx"] == (3, 3 * 5120)


def write(content: bytes) -> Callable[[Path], object]:
    return lambda file: file.write_bytes(content)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (write(b""), "is empty"),
        (write(gzip.compress(b"")), "is empty"),
        (write(b"\x7fELF\0\1\2\xff" * 1000), "none of the 1 lines"),
        (write(b"hello\nworld\n"), "but line 1 is\n  hello"),
        (write(gzip.compress(1000 * LINE)[:-20]), "compressed, and damaged"),
        (write(b"\x1f\x8bnonsense"), "compressed, and damaged"),
        (write(b"\xfd7zXZ\0nonsense"), "compressed, and damaged"),
        (write(b"BZhnonsense"), "damaged|cannot be read"),
        (write(b"\x28\xb5\x2f\xfd...."), "zstd -d"),
        (Path.mkdir, "is a directory: give one log file"),
        (lambda file: None, "cannot be read: No such file or directory"),
    ],
)
def test_what_cannot_be_counted_is_told(tmp_path: Path, make: Callable[[Path], object], said: str) -> None:
    file = tmp_path / "log"
    make(file)
    with pytest.raises(LogFileError, match=said):
        AccessLog(file, "run")


def test_a_line_without_end_takes_no_memory_and_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_bytes(LINE + b"x" * 5_000_000 + b"\n" + LINE)
    pages = AccessLog(file, "run")
    assert (pages.rows, pages.cut, pages.unparsed_rows) == (3, 1, 1)


def test_the_report_names_pages_classes_and_what_did_not_parse(tmp_path: Path) -> None:
    file = tmp_path / "log"
    file.write_bytes(3 * LINE + 5 * BAD)
    at = datetime(2026, 1, 31, 12, 5, tzinfo=UTC)
    rows = [
        {"minute": at, "page": "/index.html", "status": "2xx", "views": 3, "bytes": 15360},
        {"minute": at, "page": UNPARSED, "status": "", "views": 5, "bytes": 0},
    ]
    out = io.StringIO()
    report(rows, AccessLog(file, "run"), Console(file=out, width=100))
    said = out.getvalue()
    assert "/index.html" in said
    assert "100.0 %" in said
    assert "status: 2xx 3 (100.0 %)" in said
    assert "5 of 8 lines did not parse" in said
    assert f"line 4: {BAD.decode().rstrip()}" in said
    assert said.count("line ") == 3


def test_the_table_is_one_file_that_stays(tmp_path: Path) -> None:
    (tmp_path / "part-00000-x.parquet").write_bytes(b"PAR1")
    assert keep_table(tmp_path, tmp_path / "kept").read_bytes() == b"PAR1"
