"""Message classes are made at run time, where a type checker is blind: every class and field the sources name must exist."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from oncelog.protocol import messages

ROOT = Path(__file__).parents[4]
USERS = sorted(
    path
    for folder in ("broker", "coordinator", "storage", "tests")
    for path in (ROOT / folder).rglob("*.py")
    if "messages." in path.read_text("utf-8") and path != Path(__file__)
)


def dotted(node: ast.expr) -> str | None:
    """`messages.A.B` as text, None for any other expression."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        owner = dotted(node.value)
        return None if owner is None else f"{owner}.{node.attr}"
    return None


def uses(path: Path) -> Iterator[tuple[int, str, list[str]]]:
    """(line, class name after `messages.`, keywords it is called with)."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Call):
            name = dotted(node.func)
            if name and name.startswith("messages.") and name.split(".")[1][0].isupper():
                yield node.lineno, name.removeprefix("messages."), [word.arg for word in node.keywords if word.arg]


@pytest.mark.parametrize("path", USERS, ids=lambda path: str(path.relative_to(ROOT)))
def test_named_messages_and_fields_exist(path: Path) -> None:
    for line, name, keywords in uses(path):
        if name in ("MalformedRequest", "NoSuchMessage"):
            continue
        found = messages
        for part in name.split("."):
            assert hasattr(found, part), f"{path.relative_to(ROOT)}:{line} messages.{name} does not exist"
            found = getattr(found, part)
        unknown = set(keywords) - set(found._defaults)
        if path.parent != Path(__file__).parent:
            assert not unknown, f"{path.relative_to(ROOT)}:{line} messages.{name} has no field {unknown}"
