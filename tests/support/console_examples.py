"""The examples of `broker/console/API.md`, and whether an answer has their shape."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

_PAGE = (Path(__file__).parents[2] / "broker" / "console" / "API.md").read_text("utf-8")
EXAMPLES: dict[str, Any] = {
    heading.strip(): json.loads(found[1])
    for section in _PAGE.split("\n## ")[1:]
    for heading in section.split("\n", 1)[0].split(",")
    if (found := re.search(r"```json\n(.*?)```", section, re.DOTALL)) is not None
}


def misshapen(value: Any, example: Any, where: str = "") -> list[str]:
    """Where `value` has other fields or types than `example`. Null is allowed everywhere, and where the example has null anything is."""
    if value is None or example is None:
        return []
    if isinstance(example, dict) and isinstance(value, dict):
        wrong = [f"{where}.{name} is missing" for name in example if name not in value]
        wrong += [f"{where}.{name} is not described" for name in value if name not in example]
        return wrong + [each for name in example if name in value for each in misshapen(value[name], example[name], f"{where}.{name}")]
    if isinstance(example, list) and isinstance(value, list):
        return [each for at, one in enumerate(value) if example for each in misshapen(one, example[0], f"{where}[{at}]")]
    if type(value) is not type(example):
        return [f"{where}: {type(value).__name__}, not {type(example).__name__}"]
    return []
