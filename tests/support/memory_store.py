"""A metadata store without a disk."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from oncelog.protocol.errors import KafkaError


class MemoryStore:
    """What `MetadataStore` keeps, by section."""

    def __init__(self) -> None:
        self.sections: dict[str, dict[str, Any]] = {}

    def section(self, name: str) -> dict[str, Any]:
        return dict(self.sections.get(name, {}))

    def get(self, section: str, key: str) -> Any | None:
        return self.sections.get(section, {}).get(key)

    wanted = get

    def begin_update(self, section: str, changes: Mapping[str, Any | None], done: Callable[[KafkaError | None], None]) -> None:
        for key, value in changes.items():
            self.put(section, key, value)
        done(None)

    def put(self, section: str, key: str, value: Any) -> None:
        self.sections.setdefault(section, {})[key] = value
        if value is None:
            del self.sections[section][key]


def written(error: KafkaError | None) -> None:
    """Whom to tell where nothing can fail."""
    assert error is None
