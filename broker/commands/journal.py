"""`oncelog journal`: what `oncelog serve --journal FILE` wrote, told and checked."""

from __future__ import annotations

import sys
from pathlib import Path

from cyclopts import App
from oncelog.broker.ending import REFUSED, USAGE, problem, tell
from oncelog.broker.journal.check import check as contradictions
from oncelog.broker.journal.recorder import read
from oncelog.broker.journal.story import story

app = App(name="journal", help="What `serve --journal FILE` wrote: told, checked.")


@app.command
def show(file: Path) -> int:
    """Tell a journal, a line for each request.

    Parameters
    ----------
    file
        The journal; a line that was cut at its end is left out.
    """
    try:
        entries = read(file)
    except (OSError, ValueError) as error:
        return tell(problem(error), USAGE)
    for line in story(entries):
        sys.stdout.write(line + "\n")
    return 0


@app.command
def check(file: Path) -> int:
    """Look for acknowledgements that contradict each other; the exit status is 1 when there are some.

    Two outcomes of one transaction, a gap in the sequences of a producer, a batch written twice, a fenced producer that was served,
    an offset of an aborted transaction that was shown.

    Parameters
    ----------
    file
        The journal; a line that was cut at its end is left out.
    """
    try:
        entries = read(file)
    except (OSError, ValueError) as error:
        return tell(problem(error), USAGE)
    found = contradictions(entries)
    for line in found:
        sys.stdout.write(line + "\n")
    sys.stdout.write(f"{sum('api' in entry for entry in entries)} requests, {len(found)} contradictions\n")
    return REFUSED if found else 0
