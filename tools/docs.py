"""The generated files: `python -m tools.docs` writes them, `--check` names those that are stale and fails."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from tools import message_stubs, states, support_table

ROOT = Path(__file__).resolve().parent.parent
GENERATED: dict[str, Callable[[], str]] = {
    "broker/APIS.md": support_table.apis,
    "broker/SETTINGS.md": support_table.settings,
    "coordinator/STATES.md": states.render,
    "protocol/messages/__init__.pyi": message_stubs.render,
}


def main(arguments: Sequence[str], root: Path = ROOT) -> int:
    """Exit status: 0 fine, 1 stale (`--check`), 2 wrong arguments."""
    if list(arguments) not in ([], ["--check"]):
        sys.stderr.write("usage: python -m tools.docs [--check]\n")
        return 2
    stale = 0
    for name, render in GENERATED.items():
        path, wanted = root / name, render()
        if path.is_file() and path.read_text("utf-8") == wanted:
            continue
        if arguments:
            sys.stderr.write(f"{name} is stale: run `python -m tools.docs`\n")
            stale = 1
        else:
            path.write_text(wanted, "utf-8")
    return stale


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
