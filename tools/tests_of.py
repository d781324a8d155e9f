"""The tests of one module: `python -m tools.tests_of storage/log/producer_checks.py` prints their files, one a line.

They are the file of its name, below `tests/unit/` in the folder of its own, and every test of the families `make check` runs that imports
the module itself, found in the syntax trees. A package is its `__init__.py`.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("protocol", "storage", "coordinator", "broker", "spark_jobs")
FAMILIES = ("tests/unit", "tests/wire")


class NoSuchModule(Exception):
    """What was named is no module of the product."""


def own_file(module: str) -> str:
    """Where the tests of `module` are looked for first."""
    path = Path(module.removesuffix("/__init__.py"))
    return str("tests/unit" / path.parent / f"test_{path.stem}.py")


def dotted_name(module: str) -> str:
    """`storage/log/segment.py` as it is imported: `oncelog.storage.log.segment`."""
    return "oncelog." + module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def imported(path: Path) -> Iterator[str]:
    """Everything that may be a module in the imports of `path`: `from a import b` names `a` and `a.b`."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"), str(path))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def files_that_test(module: str, root: Path) -> list[str]:
    """Test files of `module`, a path from `root` such as `storage/log/segment.py`; the file of its name first.

    Raises NoSuchModule where there is no such file in a package of the product.
    """
    if module.split("/")[0] not in PACKAGES or not module.endswith(".py") or not (root / module).is_file():
        raise NoSuchModule(f"there is no module {module}: name it from the root of the project, such as storage/log/producer_checks.py")
    own, name = own_file(module), dotted_name(module)
    files = sorted(path for family in FAMILIES for path in (root / family).rglob("test_*.py"))
    importing = [str(path.relative_to(root)) for path in files if name in imported(path)]
    return [own] * (root / own).is_file() + [path for path in importing if path != own]


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: python -m tools.tests_of storage/log/producer_checks.py", file=sys.stderr)
        return 2
    try:
        found = files_that_test(arguments[0], ROOT)
    except NoSuchModule as error:
        print(error, file=sys.stderr)
        return 2
    if not found:
        print(f"no unit or wire test imports {arguments[0]}: its tests would be {own_file(arguments[0])}", file=sys.stderr)
        return 1
    print("\n".join(found))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
