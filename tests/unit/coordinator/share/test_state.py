"""What a request comes to, by how its epochs stand to those that are known."""

from __future__ import annotations

import uuid

import pytest
from oncelog.coordinator.share.state import VERDICTS, Asked, SharePartitionKey, ShareState, Standing, Writes, verdict
from oncelog.protocol.errors import ErrorCode

_E = ErrorCode
KNOWN = ShareState(0, 4, 2, 2, 0, 0, (), 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("asked", "leader_epoch", "state_epoch", "error", "writes"),
    [
        (Asked.INITIALIZE, None, 3, _E.FENCED_STATE_EPOCH, Writes.NOTHING),
        (Asked.INITIALIZE, None, 4, _E.NONE, Writes.SNAPSHOT),
        (Asked.INITIALIZE, None, -1, _E.NONE, Writes.SNAPSHOT),
        (Asked.READ, 1, None, _E.FENCED_LEADER_EPOCH, Writes.NOTHING),
        (Asked.READ, -1, None, _E.FENCED_LEADER_EPOCH, Writes.NOTHING),
        (Asked.READ, 2, None, _E.NONE, Writes.NOTHING),
        (Asked.READ, 3, None, _E.NONE, Writes.UPDATE),
        (Asked.WRITE, 1, 3, _E.FENCED_LEADER_EPOCH, Writes.NOTHING),
        (Asked.WRITE, 2, 3, _E.FENCED_STATE_EPOCH, Writes.NOTHING),
        (Asked.WRITE, 7, 3, _E.FENCED_STATE_EPOCH, Writes.NOTHING),
        (Asked.WRITE, 7, 9, _E.NONE, Writes.UPDATE),
        (Asked.WRITE, -1, -1, _E.NONE, Writes.UPDATE),
        (Asked.SUMMARY, None, None, _E.NONE, Writes.NOTHING),
        (Asked.DELETE, None, None, _E.NONE, Writes.TOMBSTONE),
    ],
)
def test_verdicts(asked: Asked, leader_epoch: int | None, state_epoch: int | None, error: ErrorCode, writes: Writes) -> None:
    assert verdict(asked, KNOWN, leader_epoch=leader_epoch, state_epoch=state_epoch) == (error, writes)


def test_what_was_never_initialized_is_neither_read_nor_written() -> None:
    found = {asked: verdict(asked, None, leader_epoch=0, state_epoch=0) for asked in Asked}
    assert {asked for asked, (error, _) in found.items() if error is _E.INVALID_REQUEST} == {Asked.READ, Asked.WRITE}
    assert found[Asked.DELETE] == (_E.NONE, Writes.NOTHING)


def test_a_refusal_writes_nothing() -> None:
    assert {standing for _, standing in VERDICTS} == set(Standing)
    assert not [row for row in VERDICTS.values() if row.error and row.writes is not Writes.NOTHING]


def test_a_share_partition_is_named_as_findcoordinator_names_it() -> None:
    key = SharePartitionKey("g-g18", uuid.UUID("5ed15ab2-8600-4e25-bd53-bbff24ad0faa"), 0)
    assert key.coordinator_key == "g-g18:XtFasoYATiW9U7v_JK0Pqg:0"
