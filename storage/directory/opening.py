"""How a data directory is taken into use and given back: lock, clean marker, checkpoints, one sync for many logs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from pathlib import Path

from oncelog.protocol.errors import KafkaError
from oncelog.protocol.names import TopicPartition
from oncelog.storage.env import Env, FileSystem
from oncelog.storage.files import checkpoints
from oncelog.storage.journal.journal import Journal
from oncelog.storage.journal.replay import FoundJournal, clear_journal, find_journal, pass_over_journal
from oncelog.storage.log.log import Log
from oncelog.storage.recovery.remembered import Checkpointed

BOOT_FILE = "oncelog.boot"
Syncs = list[Callable[[], None]]
_SYNCED_ONE_BY_ONE = 16  # logs; for more, the whole volume is synced at once

_log = logging.getLogger(__name__)


def lock(fs: FileSystem, data_dir: Path) -> object:
    """Held until it is closed. Raises BlockingIOError with a sentence when another process uses the directory."""
    path = data_dir / ".lock"
    try:
        return fs.lock(path)
    except BlockingIOError as error:
        raise BlockingIOError(error.errno, f"{data_dir} is in use by another process (it holds {path})") from error


def take_clean_marker(fs: FileSystem, data_dir: Path) -> bool:
    """Was the last stop an orderly one? The marker is gone from the disk afterwards: this life may end otherwise. Raises OSError."""
    marker = data_dir / checkpoints.CLEAN_MARKER
    if not fs.exists(marker):
        return False
    fs.unlink(marker)
    fs.sync_dir(data_dir)
    return True


def kept_power(env: Env, data_dir: Path) -> bool:
    """Is the machine up since an earlier life began to serve? Then all that it wrote is there, in order, synced or not."""
    try:
        return env.boot_id != "" and env.fs.read(data_dir / BOOT_FILE) == env.boot_id.encode()
    except OSError:
        return False


def note_boot(env: Env, data_dir: Path) -> None:
    """Once all logs are recovered: a start that is cut off must not vouch for what a power cut left. Raises OSError."""
    if env.boot_id and not kept_power(env, data_dir):
        env.fs.write_atomic(data_dir / BOOT_FILE, env.boot_id.encode())


def read_checkpoints(fs: FileSystem, data_dir: Path, *, clean: bool, kept_power: bool = False) -> Checkpointed:
    """What an earlier life left behind about the logs."""
    points, starts, watermarks = (
        checkpoints.read_checkpoint(fs, data_dir / name)
        for name in (checkpoints.RECOVERY_POINTS, checkpoints.LOG_STARTS, checkpoints.HIGH_WATERMARKS)
    )
    return Checkpointed(clean, points, starts, watermarks, kept_power)


def look_for_journal(fs: FileSystem, data_dir: Path, found: Checkpointed) -> FoundJournal:
    """What logs may take from it: nothing after an orderly stop, nor where another broker has written since, whose checkpoints lack our
    CRC. Raises OSError."""
    if found.clean:
        return FoundJournal({})
    if any(one is not None and not one.vouched for one in (found.points, found.starts, found.watermarks)):
        return pass_over_journal(fs, data_dir)
    return find_journal(fs, data_dir)


def sync_all(fs: FileSystem, data_dir: Path, syncs: Syncs, journal: FoundJournal) -> None:
    """What logs have to wait for before anybody is served; afterwards there is no journal. Raises OSError."""
    if len(syncs) <= _SYNCED_ONE_BY_ONE or not fs.sync_volume(data_dir):
        for sync in syncs:
            sync()
    clear_journal(fs, data_dir, keep=journal.keep)


def close_logs(fs: FileSystem, data_dir: Path, logs: Sequence[Log], journal: Journal) -> bool:
    """Were all closed as they should be? What the log waits for was on disk before; the rest is not looked at without the marker."""
    clean = True
    journal.settle()
    try:
        with fs.synced_together(data_dir):
            for log in logs:
                try:
                    log.close()
                except KafkaError as error:
                    _log.error("log not closed cleanly partition=%s error=%s", log.topic_partition, error)
                    clean = False
        if clean:
            clear_journal(fs, data_dir, keep=False)
    except OSError as error:
        _log.error("logs not synced error=%s", error)
        clean = False
    return clean


def tell_checkpoints(
    fs: FileSystem, data_dir: Path, found: Checkpointed, *, stood: bool, is_here: Callable[[TopicPartition], bool]
) -> bool:
    """Say which are missing though others of the same writing are there, and which tell of no partition of ours; are there any?
    `stood`: this directory was ours before."""
    names = (checkpoints.RECOVERY_POINTS, checkpoints.LOG_STARTS, checkpoints.HIGH_WATERMARKS)
    written = (found.clean and stood) or found.points is not None or found.starts is not None
    missing = [name for name in names if written and not fs.exists(data_dir / name)]
    read = zip(names, (found.points, found.starts, found.watermarks), strict=True)
    foreign = [name for name, one in read if one and one.offsets and not one.vouched and not any(map(is_here, one.offsets))]
    for name in missing:
        _log.warning("missing, the logs tell what it said file=%s", data_dir / name)
    for name in foreign:
        _log.warning("tells of no partition that is here file=%s", data_dir / name)
    return bool(missing or foreign)
