"""The broker of a process: what a reset may empty, and that its ports stay. Crashes are the wire tests' (`wire/test_control.py`)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from oncelog.broker.control.served import ServedBroker, controlled
from oncelog.broker.process.file_limits import shares
from oncelog.broker.settings.control import LOOPBACK, ControlEndpoint
from oncelog.broker.settings.load import load
from oncelog.broker.testkit.clock import TestClock
from oncelog.broker.testkit.own_folder import LEFT_ALONE

pytestmark = pytest.mark.unit
SETTINGS = {
    "listeners": "PLAINTEXT://127.0.0.1:0",
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "2",
}


def serve(folder: Path, test: Callable[[ServedBroker], Awaitable[None]], **settings: str) -> None:
    async def run() -> None:
        config = load(SETTINGS | {name.replace("_", "."): value for name, value in settings.items()})
        served = ServedBroker(config, folder, shares(1024), TestClock(stands=True), accept_data_loss=False)
        await served.start()
        try:
            await test(served)
        finally:
            await served.stop()

    asyncio.run(run())


async def make_and_reset(served: ServedBroker) -> None:
    served.running.logs.create_topic("a", 1, {})
    served.faults.add({"match": {"api": "EndTxn"}, "action": {"type": "close"}})
    served.crash_points.arm("mid-write")
    port, before = served.running.listeners[0].port, served.running
    await served.reset()
    assert served.running is not before
    assert served.running.listeners[0].port == port
    assert [topic.name for topic in served.running.logs.topics.all()] == []
    assert (served.faults.rules, served.crash_points.armed()) == ({}, [])


def test_what_began_empty_is_emptied(tmp_path: Path) -> None:
    serve(tmp_path / "new", make_and_reset)
    there = tmp_path / "volume"
    (there / LEFT_ALONE).mkdir(parents=True)
    serve(there, make_and_reset)
    assert (there / LEFT_ALONE).is_dir()


def test_what_held_something_is_not(tmp_path: Path) -> None:
    async def refused(served: ServedBroker) -> None:
        before = served.running
        with pytest.raises(PermissionError, match=r"control\.reset\.enable"):
            await served.reset()
        assert served.running is before

    (tmp_path / "notes").write_text("mine")
    serve(tmp_path, refused)
    assert (tmp_path / "notes").read_text() == "mine"
    (tmp_path / "notes").unlink()
    serve(tmp_path, refused)  # a later process on what the first one made


def test_unless_that_is_allowed(tmp_path: Path) -> None:
    folder, elsewhere = tmp_path / "data", tmp_path / "elsewhere"
    (folder / "deep" / "er").mkdir(parents=True)
    elsewhere.mkdir()
    (elsewhere / "kept").write_text("mine")
    (folder / "link").symlink_to(elsewhere)
    serve(folder, make_and_reset, control_reset_enable="true")
    assert not (folder / "deep").exists()
    assert not (folder / "link").is_symlink()
    assert (elsewhere / "kept").read_text() == "mine"


def test_time(tmp_path: Path) -> None:
    async def move(served: ServedBroker) -> None:
        before = served.clock.time_ms()
        assert await served.advance(3600) == before + 3_600_000

    serve(tmp_path / "data", move)


def test_a_start_that_fails_leaves_the_directory_to_others(tmp_path: Path) -> None:
    async def taken(served: ServedBroker) -> None:
        port = served.running.listeners[0].port
        config = load(SETTINGS | {"listeners": f"PLAINTEXT://127.0.0.1:{port}"})
        second = ServedBroker(config, tmp_path / "other", shares(1024), TestClock(), accept_data_loss=False)
        with pytest.raises(OSError):
            await second.start()
        assert second.broker is None
        await second.stop()

    serve(tmp_path / "data", taken)
    serve(tmp_path / "other", make_and_reset, control_reset_enable="true")


def test_its_control_port_is_open_within_the_block(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async def run() -> None:
        config = load(SETTINGS)
        async with controlled(config, ControlEndpoint(LOOPBACK, 0), tmp_path / "data", stands=True, accept_data_loss=False) as broker:
            assert broker.listeners[0].port > 0
            first, second = capsys.readouterr().out.splitlines()
            port = int(first.removeprefix("Control port: http://127.0.0.1:"))
            assert second.startswith(f"Console: http://127.0.0.1:{port}/?token=")
            _, writer = await asyncio.open_connection(LOOPBACK, port)
            writer.close()
        with pytest.raises(OSError):
            await asyncio.open_connection(LOOPBACK, port)

    asyncio.run(run())
