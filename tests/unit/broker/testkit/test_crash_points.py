"""Which point a change of the disk is; that a broker comes back from each is `wire/test_crash_points.py`."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import pytest
from oncelog.broker.testkit.crash_points import POINTS, CrashPoints
from oncelog.coordinator.txn.shard import TransactionLogFormat
from oncelog.coordinator.txn.state import TransactionMetadata, TransactionState
from oncelog.protocol.control_records import end_transaction_marker
from oncelog.protocol.records import build_batch

pytestmark = pytest.mark.unit
LOG = Path("/d/t-0/00000000000000000000.log")
STATE = Path("/d/__transaction_state-3/00000000000000000000.log")
OFFSETS = Path("/d/__consumer_offsets-1/00000000000000000000.log")
MARKER = bytes(end_transaction_marker(1, 0, True, 0, 0))
DATA = bytes(build_batch([(0, b"k", b"v")]))


class Dead(Exception):
    """Instead of an end."""


def die() -> NoReturn:
    raise Dead


@pytest.fixture
def points() -> CrashPoints:
    return CrashPoints(die)


def state(to: TransactionState) -> bytes:
    record = TransactionLogFormat(2).record(TransactionMetadata("t", 1, 0, 1000, to, 0))
    return bytes(build_batch([(0, record.key, record.value)]))


def whole_life(points: CrashPoints) -> str:
    """What was last begun, of everything that a broker does to its disk, before it died."""
    steps = [
        ("data", lambda: points.writing(LOG, DATA) is not None and points.cut(LOG)),
        ("sync", lambda: points.synced(LOG)),
        ("ongoing", lambda: points.writing(STATE, state(TransactionState.ONGOING))),
        ("offsets", lambda: points.writing(OFFSETS, bytes(build_batch([(0, b"k", b"v")], producer_id=1, is_transactional=True)))),
        ("prepare", lambda: points.written(STATE, state(TransactionState.PREPARE_ABORT))),
        ("marker", lambda: points.written(LOG, MARKER)),
        ("marker of offsets", lambda: points.written(OFFSETS, MARKER)),
        ("complete", lambda: points.writing(STATE, state(TransactionState.COMPLETE_ABORT))),
        ("first segment", lambda: points.created(LOG)),
        ("roll", lambda: points.created(LOG.with_name("00000000000000000009.log"))),
        ("index", lambda: points.created(LOG.with_name("00000000000000000009.index"))),
        ("snapshot", lambda: points.replacing(LOG.with_suffix(".snapshot"))),
        ("checkpoint", lambda: points.replacing(Path("/d/recovery-point-offset-checkpoint"))),
        ("swap", lambda: points.renamed(LOG.with_suffix(".log.cleaned"), LOG.with_suffix(".log.swap"))),
    ]
    for name, step in steps:
        try:
            step()
        except Dead:
            return name
    return "alive"


@pytest.mark.parametrize(
    ("point", "nth", "where"),
    [
        ("mid-write", 1, "data"),
        ("after-sync", 1, "sync"),
        ("before-offsets", 1, "offsets"),
        ("after-prepare", 1, "prepare"),
        ("after-marker", 1, "marker"),
        ("after-marker", 2, "marker of offsets"),
        ("after-marker", 3, "alive"),
        ("before-complete", 1, "complete"),
        ("in-roll", 1, "roll"),
        ("in-snapshot", 1, "snapshot"),
        ("in-compaction-swap", 1, "swap"),
    ],
)
def test_each_point_is_where_it_says(points: CrashPoints, point: str, nth: int, where: str) -> None:
    points.arm(point, nth)
    assert whole_life(points) == where
    assert [armed.point for armed in points.armed()] == ([] if where != "alive" else [point])


def test_every_point_is_passed() -> None:
    for point in POINTS:
        points = CrashPoints(die)
        points.arm(point)
        assert whole_life(points) != "alive", point


def test_a_wrong_name_is_told_the_right_ones_and_counts_begin_at_one(points: CrashPoints) -> None:
    with pytest.raises(ValueError, match="did you mean after-prepare"):
        points.arm("after-prepared")
    with pytest.raises(ValueError, match="the first time is 1"):
        points.arm("after-prepare", 0)
