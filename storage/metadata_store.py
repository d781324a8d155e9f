"""What the broker must remember beside the logs: ACLs, SCRAM credentials, quotas, dynamic configs, producer id blocks.

One plain JSON file in the data directory, replaced atomically and durably by every change; Kafka ignores it.
"""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

from oncelog.storage.env import Env

FILE_NAME = "oncelog.metadata"

_log = logging.getLogger(__name__)


class MetadataStore:
    """Sections of key → JSON value."""

    def __init__(self, env: Env, data_dir: Path) -> None:
        """Raises OSError, and ValueError when the file is damaged: access rules are not to be guessed."""
        self._fs = env.fs
        self._path = data_dir / FILE_NAME
        self._sections: dict[str, dict[str, Any]] = {}
        if self._fs.exists(self._path):
            content = json.loads(self._fs.read(self._path))
            if not isinstance(content, dict) or not all(isinstance(section, dict) for section in content.values()):
                raise ValueError(f"{self._path} does not hold an object of objects")
            self._sections = content

    def section(self, name: str) -> dict[str, Any]:
        """A copy of the section; {} when nothing was put."""
        return dict(self._sections.get(name, {}))

    def put(self, section: str, key: str, value: Any | None) -> None:
        """Set, or remove with None; on disk when it returns. Raises OSError, then nothing has changed."""
        changed = {**self._sections.get(section, {}), key: value}
        if value is None:
            del changed[key]
        sections = {**self._sections, section: changed}
        self._fs.mkdir(self._path.parent)
        self._fs.write_atomic(self._path, json.dumps(sections, sort_keys=True, separators=(",", ":")).encode())
        self._sections = sections
