"""Findings: one a mistake, counted, bounded; each rule says what to write instead."""

from __future__ import annotations

import pytest
from oncelog.broker.console import lint_rules
from oncelog.broker.console.lint_rules import RULES, SHARED_ID, TOO_LONG, Findings
from support.console_examples import EXAMPLES, misshapen

pytestmark = pytest.mark.unit


def test_eight_rules_as_described() -> None:
    from pathlib import Path

    page = (Path(lint_rules.__file__).parent / "API.md").read_text("utf-8")
    assert len(RULES) == 8
    assert [name for name in RULES if f"`{name}`" not in page] == []
    assert all(rule.title and rule.instead.endswith(".") for rule in RULES.values())


def test_the_same_again_is_counted() -> None:
    findings = Findings()
    findings.note(TOO_LONG, "t", "first", 5)
    findings.note(TOO_LONG, "t", "again", 9)
    findings.note(TOO_LONG, "t", "looked at again, nothing new", 9)
    findings.note(SHARED_ID, "t", "other", 7, ("c", "h"))
    rows = findings.rows()
    assert [(row["rule"], row["count"], row["first_ms"], row["last_ms"]) for row in rows] == [(TOO_LONG, 2, 5, 9), (SHARED_ID, 1, 7, 7)]
    assert misshapen(rows, EXAMPLES["GET /api/v1/lint"]) == []


def test_they_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lint_rules, "MOST_FINDINGS", 10)
    findings = Findings()
    for number in range(50):
        findings.note(TOO_LONG, f"{number}" + "x" * 5000, "y" * 5000, number, ("z" * 5000, "h"))
    rows = findings.rows()
    assert (len(rows), len(rows[0]["subject"]), len(rows[0]["evidence"]), len(rows[0]["client_id"])) == (10, 500, 1000, 500)
