"""CASES.md names a test for every numbered case, or says why there is none; what it names exists."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

pytestmark = pytest.mark.unit
TESTS = Path(__file__).parents[1]
NUMBERS = {
    "Storage": [str(n) for n in range(1, 75)],
    "Damaged directories": [f"R{n}" for n in range(1, 38)] + [f"D{n}" for n in range(1, 25)],
    "Transactions": [str(n) for n in range(1, 97)],
    "Clients": [str(n) for n in range(1, 45)],
}
SHARE_AND_STREAMS = ("SG", "SF", "SC", "SO", "SP", "SD", "SA", "ST")
# of the later sections, each numbered from 1
FAMILIES = {"Edges": tuple("FDLMOACUJ"), "Test kit": tuple("TKGP"), "Share and streams groups": SHARE_AND_STREAMS}
GOLDEN = {
    "wire/test_golden_txn.py": ("txn", "case-{:0>3}.json"),
    "wire/test_golden_clients.py": ("clients/cases", "{}.json"),
    "wire/test_golden_share.py": ("share", "{}.json"),
    "wire/test_golden_streams.py": ("streams", "{}.json"),
}
ROWS = "unit/storage/recovery/test_damage_rows.py"


class Case(NamedTuple):
    number: str
    words: str
    answer: str

    @property
    def tests(self) -> list[str]:
        return re.findall(r"`([^`]+::[^`]+)`", self.answer)


def tables() -> dict[str, list[Case]]:
    found: dict[str, list[Case]] = {}
    for section in (TESTS / "CASES.md").read_text().split("\n## ")[1:]:
        title, _, text = section.partition("\n")
        rows = [line.strip("| ").split(" | ", 2) for line in text.splitlines() if re.match(r"\| [A-Z]{0,2}\d+ \|", line)]
        found[title] = [Case(*row) if len(row) == 3 else Case(row[0], row[-1], "") for row in rows]
    return found


@cache
def functions(path: Path) -> set[str]:
    """The tests of one file."""
    return {node.name for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


@cache
def elsewhere(path: Path) -> set[str]:
    """The recorded cases that a replaying test leaves out."""
    for node in ast.parse(path.read_text()).body:
        target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0] if isinstance(node, ast.Assign) else None
        if isinstance(target, ast.Name) and target.id == "ELSEWHERE":
            assert isinstance(node, ast.Assign | ast.AnnAssign)
            assert isinstance(node.value, ast.Dict)
            return {str(key.value) for key in node.value.keys if isinstance(key, ast.Constant)}
    raise AssertionError(f"no ELSEWHERE in {path}")


def complaint(test: str) -> str | None:
    """What is wrong with a test's name."""
    file, _, name = test.partition("::")
    function, _, parameter = name.removesuffix("]").partition("[")
    path = TESTS / file
    if not path.exists() or function not in functions(path):
        return f"{test} does not exist"
    if parameter and file in GOLDEN:
        folder, pattern = GOLDEN[file]
        if not (TESTS / "golden" / folder / pattern.format(parameter)).exists():
            return f"{test} was never recorded"
        if parameter in elsewhere(path):
            return f"{test} is left out there"
    if parameter and file == ROWS and not any(re.fullmatch(row, parameter.removesuffix("-clean")) for row in damage_rows()):
        return f"{test} is no row there"
    return None


@cache
def damage_rows() -> tuple[str, ...]:
    """Patterns of the names that rows of damage are registered under."""

    def pattern(node: ast.expr) -> Iterator[str]:
        if isinstance(node, ast.Constant):
            yield re.escape(str(node.value))
        elif isinstance(node, ast.JoinedStr):
            yield "".join(re.escape(str(part.value)) if isinstance(part, ast.Constant) else ".+" for part in node.values)

    calls = [node for node in ast.walk(ast.parse((TESTS / ROWS).read_text())) if isinstance(node, ast.Call)]
    named = [call for call in calls if isinstance(call.func, ast.Name) and call.func.id in ("row", "harmless")]
    return tuple(text for call in named for text in pattern(call.args[0]))


@pytest.mark.parametrize("title", NUMBERS)
def test_no_number_is_missing(title: str) -> None:
    assert [case.number for case in tables()[title]] == NUMBERS[title]


@pytest.mark.parametrize(("title", "family"), [(title, family) for title, families in FAMILIES.items() for family in families])
def test_no_number_of_a_family_is_missing(title: str, family: str) -> None:
    numbers = [case.number for case in tables()[title] if case.number.startswith(family)]
    assert numbers == [f"{family}{n}" for n in range(1, len(numbers) + 1)]


@pytest.mark.parametrize("title", [*NUMBERS, *FAMILIES])
def test_every_case_has_a_test_or_a_reason(title: str) -> None:
    for case in tables()[title]:
        assert 0 < len(case.words.split()) <= 12, case
        reason = re.sub(r"`[^`]+::[^`]+`|<br>", " ", case.answer).strip(" |")
        assert case.tests or len(reason.split()) >= 4, case


def test_every_named_test_exists() -> None:
    named = [test for cases in tables().values() for case in cases for test in case.tests]
    assert len(named) > 250
    assert [problem for test in named if (problem := complaint(test))] == []


@pytest.mark.parametrize(
    "test",
    [
        "unit/nowhere.py::test_x",
        "unit/test_cases.py::test_that_is_not_there",
        "wire/test_golden_txn.py::test_case[13]",
        "wire/test_golden_txn.py::test_case[97]",
        "wire/test_golden_clients.py::test_case[Z99]",
        "unit/storage/recovery/test_damage_rows.py::test_row[moonshine]",
    ],
)
def test_a_wrong_name_is_noticed(test: str) -> None:
    assert complaint(test) is not None
