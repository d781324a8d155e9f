"""The arguments of `oncelog serve` in their plain form, read without the command line library.

Loading that library and the signatures of all commands takes a third of the time to the first answer. What is not plain (help, a wrong
value, an unknown option) is left to it, so there is one place for its messages.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

_WITH_VALUE = frozenset({"--port", "--host", "--data-dir", "--config", "--override"})


class ServeArguments(TypedDict):
    """As the parameters of `serve.serve`."""

    port: int | None
    host: str | None
    data_dir: Path | None
    config: Path | None
    override: tuple[str, ...]
    fast: bool


def plain_arguments(arguments: Sequence[str]) -> ServeArguments | None:
    """The arguments behind `serve`; None when they need the real parser."""
    given: dict[str, str] = {}
    overrides: list[str] = []
    fast = False
    rest = iter(arguments)
    for argument in rest:
        name, separator, value = argument.partition("=")
        if argument == "--fast":
            fast = True
            continue
        if not separator:
            value = next(rest, "")
        if name not in _WITH_VALUE or not value or value.startswith("-") or name in given:
            return None
        if name == "--override":
            overrides.append(value)
        else:
            given[name] = value
    port = given.get("--port")
    if port is not None and not (port.isascii() and port.isdecimal()):
        return None
    return ServeArguments(
        port=None if port is None else int(port),
        host=given.get("--host"),
        data_dir=_path(given.get("--data-dir")),
        config=_path(given.get("--config")),
        override=tuple(overrides),
        fast=fast,
    )


def _path(text: str | None) -> Path | None:
    return None if text is None else Path(text)
