"""Users and rules, whatever befalls the store."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any, cast

import pytest
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.storage.env import Env
from oncelog.storage.files.metadata_store import FILE_NAME, MetadataLost, MetadataStore
from oncelog.storage.files.twin_file import parse_frame
from support.damage import WAYS
from support.inline import SeededRandom
from support.own_files import TWINS, Directory, warnings
from support.simfs import SimFileSystem
from support.storage_kit import Kit

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("way", ["delete", *WAYS])
def test_users_and_rules_are_never_given_up_unasked(tmp_path: Path, caplog: pytest.LogCaptureFixture, way: str) -> None:
    directory = Directory(tmp_path)
    directory.kit.stop()
    for name in ("oncelog.metadata", "oncelog.metadata.copy"):
        directory.spoil(name, way, "middle")
    assert directory.problems()
    for _ in range(2):
        with pytest.raises(MetadataLost, match=r"oncelog\.metadata: .*--accept-data-loss"):
            directory.kit.start()
        directory.kit.kill()
    kit = Kit(tmp_path, accept_data_loss=True)
    (line,) = warnings(caplog)
    assert "given up as asked" in line
    assert kit.manager.store.section("users") == {}
    assert kit.manager.topics.all() == directory.before[0]
    assert (way == "delete") == (not (tmp_path / "oncelog.metadata.damaged").exists())
    kit.stop()
    kit = Kit(tmp_path)
    assert warnings(caplog) == []


def test_plain_files_of_before_are_taken_over_quietly(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    directory = Directory(tmp_path)
    directory.kit.stop()
    for name in ("oncelog.topics", "oncelog.metadata"):
        path = tmp_path / name
        path.write_bytes(parse_frame(name, path.read_bytes()).payload)
        (tmp_path / f"{name}.copy").unlink()
    directory.kit.start()
    assert warnings(caplog) == []
    assert directory.state() == directory.before
    for name in TWINS:
        assert parse_frame(name.removesuffix(".copy"), (tmp_path / name).read_bytes()).generation == 1


def test_no_metadata_of_before_is_no_loss(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    directory = Directory(tmp_path)
    directory.kit.stop()
    path = tmp_path / "oncelog.topics"
    path.write_bytes(parse_frame(path.name, path.read_bytes()).payload)
    for name in TWINS[1:]:
        (tmp_path / name).unlink()
    for younger in (*tmp_path.glob("*/oncelog.topic"), tmp_path / "oncelog.spare"):
        younger.unlink()
    directory.kit.start()
    assert warnings(caplog) == []
    assert directory.kit.manager.topics.all() == directory.before[0]


DATA = Path("/data")


class Waiting:
    """A store whose flusher writes when it is told to."""

    def __init__(self) -> None:
        self.fs = SimFileSystem()
        self.fs.mkdir(DATA)
        self.store = MetadataStore(Env(cast(Any, None), SeededRandom(1), self.fs), DATA, cast(Any, self))
        self.told: list[tuple[str, ErrorCode]] = []
        self.requests = 0

    def request(self, target: object) -> None:
        assert target is self.store
        self.requests += 1

    def begin(self, section: str, **changes: Any) -> None:
        def done(error: KafkaError | None) -> None:
            self.told.append((",".join(changes), ErrorCode.NONE if error is None else error.code))

        self.store.begin_update(section, changes, done)

    def flush(self) -> None:
        job = self.store.begin_flush()
        assert job is not None
        job.run()
        self.store.end_flush(job, None)

    def stored(self) -> Any:
        return json.loads(parse_frame(FILE_NAME, self.fs.read(DATA / FILE_NAME)).payload)


def test_changes_that_wait_together_are_one_write() -> None:
    waiting = Waiting()
    waiting.store.put("users", "old", {"b": 1, "a": [None, True]})
    before = waiting.fs.calls
    waiting.store.put("users", "older", 1)
    one_write = waiting.fs.calls - before
    before = waiting.fs.calls
    for number in range(100):
        waiting.begin("rules", **{f"é{number}": number, f"gone{number}": None})
    waiting.begin("users", old=None)
    assert (waiting.told, waiting.store.section("rules"), waiting.store.get("users", "older")) == ([], {}, 1)
    assert (waiting.store.wanted("rules", "é7"), waiting.store.wanted("users", "old")) == (7, None)
    waiting.flush()
    assert waiting.fs.calls - before == one_write
    assert len(waiting.told) == 101
    assert waiting.store.section("rules") == {f"é{number}": number for number in range(100)}
    assert waiting.stored() == {"rules": waiting.store.section("rules"), "users": {"older": 1}}
    again = MetadataStore(Env(cast(Any, None), SeededRandom(1), waiting.fs), DATA)
    assert (again.section("rules"), again.section("users")) == (waiting.store.section("rules"), {"older": 1})


def test_a_failed_write_changes_nothing_and_leaves_later_changes_alone() -> None:
    waiting = Waiting()
    waiting.store.put("users", "kept", 1)
    waiting.begin("users", kept=2, new=2)
    job = waiting.store.begin_flush()
    assert job is not None
    waiting.begin("users", later=3)
    waiting.fs.fail(1, errno.ENOSPC, only=["pwrite"])
    job.run()
    waiting.store.end_flush(job, None)
    waiting.fs.fail(None)
    assert waiting.told == [("kept,new", ErrorCode.KAFKA_STORAGE_ERROR)]
    assert waiting.store.section("users") == {"kept": 1}
    assert waiting.store.wanted("users", "new") is None
    waiting.flush()
    assert waiting.stored() == {"users": {"kept": 1, "later": 3}}


def test_a_change_that_would_not_wait_overtakes_a_write() -> None:
    waiting = Waiting()
    waiting.begin("rules", a=1)
    job = waiting.store.begin_flush()
    assert job is not None
    waiting.store.put("rules", "b", 2)
    job.run()  # it is late: what it would write is older than what stands there
    waiting.store.end_flush(job, None)
    assert waiting.stored() == {"rules": {"a": 1, "b": 2}}
    assert waiting.told == [("a", ErrorCode.NONE)]


def test_without_a_flusher_it_is_written_at_once(tmp_path: Path) -> None:
    waiting = Waiting()
    store = MetadataStore(Env(cast(Any, None), SeededRandom(1), waiting.fs), DATA)
    told: list[object] = []
    store.begin_update("rules", {"a": 1}, told.append)
    assert told == [None]
    assert waiting.stored() == {"rules": {"a": 1}}
