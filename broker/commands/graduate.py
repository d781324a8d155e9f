"""`oncelog graduate DIR --to TARGET_DIR`: into a real Apache Kafka."""

from __future__ import annotations

from pathlib import Path

from oncelog.broker.commands.progress import progress
from oncelog.broker.ending import USAGE, problem, tell
from oncelog.storage.moving.graduate import Copied, GraduationRefused, check_target, copy, locked, plan
from oncelog.storage.moving.steps import steps
from rich.console import Console
from rich.markup import escape


def graduate(directory: Path, *, to: Path | None = None, bootstrap: str = "localhost:9092", force: bool = False) -> int:
    """Copy a stopped data directory into a stopped Apache Kafka, or without --to print every step of that move.

    The exit status is 0 when done, 1 when the target is not ready or a broker is running, 2 when a directory cannot be read.

    Parameters
    ----------
    directory:
        The data directory to move; it is only read.
    to:
        The data directory (log.dirs) of the Kafka that takes over.
    bootstrap:
        Address of that Kafka, for the commands that are printed.
    force:
        Replace records that the target holds already.
    """
    console = Console(highlight=False, soft_wrap=True)
    try:
        with locked(*([directory] if to is None else [directory, to])):
            with progress("reading"):
                moving = plan(directory)
            if to is None:
                console.print("\n".join(escape(line) for line in steps(moving, None, bootstrap)))
                return 0
            problems = check_target(moving, to, force=force)
            if problems:
                raise GraduationRefused(problems)
            copied = copy(moving, to, progress=lambda done: console.print(_line(done)))
    except GraduationRefused as error:
        for refusal in error.problems:
            console.print(f"[red]{escape(refusal)}[/red]")
        console.print("Nothing was copied. `oncelog graduate DIR` without --to prints the steps.")
        return 1
    except BrokenPipeError:
        raise
    except OSError as error:
        return tell(problem(error), USAGE)
    console.print(f"[green]{len(copied)} partitions, {sum(one.batches for one in copied)} batches copied[/green]. What is left to do:")
    rest = steps(moving, to, bootstrap)
    console.print("\n".join(escape(line) for line in rest[next(at for at, line in enumerate(rest) if line.startswith("6.")) :]))
    return 0


def _line(done: Copied) -> str:
    files = f" in {done.files} files" if done.files > 1 else ""
    return f"  {escape(done.partition)}: {done.batches} batches, {done.size_bytes} bytes{files}"
