"""One partition with a bit of everything in it, and ways to damage its files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from oncelog.storage.log.log import Log

from support.storage_kit import Kit, offsets


def filled(tmp_path: Path) -> Kit:
    """Three segments or more: plain batches, five of an idempotent producer, committed, aborted and one open transaction."""
    kit = Kit(tmp_path / "data", flush_on_ack=False)
    kit.create()
    for number in range(20):
        kit.append(n=2)
        kit.append(number, pid=10)
        kit.append(number, pid=11, txn=True)
        kit.append(n=1)
        kit.mark(11, commit=number % 3 != 0)
    kit.append(0, pid=12, txn=True)
    for number in range(20, 25):
        kit.append(number, pid=10)
    assert len(kit.log.segments) >= 3
    return kit


def state(log: Log) -> object:
    return (
        log.log_start_offset,
        log.log_end_offset,
        log.last_stable_offset,
        offsets(log, 0),
        offsets(log, 1),
        {entry._replace(arrival_ms=0) for entry in log.producers()},
    )


def stop(kit: Kit, clean: bool) -> None:
    kit.manager.chores.write_checkpoints(everything=True)
    if clean:
        kit.stop()
    else:
        kit.kill()


def logs(kit: Kit) -> list[Path]:
    return sorted(kit.folder.glob("*.log"))


def damage(path: Path, change: Callable[[bytearray], None]) -> None:
    data = bytearray(path.read_bytes())
    change(data)
    path.write_bytes(bytes(data))


both = pytest.mark.parametrize("clean", [True, False], ids=["clean", "unclean"])


which = pytest.mark.parametrize("slot", [0, 1, -1], ids=["oldest", "middle", "active"])


def spoilt(path: Path, how: str) -> None:
    if not path.exists():
        return
    if how == "missing":
        path.unlink()
        return
    content = {"garbage": bytes(range(7, 127)) * 2, "odd": path.read_bytes() + b"abc", "empty": b"", "zeros": bytes(240)}
    path.write_bytes(content[how])
