"""A reader, writer or table of Spark that remembers what it was told, so that a query can be looked at before any Spark runs it."""

from __future__ import annotations

from typing import Any


class Recorder:
    """Every call answers with the recorder itself; `said` has its arguments by name, `started` the queries begun."""

    def __init__(self) -> None:
        self.said: dict[str, Any] = {}
        self.started = 0

    @property
    def read(self) -> Recorder:
        return self

    readStream = writeStream = write = read

    def option(self, name: str, value: Any) -> Recorder:
        self.said[f"option {name}"] = value
        return self

    def options(self, **values: Any) -> Recorder:
        for name, value in values.items():
            self.option(name, value)
        return self

    def start(self) -> Recorder:
        self.started += 1
        return self

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any, **named: Any) -> Recorder:
            self.said[name] = named or arguments
            return self

        return call
