"""What the broker must remember beside the logs: ACLs, SCRAM credentials, quotas, dynamic configs, producer id blocks, its identity.

One JSON object in `oncelog.metadata` and its copy (`twin_file.py`), written as a whole; changes that wait together by one write.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.storage.env import Env
from oncelog.storage.files.damaged_file import DamagedFile
from oncelog.storage.files.twin_file import TwinFile
from oncelog.storage.log.flush import Flusher, FlushJob, flush_now

FILE_NAME = "oncelog.metadata"
Done = Callable[[KafkaError | None], None]

_log = logging.getLogger(__name__)


class MetadataLost(ValueError):
    """Users, access rules and settings were there once and cannot be read: to go on without them takes the operator's consent."""


class _Change(NamedTuple):
    """`values`: None where a key goes."""

    version: int
    section: str
    values: Mapping[str, Any | None]
    done: Callable[[OSError | None], None]


class MetadataStore:
    """Sections of key → JSON value."""

    def __init__(
        self, env: Env, data_dir: Path, flusher: Flusher | None = None, *, expected: bool = False, accept_data_loss: bool = False
    ) -> None:
        """`flusher` writes what is begun; without one that is done at once. `expected`: the directory tells that the file was there once.
        `accept_data_loss`: go on without what cannot be read; damaged copies are kept aside.

        Raises OSError, and MetadataLost: access rules are not to be guessed.
        """
        self._fs = env.fs
        self._file = TwinFile(env.fs, data_dir / FILE_NAME)
        self._flusher = flusher
        self._sections: dict[str, dict[str, Any]] = {}
        self._wanted: dict[str, dict[str, Any]] = {}
        self._rows: dict[str, dict[str, str]] = {}  # of `_wanted`, as they stand in the file
        self._pending: list[_Change] = []
        self._version = 0
        self._file_lock = threading.Lock()
        self._file_version = 0
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
        self._want_as_on_disk()

    def section(self, name: str) -> dict[str, Any]:
        """A copy of the section as it is on disk; {} when nothing was put."""
        return dict(self._sections.get(name, {}))

    def get(self, section: str, key: str) -> Any | None:
        """One value, as it is on disk."""
        return self._sections.get(section, {}).get(key)

    def wanted(self, section: str, key: str) -> Any | None:
        """One value, as it will be when everything under way is on disk."""
        return self._wanted.get(section, {}).get(key)

    def put(self, section: str, key: str, value: Any | None) -> None:
        """Set, or remove with None; on disk when it returns. Raises OSError, then nothing has changed."""
        failed: list[OSError] = []
        self._stage(section, {key: value}, lambda error: failed.append(error) if error is not None else None)
        flush_now(self)
        if failed:
            raise failed[0]

    def replace(self, section: str, values: Mapping[str, Any]) -> None:
        """Set a whole section; as `put`."""
        failed: list[OSError] = []
        gone = dict.fromkeys(self._wanted.get(section, {}).keys() - values.keys())
        self._stage(section, {**gone, **values}, lambda error: failed.append(error) if error is not None else None)
        flush_now(self)
        if failed:
            raise failed[0]

    def begin_update(self, section: str, changes: Mapping[str, Any | None], done: Done) -> None:
        """Set or remove many; `done` when that is on disk and shows, or is told KAFKA_STORAGE_ERROR: then none of them has changed.

        Changes that wait together are written together, by the flusher.
        """
        self._stage(section, changes, lambda error: done(None if error is None else storage_error(error)))
        if self._flusher is None:
            flush_now(self)
        else:
            self._flusher.request(self)

    def _stage(self, section: str, changes: Mapping[str, Any | None], done: Callable[[OSError | None], None]) -> None:
        self._version += 1
        self._pending.append(_Change(self._version, section, changes, done))
        self._want(section, changes)

    def _want(self, section: str, changes: Mapping[str, Any | None]) -> None:
        wanted, rows = self._wanted.setdefault(section, {}), self._rows.setdefault(section, {})
        for key, value in changes.items():
            if value is None:
                wanted.pop(key, None)
                rows.pop(key, None)
            else:
                wanted[key] = value
                rows[key] = f"{json.dumps(key)}:{json.dumps(value, sort_keys=True, separators=(',', ':'))}"

    def begin_flush(self) -> FlushJob | None:
        """The file as the changes so far want it."""
        if not self._pending:
            return None
        rows = {section: dict(rows) for section, rows in self._rows.items()}
        return FlushJob(self._fs, self._version, (), (), actions=(partial(self._write, self._version, rows),))

    def _write(self, version: int, rows: dict[str, dict[str, str]]) -> None:
        """On any thread: a change that would not wait may have overtaken the one that a flusher is at. Raises OSError."""
        sections = (f"{json.dumps(name)}:{{{','.join(found[key] for key in sorted(found))}}}" for name, found in sorted(rows.items()))
        content = f"{{{','.join(sections)}}}".encode()
        with self._file_lock:
            if version > self._file_version:
                self._fs.mkdir(self._file.path.parent)
                self._file.write(content)
                self._file_version = version

    def end_flush(self, job: FlushJob, error: OSError | None) -> None:
        """Show what is on disk now, and forget what could not be written."""
        error = error or job.problem
        with self._file_lock:
            written = job.end_offset if error is None else self._file_version
            self._file_version = max(self._file_version, job.end_offset)  # what is given up must not be written any more
        settled = [change for change in self._pending if change.version <= job.end_offset]
        self._pending = self._pending[len(settled) :]
        for change in settled:
            if change.version <= written:
                _apply(self._sections.setdefault(change.section, {}), change.values)
        if error is not None:
            self._want_as_on_disk()
            for change in self._pending:
                self._want(change.section, change.values)
        for change in settled:
            change.done(error if change.version > written else None)

    def _want_as_on_disk(self) -> None:
        self._wanted, self._rows = {}, {}
        for name, section in self._sections.items():
            self._want(name, section)


def _apply(section: dict[str, Any], changes: Mapping[str, Any | None]) -> None:
    for key, value in changes.items():
        if value is None:
            section.pop(key, None)
        else:
            section[key] = value


def storage_error(error: OSError) -> KafkaError:
    """What clients are told of it."""
    return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"The data directory can not be written: {error}")


def _decode(data: bytes) -> dict[str, dict[str, Any]]:
    """Raises DamagedFile."""
    content = json.loads(data)
    if not isinstance(content, dict) or not all(isinstance(section, dict) for section in content.values()):
        raise DamagedFile(f"{FILE_NAME} does not hold an object of objects")
    return content
