"""What the broker must remember beside the logs: ACLs, SCRAM credentials, quotas, dynamic configs, producer id blocks, its identity.

One JSON object in `oncelog.metadata` and its copy (`twin_file.py`), written as a whole by every change.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from oncelog.storage.env import Env
from oncelog.storage.files.damaged_file import DamagedFile
from oncelog.storage.files.twin_file import TwinFile

FILE_NAME = "oncelog.metadata"

_log = logging.getLogger(__name__)


class MetadataLost(ValueError):
    """Users, access rules and settings were there once and cannot be read: to go on without them takes the operator's consent."""


class MetadataStore:
    """Sections of key → JSON value."""

    def __init__(self, env: Env, data_dir: Path, *, expected: bool = False, accept_data_loss: bool = False) -> None:
        """`expected`: the directory tells that the file was there once. `accept_data_loss`: go on without what cannot be read; damaged
        copies are kept aside.

        Raises OSError, and MetadataLost: access rules are not to be guessed.
        """
        self._fs = env.fs
        self._file = TwinFile(env.fs, data_dir / FILE_NAME)
        self._sections: dict[str, dict[str, Any]] = {}
        try:
            content = self._file.read()
            if content is None and expected:
                raise DamagedFile(f"{self._file.path}: missing, and so is its copy")
            self._sections = _decode(content or b"{}")
        except DamagedFile as error:
            if not accept_data_loss:
                raise MetadataLost(
                    f"users, access rules and broker settings cannot be read ({error}). Restore either copy from a backup, or start once "
                    "with --accept-data-loss to go on without them"
                ) from error
            kept = self._file.set_aside()
            _log.error("users, access rules and broker settings given up as asked error=%s kept=%s", error, ",".join(kept))

    def section(self, name: str) -> dict[str, Any]:
        """A copy of the section; {} when nothing was put."""
        return dict(self._sections.get(name, {}))

    def put(self, section: str, key: str, value: Any | None) -> None:
        """Set, or remove with None; on disk when it returns. Raises OSError, then nothing has changed."""
        changed = {**self._sections.get(section, {}), key: value}
        if value is None:
            del changed[key]
        self.replace(section, changed)

    def replace(self, section: str, values: Mapping[str, Any]) -> None:
        """Set a whole section; as `put`."""
        self._write({**self._sections, section: dict(values)})

    def _write(self, sections: dict[str, dict[str, Any]]) -> None:
        self._fs.mkdir(self._file.path.parent)
        self._file.write(json.dumps(sections, sort_keys=True, separators=(",", ":")).encode())
        self._sections = sections


def _decode(data: bytes) -> dict[str, dict[str, Any]]:
    """Raises DamagedFile."""
    content = json.loads(data)
    if not isinstance(content, dict) or not all(isinstance(section, dict) for section in content.values()):
        raise DamagedFile(f"{FILE_NAME} does not hold an object of objects")
    return content
