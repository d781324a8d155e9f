"""The programs of the README, to be run by tests."""

from __future__ import annotations

import re
from pathlib import Path

README = Path(__file__).parents[2] / "README.md"
ADDRESS = "127.0.0.1:9092"


def program(title: str, bootstrap: str) -> str:
    """The block below a line that begins with `title`, with the address of a broker of the test's."""
    (found,) = re.findall(rf"^{title}[^\n]*:\n\n```\w+\n(.*?)^```$", README.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert ADDRESS in found
    return str(found).replace(ADDRESS, bootstrap)
