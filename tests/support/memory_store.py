"""A metadata store without a disk."""

from __future__ import annotations

from typing import Any


class MemoryStore:
    """What `MetadataStore` keeps, by section."""

    def __init__(self) -> None:
        self.sections: dict[str, dict[str, Any]] = {}

    def section(self, name: str) -> dict[str, Any]:
        return dict(self.sections.get(name, {}))

    def put(self, section: str, key: str, value: Any) -> None:
        self.sections.setdefault(section, {})[key] = value
        if value is None:
            del self.sections[section][key]
