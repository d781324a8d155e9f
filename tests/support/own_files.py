"""A directory with topics, users and an identity, and damage to the files that tell of them.

Whatever befalls one of them: the broker starts, nothing that was acknowledged is gone, one line says what was mended, the next start is
quiet, and `verify` sees the damage before it is mended.
"""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from oncelog.protocol.topics import Topic
from oncelog.storage.audit.verify import verify

from support.damage import PLACES, WAYS, damaged
from support.storage_kit import Kit, offsets

TWINS = ("oncelog.topics", "oncelog.topics.copy", "oncelog.metadata", "oncelog.metadata.copy")
USERS = {"alice": {"SCRAM-SHA-256": "secret"}}


class Directory:
    """Topics written to and not, with configs of their own, users, an identity."""

    def __init__(self, path: Path) -> None:
        self.kit = Kit(path, flush_on_ack=False)
        self.kit.create(retention_ms="-1")
        self.kit.manager.create_topic("compacted", 3, {"cleanup.policy": "compact"})
        self.kit.manager.create_topic("unwritten", 7, {"retention.ms": "123456"})
        self.kit.manager.store.put("users", "alice", USERS["alice"])
        for number in range(40):
            self.kit.append(number, pid=7)
        self.before = self.state()

    def state(self) -> tuple[list[Topic], dict[str, object], list[str], list[int]]:
        manager = self.kit.manager
        text = (self.kit.data_dir / "meta.properties").read_text()
        return manager.topics.all(), manager.store.section("users"), sorted(text.split()), offsets(self.kit.log)

    def spoil(self, name: str, way: str, place: str = "head") -> None:
        path = self.kit.data_dir / name
        if way == "delete":
            path.unlink()
        else:
            path.write_bytes(damaged(path.read_bytes(), way, place))

    def problems(self) -> list[str]:
        return [f"{one.file}: {one.message}" for one in verify(self.kit.data_dir, records=False).errors]


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    found = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    caplog.clear()
    return found


SPOILT = [("delete", "head"), *((way, place) for way in WAYS for place in PLACES)]
