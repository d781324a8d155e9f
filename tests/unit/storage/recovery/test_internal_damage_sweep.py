"""The sweep over `__transaction_state` and `__consumer_offsets`: every file × where × how, after an orderly stop and after a kill.

Whatever was damaged: `verify` sees it, the start succeeds and says it in the log, no record of another partition is gone, offsets that were
committed in batches that were not hit are told, no offset of an aborted or open transaction is, no pair of producer id and epoch is given
out twice, the last stable offsets are free, groups and ids go on, compaction changes nothing of that, and the next start is quiet.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import TopicPartition
from oncelog.storage.audit.findings import Findings
from oncelog.storage.audit.groups import replay_group_offsets
from oncelog.storage.audit.raw_directory import open_partition_folder
from support.damage_sweep import ACTIVE, SEALED, Damage, Values
from support.internal_directory import (
    CLASSIC,
    CONSUMER,
    IN_TXN,
    OFFSETS,
    PLAIN,
    STATE,
    Committed,
    Hit,
    InternalDirectory,
    Pair,
    fill_internal,
    inflict_on,
    internal_damages,
)
from support.sweep_log import findings, told
from support.txn_directory import PLACE

pytestmark = [pytest.mark.unit, pytest.mark.uncovered]
CLEAN, KILLED = "clean", "killed"
ALL = [(place, damage, stop) for place, damage in internal_damages() for stop in (CLEAN, KILLED)]
SLICE = 23
MOST_LINES = 6  # the damage, what was made again after it, and what it meant for transactions
REMADE_AFTER_A_KILL = ("index", "timeindex")
PREPARED = (IN_TXN, TopicPartition(PLACE.topic, 1))
# a member whose record was hit is told to join again
KNOWN_MEMBER = (
    ErrorCode.NONE,
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.FENCED_MEMBER_EPOCH,
    ErrorCode.GROUP_ID_NOT_FOUND,
)


class Original(NamedTuple):
    """An undamaged directory and what clients were told. `recorded`: where in the log a committed offset stands."""

    path: Path
    everything: Values
    committed: Values
    offsets: Committed
    recorded: dict[tuple[str, TopicPartition], int]
    pairs: dict[str, Pair]
    given: set[Pair]
    members: dict[str, tuple[str, int]]
    now_ms: int
    said: list[str]
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
        filled, pairs = fill_internal(path)
        everything, now_ms = set(filled.values(committed=False)), filled.clock.now_ms
        filled.logs.chores.write_checkpoints(everything=True)
        filled.close() if stop == CLEAN else filled.kill()
        copy = Path(shutil.copytree(path, path.with_name("again")))
        with told() as said:
            again = InternalDirectory(copy, now_ms)
        assert set(again.values(committed=False)) == everything
        offsets = again.committed()
        assert offsets[PREPARED] == 4000
        again.kill()
        recorded = {}
        for (group, topic, partition), at in replayed(copy).items():
            recorded[group, TopicPartition(topic, partition)] = at
        committed = {value for value in everything if value[:1] in b"cq"}
        made[stop] = Original(
            path, everything, committed, offsets, recorded, pairs, filled.given, filled.members, now_ms, said, findings(path)
        )
    return made


def replayed(data_dir: Path) -> dict[tuple[str, str, int], int]:
    folder = open_partition_folder(data_dir / str(OFFSETS), OFFSETS.topic, OFFSETS.partition)
    return {position: at.recorded_at for position, at in replay_group_offsets(folder, Findings()).committed.items()}


def sampled(seed: int) -> list[object]:
    """All of them, of which `make test` runs a slice."""
    return [
        pytest.param(*one, id=f"{one[0]} {one[1].name}, {one[2]}", marks=() if (number + seed) % SLICE == 0 else pytest.mark.slow)
        for number, one in enumerate(ALL)
    ]


@pytest.mark.parametrize(("place", "damage", "stop"), sampled(0))
def test_sweep(
    originals: dict[str, Original], tmp_path: Path, request: pytest.FixtureRequest, place: TopicPartition, damage: Damage, stop: str
) -> None:
    assert wrong_after(place, damage, originals[stop], stop, request.config.getoption("--seed"), tmp_path) == []


def wrong_after(place: TopicPartition, damage: Damage, original: Original, stop: str, seed: int, tmp_path: Path) -> list[str]:
    """What is not as it should be once the damage was met by two starts."""
    data_dir = Path(shutil.copytree(original.path, tmp_path / "data"))
    hit = inflict_on(place, damage, data_dir, seed)
    if hit is None:
        return []
    problems = [] if findings(data_dir) != original.findings or is_meaningless(place, damage) else ["verify sees nothing"]
    with told() as said, contextlib.closing(InternalDirectory(data_dir, original.now_ms)) as served:
        served.members |= original.members
        problems += wrong_records(served, original, hit, set(), settled=False)
        problems += wrong_offsets(served, original, hit)
        served.pass_time(200_000)
        new = wrong_pairs(served, original, problems)
        problems += wrong_groups(served)
        problems += [
            f"pinned: {place}" for place in (PLACE, OFFSETS) if served.log(place).last_stable_offset != served.log(place).log_end_offset
        ]
        problems += wrong_records(served, original, hit, new)
        before = served.committed()
        served.compact()
        if served.committed() != before:
            problems.append("compaction changes offsets")
        lines = [line for line in said if line not in original.said]
        now_ms = served.clock.now_ms
    if not lines and not is_unsaid(damage, stop):
        problems.append("nothing was said")
    if len(lines) > MOST_LINES:
        problems.append(f"{len(lines)} lines: {lines}")
    with told() as said, contextlib.closing(InternalDirectory(data_dir, now_ms)) as again:
        problems += wrong_records(again, original, hit, new)
        if again.committed() != before:
            problems.append("other offsets after the second start")
    return problems + [f"said again: {line}" for line in said]


def is_meaningless(place: TopicPartition, damage: Damage) -> bool:
    """Nothing that anybody could miss: a snapshot of no producers, an index entry fewer, what hid records that compaction removed, or what
    an entry says of the last stable offset, which cannot be told any more where transactions in front of it were compacted."""
    of_nobody = place == STATE and damage.file == "snapshot" and damage.how == "remove"
    fewer = damage.slot == SEALED and (damage.file, damage.how) == ("index", "cut out")
    stable = damage.file == "txnindex" and (damage.slot == SEALED or damage.how in ("flip", "zero"))
    return of_nobody or fewer or stable


def is_unsaid(damage: Damage, stop: str) -> bool:
    """As in the sweep of a partition; and nobody looks into these logs by time, or for what was aborted in compacted segments."""
    remade = stop == KILLED and damage.slot == ACTIVE and damage.file in REMADE_AFTER_A_KILL
    redundant = (damage.file, damage.how) in (
        ("oncelog.txnindexes", "remove"),
        ("snapshot", "remove"),
        ("index", "flip"),
        ("index", "cut out"),
    )
    by_time = damage.file == "timeindex" and damage.how in ("zero", "flip", "garbage", "cut out")
    gone = damage.slot == SEALED and damage.file == "txnindex"
    return remade or redundant or by_time or gone


def wrong_records(served: InternalDirectory, original: Original, hit: Hit, new: Values, *, settled: bool = True) -> list[str]:
    """The damage did not concern them; only how an unfinished transaction ends may have been lost with the coordinator's log.
    Not `settled`: behind the transaction that is open nothing is committed yet."""
    everything, committed = set(served.values(committed=False)), set(served.values(committed=True))
    is_unsure = not settled or (hit.place == STATE and hit.ranges)
    unsure = {value for value in original.committed if value[:1] == b"q"} if is_unsure else set()
    problems = [f"{len(gone)} records gone"] if (gone := (original.everything | new) - everything) else []
    problems += [f"lost {sorted(gone)[:5]}"] if (gone := (original.committed | new) - committed - unsure) else []
    problems += [f"shown {sorted(more)[:5]}"] if (more := committed - original.committed - new) else []
    return problems


def wrong_offsets(served: InternalDirectory, original: Original, hit: Hit) -> list[str]:
    told, problems = served.committed(), []
    for key, offset in original.offsets.items():
        unsure = (hit.place == OFFSETS and original.recorded[key] in hit) or (key == PREPARED and hit.place == STATE and hit.ranges)
        if told.get(key) != offset and not unsure:
            problems.append(f"{key} {told.get(key)} instead of {offset}")
    problems += [f"{key} {offset}: never committed" for key, offset in told.items() if offset in (666, 667) or key not in original.offsets]
    return problems[:5]


def wrong_pairs(served: InternalDirectory, original: Original, problems: list[str]) -> Values:
    """Every id goes on, with pairs that nobody had; what it wrote."""
    new: Values = set()
    known = set(original.given)
    for id in original.pairs:
        pair = served.init(id)
        if pair in known:
            problems.append(f"{id} gets {pair} again")
        known.add(pair)
        value = f"new {id}".encode()
        served.put(value, pair, 0, id)
        served.commit_in(id, pair, TopicPartition(PLACE.topic, 200), 7000)
        served.end(id, pair, commit=True)
        new.add(value)
    if served.init(None)[0] in {producer_id for producer_id, _ in known}:
        problems.append("a producer id is given out twice")
    if served.committed().get((IN_TXN, TopicPartition(PLACE.topic, 200))) != 7000:
        problems.append("an offset in a new transaction is not told")
    return new


def wrong_groups(served: InternalDirectory) -> list[str]:
    told: dict[str, ErrorCode] = {CLASSIC: served.beat_classic(), CONSUMER: served.beat_consumer()}
    problems = [f"{group}: {error.name}" for group, error in told.items() if error not in KNOWN_MEMBER]
    for group in (PLAIN, *(group for group, error in told.items() if error is ErrorCode.NONE)):
        if (error := served.commit(group, PLACE, 9000)) is not ErrorCode.NONE:
            problems.append(f"{group} can not commit: {error.name}")
        elif served.committed().get((group, PLACE)) != 9000:
            problems.append(f"{group}: what it commits is not told")
    return problems


def test_the_sweep_is_wide(originals: dict[str, Original]) -> None:
    assert len(ALL) >= 1000
    files = defaultdict(set)
    for place in (STATE, OFFSETS):
        for path in (originals[CLEAN].path / str(place)).iterdir():
            files[place].add(path.suffix)
    assert {".log", ".index", ".timeindex", ".snapshot"} <= files[STATE] & files[OFFSETS]
    assert ".txnindex" in files[OFFSETS]
