"""`demo --input FILE`: a web server's own access log, counted by Spark and straight from the file, and what came out of it."""

from __future__ import annotations

import bz2
import gzip
import lzma
import re
import shutil
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, cast

from oncelog.spark_jobs import flights, load
from oncelog.spark_jobs.demo_parts.pipelines import Table
from oncelog.spark_jobs.page_views import LINE, UNPARSED
from rich import box
from rich.console import Console
from rich.table import Table as Printed

LINE_BYTES = 64 * 1024
"""Longer lines are cut: one record must fit `max.message.bytes`, and no line that parses is that long."""
EXAMPLES, TOP, EXAMPLE_WIDTH = 3, 10, 100
OPENERS: dict[bytes, Callable[[Any], Any]] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\0": lzma.open}
ZSTD = b"\x28\xb5\x2f\xfd"


class LogFileError(RuntimeError):
    """The file holds nothing to count; the message says why."""


class AccessLog(Table):
    """Views per minute, page and status class. Raises LogFileError for a file that is not there, not readable, or no access log."""

    what = "log lines"
    title = "views per page, status and minute"
    job = "oncelog.spark_jobs.page_views"
    columns = ("views", "bytes")
    counted = "views"

    def __init__(self, file: Path, run: str) -> None:
        self.file = file
        self.topic, self.table_topic = f"access-log-{run}", f"page-views-{run}"
        self.now_ms = int(datetime.now(UTC).timestamp() * 1000)
        """Record time of every line: lines without a readable time of their own are counted in this minute."""
        self.unparsed: list[tuple[int, str]] = []
        """line number and text of the first lines that do not parse"""
        self.rows, self.unparsed_rows, self.cut = 0, 0, 0
        views: Counter[str] = Counter()
        sizes: Counter[str] = Counter()
        for line in self._lines():
            self.rows += 1
            name, size = self._cell(line)
            views[name] += 1
            sizes[name] += size
        self.expected = {name: (views[name], sizes[name]) for name in views}
        if not self.rows:
            raise LogFileError(f"{file} is empty")
        if self.unparsed_rows == self.rows:
            raise LogFileError(
                f"none of the {self.rows:,} lines of {file} is one of an access log in common or combined format, as in\n"
                '  203.0.113.9 - - [31/Jan/2026:12:05:00 +0000] "GET /index.html HTTP/1.1" 200 5120\n'
                f"but line {self.unparsed[0][0]} is\n  {self.unparsed[0][1]}"
            )

    def _lines(self) -> Iterator[str]:
        """Every line; bytes that are no UTF-8 as escapes, so that Spark and Python read the same. Raises LogFileError."""
        self.cut = 0
        try:
            if self.file.exists() and not self.file.is_file():
                raise LogFileError(f"{self.file} is {'a directory' if self.file.is_dir() else 'no plain file'}: give one log file")
            with self._open() as lines:
                while line := lines.readline(LINE_BYTES + 1):
                    if len(line) > LINE_BYTES and not line.endswith(b"\n"):
                        line = line[:LINE_BYTES]
                        self.cut += 1
                        while (rest := lines.readline(LINE_BYTES)) and not rest.endswith(b"\n"):
                            pass
                    yield line.rstrip(b"\r\n").decode(errors="backslashreplace")
        except (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError) as damaged:
            raise LogFileError(f"{self.file} is compressed, and damaged: {damaged}") from damaged
        except OSError as error:
            raise LogFileError(f"{self.file} cannot be read: {error.strerror or error}") from error

    def _open(self) -> IO[bytes]:
        with self.file.open("rb") as file:
            head = file.read(6)
        if head.startswith(ZSTD):
            raise LogFileError(f"{self.file} is compressed with zstd: unpack it first (zstd -d)")
        opener = next((each for magic, each in OPENERS.items() if head.startswith(magic)), None)
        return cast(IO[bytes], opener(self.file)) if opener else self.file.open("rb")

    def _cell(self, line: str) -> tuple[str, int]:
        """Key of the row that counts this line, and the bytes it adds."""
        found = re.match(LINE, line, re.ASCII)
        size = int(found[4]) if found and found[4] != "-" else 0
        try:
            if not found:
                raise ValueError(line)
            minute = datetime.strptime(found[1], "%d/%b/%Y:%H:%M:%S %z")
        except ValueError:
            self.unparsed_rows += 1
            if len(self.unparsed) < EXAMPLES:
                self.unparsed.append((self.rows, shortened(line)))
            return f"{datetime.fromtimestamp(self.now_ms / 1000, UTC):%Y-%m-%dT%H:%M:00Z} {UNPARSED} ", size
        return f"{minute.astimezone(UTC):%Y-%m-%dT%H:%M:00Z} {found[2].partition('?')[0]} {found[3][0]}xx", size

    def load(self, bootstrap: str, done: Callable[[int], None]) -> None:
        """Every line as one record without a key."""
        load.create_topic(bootstrap, self.topic, 3, load.TOPIC_SETTINGS)
        load.create_topic(bootstrap, self.table_topic, 1, {})
        loader = load.Loader(bootstrap, self.topic)
        for number, line in enumerate(self._lines(), 1):
            loader.send([flights.Event(None, line.encode(), self.now_ms)])
            if number % load.REPORT_EVERY == 0:
                done(loader.acknowledged)
        loader.flush()

    def name(self, row: dict[str, Any]) -> str:
        return f"{row['minute']:%Y-%m-%dT%H:%M:%SZ} {row['page']} {row['status']}"


def shortened(line: str) -> str:
    """One line for a screen: no control characters, not too long."""
    text = "".join(character if character.isprintable() else character.encode("unicode_escape").decode() for character in line[:400])
    return text if len(text) <= EXAMPLE_WIDTH else f"{text[:EXAMPLE_WIDTH]}…"


def report(rows: Sequence[dict[str, Any]], pages: AccessLog, console: Console) -> None:
    """Print what the table that Spark made says: top pages, status classes, lines that did not parse."""
    parsed = [row for row in rows if row["page"] != UNPARSED]
    views, sizes, classes = Counter[str](), Counter[str](), Counter[str]()
    for row in parsed:
        views[row["page"]] += row["views"]
        sizes[row["page"]] += row["bytes"]
        classes[row["status"]] += row["views"]
    everything = views.total()
    table = Printed("page", "views", "share", "bytes", title=f"top pages of {len(views):,}", box=box.SIMPLE_HEAD, title_justify="left")
    for column in table.columns[1:]:
        column.justify = "right"
    for page, count in views.most_common(TOP):
        table.add_row(shortened(page), f"{count:,}", f"{100 * count / everything:.1f} %", f"{sizes[page]:,}")
    console.print(table, markup=False)
    first, last = min(row["minute"] for row in parsed), max(row["minute"] for row in parsed)
    console.print(f"{everything:,} views from {first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M} UTC", highlight=False, soft_wrap=True)
    counts = (f"{status} {count:,} ({100 * count / everything:.1f} %)" for status, count in sorted(classes.items()))
    console.print(f"status: {', '.join(counts)}", highlight=False, soft_wrap=True)
    if pages.cut:
        console.print(f"{pages.cut:,} line(s) longer than {LINE_BYTES // 1024} KiB, cut there", highlight=False)
    unparsed = sum(row["views"] for row in rows if row["page"] == UNPARSED)
    if not unparsed:
        console.print("every line parsed")
        return
    console.print(f"{unparsed:,} of {pages.rows:,} lines did not parse (in the table as {UNPARSED}):", highlight=False, soft_wrap=True)
    for number, text in pages.unparsed:
        console.print(f"  line {number}: {text}", highlight=False, markup=False, soft_wrap=True)
    if unparsed > len(pages.unparsed):
        console.print("  …")


def keep_table(folder: Path, target: Path) -> Path:
    """The Parquet file that Spark left in `folder`, where the user can find it. Raises OSError."""
    (part,) = folder.glob("part-*.parquet")
    return Path(shutil.copyfile(part, target))


def draw(rows: Sequence[dict[str, Any]], pages: AccessLog, file: Path) -> Path:
    """A PNG: views over time by status class, and the top pages. Raises OSError."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    parsed = [row for row in rows if row["page"] != UNPARSED]
    first, last = min(row["minute"] for row in parsed), max(row["minute"] for row in parsed)
    step = bin_format((last - first).total_seconds())
    over_time: dict[str, Counter[datetime]] = {}
    views: Counter[str] = Counter()
    for row in parsed:
        over_time.setdefault(row["status"], Counter())[step(row["minute"])] += row["views"]
        views[row["page"]] += row["views"]
    times = sorted({at for counts in over_time.values() for at in counts})
    figure, (above, below) = pyplot.subplots(2, 1, figsize=(11, 8), layout="constrained")
    for status, counts in sorted(over_time.items()):
        above.plot(times, [counts[at] for at in times], marker=".", label=status)
    above.set(title=f"Views in {pages.file.name}", ylabel="views", ylim=(0, None))
    above.legend()
    top = views.most_common(TOP)[::-1]
    below.barh([shortened(page)[:60].replace("$", r"\$") for page, _ in top], [count for _, count in top])
    below.set(title="Top pages", xlabel="views")
    figure.savefig(file, dpi=110)
    pyplot.close(figure)
    return file


def bin_format(seconds: float) -> Callable[[datetime], datetime]:
    """What rounds a time down to minutes, hours or days, so that a log that spans `seconds` makes a readable line."""
    if seconds < 6 * 3600:
        return lambda at: at
    if seconds < 14 * 86400:
        return lambda at: at.replace(minute=0)
    return lambda at: at.replace(hour=0, minute=0)
