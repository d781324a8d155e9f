"""The generated tables of README.md: `python -m oncelog.broker.docs` writes them, `--check` fails when they are stale.

Each stands between two comments, which stay:

    <!-- generated: apis -->
    <!-- /generated: apis -->

and so for `settings`.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from oncelog.broker.support_table import REFERENCE, api_rows, read_reference, setting_rows

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
GOLDEN = ROOT / "tests" / "golden" / f"api_versions_{REFERENCE}.json"
_BLOCK = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- /generated: \2 -->)", re.DOTALL)


def apis_table() -> str:
    """Every API with our versions beside Kafka's."""
    rows = [(str(row.key), row.name, row.ours or "–", row.kafkas or "–", row.note) for row in api_rows(read_reference(GOLDEN))]
    return _markdown(("Key", "API", "oncelog", f"Kafka {REFERENCE}", "Notes"), rows)


def settings_table() -> str:
    """Every setting with type, default and meaning."""
    from oncelog.broker.settings.broker import SECTIONS

    rows = [(f"`{row.name}`", row.type, _code(row.default), row.when, row.doc) for row in setting_rows(SECTIONS)]
    return _markdown(("Setting", "Type", "Default", "Set", "Meaning"), rows)


GENERATORS: dict[str, Callable[[], str]] = {"apis": apis_table, "settings": settings_table}


def regenerated(text: str) -> str:
    """`text` with every generated block made anew. Raises KeyError for a block that nobody generates."""
    return _BLOCK.sub(lambda block: f"{block[1]}{GENERATORS[block[2]]()}{block[3]}", text)


def main(arguments: Sequence[str]) -> int:
    """Exit status: 0 fine, 1 stale (`--check`), 2 wrong arguments."""
    if list(arguments) not in ([], ["--check"]):
        sys.stderr.write("usage: python -m oncelog.broker.docs [--check]\n")
        return 2
    present = README.read_text()
    wanted = regenerated(present)
    if present == wanted:
        return 0
    if arguments:
        sys.stderr.write("README.md is stale: run `make docs`\n")
        return 1
    README.write_text(wanted)
    return 0


def _markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |\n" for line in lines)


def _code(text: str) -> str:
    return f"`{text}`" if text else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
