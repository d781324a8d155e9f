"""Tests stand where their module stands: `storage/log/segment.py` has `tests/unit/storage/log/test_segment.py`.

A module counts when it decides something: it has a function, or a class with a method. One that only names values and shapes, as an
enumeration, fields without methods or an interface, is held by the tests of those who use it, and a package's face by those of its
parts. Spark's jobs may have their files below `tests/spark` instead, where a Spark and a broker are. A file that tests no single
module says why here. Who adds a module with rules of its own adds its tests, and who renames one renames them.
"""

from __future__ import annotations

import ast
from pathlib import Path

from tools.tests_of import own_file

ROOT = Path(__file__).parents[2]
UNIT = ROOT / "tests" / "unit"
LAYERS = ("protocol", "storage", "coordinator", "broker", "spark_jobs", "tools")

CROSS_CUTTING = {
    "broker/console/test_page.py": "the files of the page, no module",
    "broker/console/test_api_document.py": "the examples in API.md",
    "broker/commands/test_exit_status.py": "every command ends as the others do",
    "broker/fetching/test_quiet.py": "sessions, watchers of logs and the Fetch handler together, on virtual time",
    "broker/handlers/test_long_checks.py": "no request of any API holds the event loop",
    "broker/handlers/test_recorded_administration.py": "recorded conversations go through several APIs",
    "broker/handlers/test_recorded_topics.py": "recorded conversations go through several APIs",
    "broker/handlers/test_recorded_txn.py": "recorded conversations go through several APIs",
    "broker/handlers/test_straight_transactions.py": "the straight ways of all that transactions send, on whole brokers",
    "broker/handlers/test_share_groups_switched_off.py": "one setting, six APIs",
    "broker/handlers/test_topics_in_progress.py": "what other APIs say while a topic is made or deleted",
    "broker/settings/test_settings_are_read.py": "every setting is looked for in the whole source",
    "coordinator/share/test_damaged.py": "every record of the share coordinator's log damaged",
    "coordinator/share/test_killed.py": "the whole share coordinator dies before every change of its disk",
    "coordinator/txn/test_stateful.py": "random lives of transactional ids, through all of the coordinator",
    "protocol/messages/test_golden.py": "recorded frames are decoded and encoded again",
    "protocol/messages/test_use.py": "messages and fields that the source names exist",
    "storage/files/test_format.py": "the examples in FORMAT.md, file kind by file kind",
    "storage/log/test_golden.py": "directories that Apache Kafka wrote are served and opened",
    "storage/recovery/test_damage_rows.py": "a table of damages, over all file kinds",
    "storage/recovery/test_damage_sweep.py": "every file damaged in every place and way",
    "storage/recovery/test_internal_damage_sweep.py": "the same of the logs of both coordinators",
    "storage/recovery/test_one_line.py": "damages of every file beside the logs, and what is said of them",
}


def modules() -> list[str]:
    """Those that decide something, as paths from the root."""
    found = []
    for path in sorted(path for layer in LAYERS for path in (ROOT / layer).rglob("*.py")):
        body = ast.parse(path.read_text("utf-8")).body
        inside = [node for one in body for node in (one.body if isinstance(one, ast.ClassDef) and not is_interface(one) else [one])]
        if path.name != "__init__.py" and any(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) for node in inside):
            found.append(str(path.relative_to(ROOT)))
    return found


def is_interface(node: ast.ClassDef) -> bool:
    return any(isinstance(base, ast.Name) and base.id == "Protocol" for base in node.bases)


def has_module(test: Path) -> bool:
    """`test`: a file below tests/unit."""
    stem = test.parent / test.name.removeprefix("test_").removesuffix(".py")
    return any((root / name).is_file() for root in (ROOT, ROOT / "tests") for name in (f"{stem}.py", f"{stem}/__init__.py"))


def test_every_test_file_has_its_module_or_a_reason() -> None:
    files = [path.relative_to(UNIT) for path in sorted(UNIT.rglob("test_*.py")) if path.parent != UNIT]
    assert [str(file) for file in files if not has_module(file) and str(file) not in CROSS_CUTTING] == []


def test_every_reason_is_needed() -> None:
    assert [file for file in CROSS_CUTTING if not (UNIT / file).is_file() or has_module(Path(file))] == []


def has_tests(module: str) -> bool:
    own = own_file(module)
    return any((ROOT / file).is_file() for file in (own, own.replace("tests/unit/spark_jobs/", "tests/spark/")))


def test_every_module_has_tests_of_its_name() -> None:
    assert [module for module in modules() if not has_tests(module)] == []
