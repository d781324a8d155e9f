"""A year of flights through a broker and Spark; everything on the way is killed once, and every flight is counted once.

    make demo                                                  # or: python -m oncelog.spark_jobs.demo
    python -m oncelog.spark_jobs.demo --input FILE             # views per page of your own access log instead, nothing killed
    python -m oncelog.spark_jobs.demo --bootstrap HOST:PORT    # on a Kafka that runs already (which is then not killed)

It starts a broker; loads 336,776 flights in transactions, of which 5 % are aborted on purpose; relays them with the exactly-once sink and,
for comparison, with Spark's own; counts departures per airport and hour; reads topics and Parquet back with other software and compares
every cell with a count taken straight from the data. Loader, broker and Spark driver get a kill -9 on the way. Exit status 0: everything
counted once.
"""

from __future__ import annotations

import argparse
import re
import shutil
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from oncelog.spark_jobs.children import Broker, Child, ChildError
from oncelog.spark_jobs.demo_chaos import ONCE, STOCK, Chaos, Relayed
from oncelog.spark_jobs.demo_pipelines import AccessLog, Pipeline, Verdict
from oncelog.spark_jobs.demo_timeline import Timeline, draw
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table


class Stage:
    """Progress bars, and the time each step took."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.seconds: dict[str, float] = {}

    @contextmanager
    def step(self, title: str, total: int) -> Iterator[Callable[[int], None]]:
        """A bar; the body calls what it gets with the amount done so far."""
        columns = (TextColumn("{task.description:<44}"), BarColumn(30), MofNCompleteColumn(), TimeElapsedColumn())
        begun = time.monotonic()
        with Progress(*columns, console=self.console) as bars:
            task: TaskID = bars.add_task(title, total=total)
            yield lambda done: bars.update(task, completed=done)
            bars.update(task, completed=total)
        self.seconds[title] = time.monotonic() - begun


def run_pipeline(pipeline: Pipeline, bootstrap: str, folder: Path, stage: Stage) -> list[Verdict]:
    """Load, run the Spark job, read back. Raises ChildError when the job fails."""
    with stage.step(f"load {pipeline.rows:,} {pipeline.what}", pipeline.rows) as done:
        pipeline.load(bootstrap, done)
    with stage.step(f"Spark: {pipeline.title}", pipeline.rows * len(pipeline.outputs(folder))) as done:
        run_job(pipeline, bootstrap, folder, done)
    with stage.step("read back and compare", len(pipeline.expected)) as done:
        return pipeline.verdicts(bootstrap, folder)


def run_job(pipeline: Pipeline, bootstrap: str, folder: Path, done: Callable[[int], None]) -> None:
    """The job as a user would start it, in a process of its own; its progress lines move the bar."""
    rows = 0

    def line(text: str) -> None:
        nonlocal rows
        found = re.match(r"progress query=\S+ batch=\d+ rows=(\d+)", text)
        if found:
            rows += int(found[1])
            done(rows)

    outputs = [argument for output in pipeline.outputs(folder) for argument in ("--output", output)]
    options = ["--bootstrap-servers", bootstrap, "--input", pipeline.topic, "--checkpoint", str(folder / "checkpoint")]
    options += ["--max-offsets-per-trigger", "100000"]
    Child(pipeline.job, *options, *outputs, log=folder / "spark.log", on_line=line).start().finish(600)


def show(verdicts: list[Verdict], stage: Stage) -> bool:
    """The table at the end; True when everything is equal."""
    table = Table("what", "cells", "rows counted", "equal to the direct count")
    for verdict in verdicts:
        table.add_row(verdict.what, f"{verdict.cells:,}", f"{verdict.rows:,}", "[green]yes[/]" if verdict.equal else "[red]NO[/]")
    stage.console.print(table)
    for verdict in verdicts:
        for difference in verdict.differences:
            stage.console.print(f"  {verdict.what}: {difference}", highlight=False)
    return all(verdict.equal for verdict in verdicts)


def run_flights(bootstrap: str, broker: Broker | None, folder: Path, run: str, plot: Path, stage: Stage) -> bool:
    """The flights, with kills. Raises ChildError when a stage does not come to its end."""
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


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; see the text at the top of this file."""
    parser = argparse.ArgumentParser(prog="demo", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input", type=Path, metavar="FILE", help="an access log in common or combined format")
    parser.add_argument("--bootstrap", metavar="HOST:PORT", help="use this Kafka instead of starting a broker")
    parser.add_argument(
        "--keep", type=Path, metavar="DIRECTORY", help="work here and leave everything for a look (default: a temporary folder)"
    )
    parser.add_argument(
        "--plot", type=Path, default=Path("oncelog-demo.png"), metavar="FILE", help="where the picture goes (default %(default)s)"
    )
    options = parser.parse_args(argv)
    stage = Stage(Console())
    folder = options.keep or Path(tempfile.mkdtemp(prefix="oncelog-demo-"))
    folder.mkdir(parents=True, exist_ok=True)
    broker = None if options.bootstrap else Broker(folder)
    begun = time.monotonic()
    try:
        run = uuid.uuid4().hex[:6]
        if broker:
            broker.start()
        bootstrap: str = broker.bootstrap if broker else options.bootstrap
        stage.console.print(f"{'Kafka' if options.bootstrap else 'oncelog'} on {bootstrap}, files in {folder}", highlight=False)
        if options.input:
            good = show(run_pipeline(AccessLog(options.input, run), bootstrap, folder, stage), stage)
        else:
            good = run_flights(bootstrap, broker, folder, run, options.plot, stage)
        stage.console.print(
            f"{'[green]Everything counted once[/]' if good else '[red]NOT everything counted once[/]'}, {time.monotonic() - begun:.0f} s"
        )
        return 0 if good else 1
    except (ChildError, ModuleNotFoundError) as failed:
        stage.console.print(f"[red]{failed}[/]", highlight=False)
        return 2
    finally:
        if broker:
            broker.stop()
        if not options.keep:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
