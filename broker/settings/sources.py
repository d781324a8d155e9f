"""Where the broker's configs come from, and which source wins.

Later wins: defaults < `server.properties` < environment (`KAFKA_` prefix; `_` is `.`, `__` is `_`, `___` is `-`) < `--override`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from oncelog.broker.settings.environment import configs_in
from oncelog.broker.settings.load import known_options
from oncelog.broker.settings.without_effect import KNOWN_UNUSED
from oncelog.protocol.errors import ErrorCode, KafkaError


def merge(
    config_file: Path | None, environment: Mapping[str, str], overrides: Iterable[str], defaults: Mapping[str, str] | None = None
) -> dict[str, str]:
    """One mapping of all sources. Raises KafkaError(INVALID_CONFIG) for a line or an override without `=`; OSError for the file."""
    merged = dict(defaults or {})
    if config_file is not None:
        merged.update(read_properties(config_file.read_text(encoding="utf-8")))
    merged.update(configs_in(environment, {*known_options(), *KNOWN_UNUSED}))
    for text in overrides:
        name, separator, value = text.partition("=")
        if not separator:
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"--override takes key=value, not {text!r}")
        merged[name.strip()] = value.strip()
    return merged


def read_properties(text: str) -> dict[str, str]:
    """Java's properties, as far as server.properties uses them: comments, `=` or `:`, lines continued by a backslash."""
    values: dict[str, str] = {}
    for number, line in enumerate(re.sub(r"\\\r?\n[ \t]*", "", text).splitlines(), 1):
        line = line.strip()
        if not line or line[0] in "#!":
            continue
        found = re.match(r"([^=:\s]+)\s*[=:\s]\s*(.*)$", line)
        if found is None:
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"line {number} is not key=value: {line!r}")
        values[found[1]] = found[2].strip()
    return values
