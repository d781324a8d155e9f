"""`oncelog verify DIR`: the offline auditor."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Literal

from oncelog.broker.commands.progress import progress
from oncelog.broker.ending import USAGE, problem, tell
from oncelog.storage.audit.findings import Finding, Severity
from oncelog.storage.audit.verify import Report
from oncelog.storage.audit.verify import verify as audit
from rich.console import Console
from rich.markup import escape


def verify(directory: Path, *, format: Literal["table", "json"] = "table", records: bool = True, notes: bool = True) -> int:
    """Audit a data directory, ours or Apache Kafka's, without changing it. Run it while the broker is stopped.

    The exit status is 0 when nothing is wrong, 1 when something is, 2 when the directory cannot be read.

    Parameters
    ----------
    directory:
        The data directory (log.dirs).
    format:
        "table" for people, "json" for one object.
    records:
        Look inside every batch, not only at its header and CRC.
    notes:
        Also show what is legitimate and worth knowing: open transactions, leftovers of a kill.
    """
    try:
        with progress("auditing") as at:
            report = audit(directory, records=records, progress=at)
    except OSError as error:
        return tell(problem(error), USAGE)
    shown = report.findings if notes else report.errors
    if format == "json":
        sys.stdout.write(json.dumps(_as_json(report, shown), indent=1) + "\n")
    else:
        _print(report, shown)
    return 0 if report.sound else 1


def _as_json(report: Report, shown: tuple[Finding, ...]) -> dict[str, object]:
    return {
        "sound": report.sound,
        "clean_stop": report.clean,
        "errors": len(report.errors),
        "notes": len(report.notes),
        "findings": [finding._asdict() for finding in shown],
        "partitions": [summary._asdict() for summary in report.partitions],
    }


def _print(report: Report, shown: tuple[Finding, ...]) -> None:
    console = Console(highlight=False, soft_wrap=True)
    ordered = sorted(shown, key=lambda item: (item.severity is Severity.NOTE, item.partition, item.offset or 0))
    where = {id(finding): _where(finding) for finding in ordered}
    widths = max((len(finding.kind) for finding in ordered), default=0), max((len(text) for text in where.values()), default=0)
    for finding in ordered:
        style = "red" if finding.severity is Severity.ERROR else "dim"
        line = f"{finding.severity:5}  {finding.kind:{widths[0]}}  {where[id(finding)]:{widths[1]}}  {finding.message}"
        console.print(f"[{style}]{escape(line)}[/]")
    batches = sum(summary.batches for summary in report.partitions)
    counts = f"{len(report.partitions)} partitions, {batches} batches, {len(report.errors)} errors, {len(report.notes)} notes"
    console.print(f"[{'green' if report.sound else 'red'}]{counts}[/]")


def _where(finding: Finding) -> str:
    """`topic-0/00….log @ 42`, as far as known."""
    place = "/".join(part for part in (finding.partition, finding.file) if part)
    return place if finding.offset is None else f"{place} @ {finding.offset}"
