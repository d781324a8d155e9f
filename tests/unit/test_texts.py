"""What papers, docstrings and comments name is there: files by their paths, modules by their dotted names."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("protocol", "storage", "coordinator", "broker", "spark_jobs")
FOLDERS = (*PACKAGES, "tools", "tests")
PAPERS = ("Makefile", "Dockerfile", "docker-compose.yml", "pyproject.toml", ".ci/lock", ".ci/run")
# what stands for any name
EXAMPLES = re.compile(r"(.*/)?(api_NN_name|test_x)\.py")

_FILE = re.compile(r"(?<![\w./{}-])((?:[\w-]+/)*[\w-]+\.(?:py|pyi|md))\b")
_MODULE = re.compile(rf"(?<![\w.])oncelog((?:\.(?:{'|'.join(PACKAGES)}))(?:\.[a-z]\w*)*)")


@cache
def modules() -> tuple[Path, ...]:
    return tuple(sorted(path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")))


@cache
def names() -> frozenset[str]:
    """The names of all files of ours, without their folders."""
    return frozenset(path.name for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in (".py", ".pyi", ".md"))


def papers() -> list[Path]:
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.md") if "node_modules" not in path.parts]
    return sorted([*ROOT.glob("*.md"), *found, *(ROOT / name for name in PAPERS)])


def said(path: Path) -> Iterator[str]:
    """Docstrings and comments of a module, or a whole paper."""
    text = path.read_text("utf-8")
    if path.suffix != ".py":
        yield text
        return
    for node in ast.walk(ast.parse(text, str(path))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


def is_a_file(name: str, place: Path) -> bool:
    """A path is one from the root, from `tests/`, or from the folder where it is named; a bare name may be any file's."""
    if EXAMPLES.fullmatch(name) or any((base / name).is_file() for base in (ROOT, ROOT / "tests", *place.parents[:3])):
        return True
    return "/" not in name and name in names()


def is_a_module(dotted: str) -> bool:
    """A module, a package, or a name in one that there is."""
    path = ROOT.joinpath(*dotted.split(".")[1:])
    inside = (path.parent.with_suffix(".py"), path.parent / "__init__.py")
    return (
        path.is_dir()
        or path.with_suffix(".py").is_file()
        or any(each.is_file() and path.name in each.read_text("utf-8") for each in inside)
    )


@pytest.mark.parametrize("path", [*papers(), *modules()], ids=lambda path: str(path.relative_to(ROOT)))
def test_what_is_named_is_there(path: Path) -> None:
    texts = list(said(path))
    assert sorted({name for text in texts for name in _FILE.findall(text) if not is_a_file(name, path)}) == []
    assert sorted({name for text in texts for name in _MODULE.findall(text) if not is_a_module(name)}) == []


@pytest.mark.parametrize("name", ["storage/nowhere.py", "nowhere.py", "unit/nowhere.py", "log.md", "protocol/log.py"])
def test_a_file_that_is_not_there_is_noticed(name: str) -> None:
    assert _FILE.findall(f"see `{name}`, which") == [name]
    assert not is_a_file(name, ROOT / "storage" / "log" / "log.py")


def test_a_module_that_is_not_there_is_noticed() -> None:
    assert _MODULE.findall("python -m oncelog.storage.nowhere.") == [".storage.nowhere"]
    assert not is_a_module(".storage.nowhere")
    assert is_a_module(".storage.log.log")
