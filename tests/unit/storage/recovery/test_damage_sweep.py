"""The sweep: every file × where × how, after an orderly stop and after a kill.

Whatever was damaged: `verify` sees it, the start succeeds and says it in the log, what was not hit is served, nothing aborted is shown to a
stock client, the last stable offset is free, and the next start has nothing to say. SEED and `make damage` bring other damages.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from oncelog.protocol.records import iter_records
from support.damage_sweep import ACTIVE, LEFTOVERS, Damage, Values, damages, fill_sweep, inflict
from support.stock_reader import batches, shown
from support.storage_kit import offset_for_timestamp
from support.sweep_log import findings, told
from support.txn_directory import OTHER, TxnDirectory

pytestmark = [pytest.mark.unit, pytest.mark.uncovered]
CLEAN, KILLED = "clean", "killed"
ALL = [(damage, stop) for damage in damages() for stop in (CLEAN, KILLED)]
FOUND = [
    ("log middle flip middle", CLEAN, 2),
    ("log middle garbage head", KILLED, 2),
    ("log sealed cut out head", CLEAN, 4),
    ("log middle flip tail", KILLED, 4),
    ("log middle garbage tail", CLEAN, 4),
    ("log active garbage head", CLEAN, 4),
    ("log active garbage head", CLEAN, 3),
    ("index active cut out head", CLEAN, 5),
    ("log-start-offset-checkpoint cut out head", KILLED, 5),
]
SLICE = 11
MOST_LINES = 4  # the damage, and what was made again after it: indexes, epochs that were refused and then rebuilt
WHOLE = 1 << 20
# Nothing is said of these by the start: it makes them anew from the log, whatever they hold
REMADE_AFTER_A_KILL = ("index", "timeindex")
# of the clean marker it reads only that it is there: without it that was a kill
NOT_READ = (".kafka_cleanshutdown",)
# after a kill the logs have what it has, and damage of its last frame looks as a write that was cut off; test_replay.py hurts every frame
JOURNAL = "oncelog.journal.0"


class Original(NamedTuple):
    """An undamaged directory and what a client sees in it."""

    path: Path
    everything: Values
    committed: Values
    of_other: list[bytes]
    now_ms: int
    said: list[str]  # by a start that has nothing to mend
    findings: set[tuple[object, ...]]


@pytest.fixture(scope="module", autouse=True)
def quick_disk() -> Iterator[None]:
    """Nothing here loses power, so nothing has to wait for the disk."""
    with pytest.MonkeyPatch.context() as patch:
        for call in ("fsync", "fdatasync"):
            patch.setattr(os, call, lambda fd: None)
        yield


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Original]:
    """By how they were stopped."""
    made = {}
    for stop in (CLEAN, KILLED):
        path = tmp_path_factory.mktemp("original") / "data"
        filled = fill_sweep(path)
        everything = set(filled.values(committed=False))
        committed = {value for value in everything if value[:1] in b"pci"}
        of_other, now_ms = filled.values(committed=True, place=OTHER), filled.clock.now_ms
        filled.logs.chores.write_checkpoints(everything=True)
        filled.close() if stop == CLEAN else filled.kill()
        with told() as said:
            again = TxnDirectory(Path(shutil.copytree(path, path.with_name("again"))), now_ms)
            assert set(again.values(committed=False)) == everything
        again.kill()
        made[stop] = Original(path, everything, committed, of_other, now_ms, said, findings(path))
    return made


def sampled(seed: int) -> list[object]:
    """All of them, of which `make test` runs a slice."""
    return [
        pytest.param(*one, id=f"{one[0].name}, {one[1]}", marks=() if (number + seed) % SLICE == 0 else pytest.mark.slow)
        for number, one in enumerate(ALL)
    ]


@pytest.mark.parametrize(("damage", "stop"), sampled(0))
def test_sweep(originals: dict[str, Original], tmp_path: Path, request: pytest.FixtureRequest, damage: Damage, stop: str) -> None:
    assert wrong_after(damage, originals[stop], stop, request.config.getoption("--seed"), tmp_path) == []


@pytest.mark.parametrize(("name", "stop", "seed"), FOUND)
def test_found_by_other_seeds(originals: dict[str, Original], tmp_path: Path, name: str, stop: str, seed: int) -> None:
    damage = next(one for one, _ in ALL if one.name == name)
    assert wrong_after(damage, originals[stop], stop, seed, tmp_path) == []


def wrong_after(damage: Damage, original: Original, stop: str, seed: int, tmp_path: Path) -> list[str]:
    """What is not as it should be once the damage was met by two starts."""
    data_dir = Path(shutil.copytree(original.path, tmp_path / "data"))
    hit = inflict(damage, data_dir, seed)
    if hit is None:
        return []  # the file is not there, or already is what the damage would make of it
    problems = [] if findings(data_dir) != original.findings or is_meaningless(damage) else ["verify sees nothing"]
    with told() as said, contextlib.closing(TxnDirectory(data_dir, original.now_ms)) as served:
        if served.values(committed=True, place=OTHER) != original.of_other:
            problems.append("another topic is hurt")
        problems += differences(served.values(committed=False), original.everything, hit)
        problems += differences(served.values(committed=True), original.committed, original.committed)
        problems += wrong_times(served)
        served.let_time_out()
        problems += wrong_in(served, original.committed, hit, set())
        pair = served.init("t")
        served.put(b"n1", pair, 0, "t")
        served.end("t", pair, commit=True)
        served.put(b"n2")
        problems += wrong_in(served, original.committed, hit, {b"n1", b"n2"})
        now_ms = served.clock.now_ms
    lines = [line for line in said if line not in original.said]
    if not lines and not is_unsaid(damage, stop):
        problems.append("nothing was said")
    if len(lines) > MOST_LINES:
        problems.append(f"{len(lines)} lines: {lines}")
    with told() as said, contextlib.closing(TxnDirectory(data_dir, now_ms)) as again:
        problems += wrong_in(again, original.committed, hit, {b"n1", b"n2"})
    return problems + [f"said again: {line}" for line in said]


def is_meaningless(damage: Damage) -> bool:
    """The clean marker says by its presence all that it says."""
    if damage.file == JOURNAL:
        return True
    return damage.file == ".kafka_cleanshutdown" and damage.how != "remove"


def is_unsaid(damage: Damage, stop: str) -> bool:
    remade = stop == KILLED and damage.slot == ACTIVE and damage.file in REMADE_AFTER_A_KILL
    # a lost voucher costs a look at the markers, an entry in the middle of an index lies to nobody who is not led there
    # and a lost snapshot is none while `oncelog.window` is whole
    redundant = (damage.file, damage.how) in (
        ("oncelog.txnindexes", "remove"),
        ("snapshot", "remove"),
        ("index", "flip"),
        ("index", "cut out"),
    )
    put_back = (damage.file, damage.slot, stop) == ("log", ACTIVE, KILLED)  # the journal has all of it, as after a power cut
    return remade or redundant or put_back or damage.file in (*NOT_READ, JOURNAL)


def wrong_times(served: TxnDirectory) -> list[str]:
    """Every offset looked for by itself, and the first one at or after every timestamp."""
    log = served.log()
    records = [
        record
        for header, batch in shown(bytes(b"".join(segment.read_at(0, segment.size) for segment in log.segments)), None)
        for record in iter_records(batch)
        if record.offset >= log.log_start_offset
    ]
    problems = []
    for record in records:
        found = bytes(log.read(record.offset, 1, isolation=0, min_one_message=True).records)
        if not any(header.base_offset <= record.offset <= header.last_offset for header, _ in batches(found)):
            problems.append(f"offset {record.offset} leads elsewhere")
    for timestamp in sorted({record.timestamp for record in records}):
        wanted = next(record.offset for record in records if record.timestamp >= timestamp)
        offset, _, _ = offset_for_timestamp(log, timestamp, 0)
        if offset != wanted:
            problems.append(f"time {timestamp} leads to {offset} instead of {wanted}")
    return problems[:3]


def wrong_in(served: TxnDirectory, committed: Values, hit: Values, new: Values) -> list[str]:
    """What a reader of committed records misses or must not see, in small answers and in one, and whether he has to wait."""
    log = served.log()
    problems = [] if log.last_stable_offset == log.log_end_offset else [f"pinned at {log.last_stable_offset}"]
    for max_bytes in (700, WHOLE):
        problems += differences(served.values(committed=True, max_bytes=max_bytes), committed | new, hit)
    return problems


def differences(seen: list[bytes], wanted: Values, may_be_lost: Values) -> list[str]:
    lost, shown = wanted - set(seen) - may_be_lost, set(seen) - wanted
    twice = len(seen) - len(set(seen))
    problems = [f"lost {short(lost)}"] if lost else []
    problems += [f"shown {short(shown)}"] if shown else []
    return [*problems, f"{twice} shown twice"] if twice else problems


def short(values: Values) -> str:
    return " ".join(sorted(value.decode("latin1").rstrip(".") for value in values)[:8])


def test_the_sweep_is_wide() -> None:
    assert len(ALL) >= 400
    assert {damage.file for damage, _ in ALL} >= set(LEFTOVERS)
