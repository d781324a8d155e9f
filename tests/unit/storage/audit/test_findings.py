"""Findings are collected in one list, each with the partition it is about; every kind of damage is told by somebody."""

from __future__ import annotations

import re
from pathlib import Path

from oncelog.storage.audit import findings as module
from oncelog.storage.audit.findings import Finding, Findings, Kind, Severity


def test_a_partitions_findings_stand_in_the_list_of_the_directory() -> None:
    whole = Findings()
    about = whole.of("t-0")
    whole.note(Kind.UNCLEAN_STOP, "no marker")
    about.error(Kind.BATCH_CRC, "wrong CRC", offset=7, file="0.log")
    assert whole.items == [
        Finding(Kind.UNCLEAN_STOP, Severity.NOTE, "", None, "", "no marker"),
        Finding(Kind.BATCH_CRC, Severity.ERROR, "t-0", 7, "0.log", "wrong CRC"),
    ]
    assert about.items is whole.items


def test_a_severity_that_is_decided_elsewhere() -> None:
    findings = Findings().of("t-1")
    for severity in Severity:
        findings.add(severity, Kind.LEFTOVER, "why", offset=0, file="x.swap")
    assert findings.items == [Finding(Kind.LEFTOVER, severity, "t-1", 0, "x.swap", "why") for severity in Severity]


def test_every_kind_is_told_by_some_part_of_the_audit() -> None:
    folder = Path(module.__file__).parent
    told = {name for path in folder.glob("*.py") if path.name not in ("findings.py", "consequences.py") for name in used(path)}
    assert {kind.name for kind in Kind} - told == set()


def used(path: Path) -> list[str]:
    return re.findall(r"Kind\.([A-Z_]+)", path.read_text("utf-8"))
