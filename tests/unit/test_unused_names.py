"""Every name that a module of the product defines is used in the product: what only tests call belongs to them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("protocol", "storage", "coordinator", "broker", "spark_jobs")


@cache
def modules() -> dict[str, ast.Module]:
    found = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    return {".".join(("oncelog", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__"): parse(path) for path in found}


def parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"), str(path))


def defined(module: ast.Module) -> Iterator[tuple[ast.stmt, str]]:
    """Functions, classes and constants; not those that a decorator registers somewhere."""
    for statement in module.body:
        if isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if isinstance(statement, ast.ClassDef) or not statement.decorator_list:
                yield statement, statement.name
        elif isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            yield from ((statement, target.id) for target in targets if isinstance(target, ast.Name))


def used_inside(module: ast.Module, name: str, definition: ast.stmt) -> bool:
    nodes = (node for statement in module.body if statement is not definition for node in ast.walk(statement))
    return any(
        (isinstance(node, ast.Name) and node.id == name)
        or (isinstance(node, ast.Constant) and isinstance(node.value, str) and name in node.value.split())  # a quoted type
        for node in nodes
    )


@cache
def used_from_outside() -> frozenset[tuple[str, str]]:
    """(module, name): imported from it, reached through it, or told as `module:name`; tools that render a table use it."""
    tools = [parse(path) for path in (ROOT / "tools").glob("*.py")]
    return frozenset(use for module in [*modules().values(), *tools] for use in uses(module))


def uses(module: ast.Module) -> Iterator[tuple[str, str]]:
    aliases: dict[str, str] = {}
    for node in ast.walk(module):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                yield node.module, alias.name
                aliases[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        elif isinstance(node, ast.Import):
            aliases |= {alias.asname: alias.name for alias in node.names if alias.asname}
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.count(":") == 1:
            where, _, name = node.value.partition(":")
            yield where, name
    for node in ast.walk(module):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in aliases:
            yield aliases[node.value.id], node.attr


def unused(name: str) -> list[str]:
    module = modules()[name]
    return [
        each
        for definition, each in defined(module)
        if not each.startswith("__") and (name, each) not in used_from_outside() and not used_inside(module, each, definition)
    ]


@pytest.mark.parametrize("name", sorted(modules()))
def test_what_a_module_defines_is_used(name: str) -> None:
    assert unused(name) == []


def test_an_unused_name_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "USED = 1\nUNUSED = 2\ndef f():\n    return f(USED)\nclass C:\n    x: 'C'\n"
    monkeypatch.setitem(modules(), "oncelog.example", ast.parse(text))
    assert unused("oncelog.example") == ["UNUSED", "f", "C"]
