"""Contradictions, each planted in a journal that is sound without it."""

from __future__ import annotations

from typing import Any

import pytest
from oncelog.broker.journal.check import check

pytestmark = pytest.mark.unit
Entry = dict[str, Any]


def journal(*entries: Entry) -> list[Entry]:
    """Requests one behind the other."""
    return [
        {"begun": 2 * at, "ended": 2 * at + 1, "time_ms": at, "connection": "h:1", "client_id": "c", "version": 3, **entry}
        for at, entry in enumerate(entries, 1)
    ]


def init(epoch: int, **more: Any) -> Entry:
    return {"api": "InitProducerId", "transactional_id": "t", "producer": [-1, -1], "answered": [7, epoch], "error": "NONE", **more}


def end(epoch: int, committed: bool, error: str = "NONE") -> Entry:
    return {"api": "EndTxn", "transactional_id": "t", "producer": [7, epoch], "committed": committed, "error": error}


def batch(first: int, offset: int, epoch: int = 0, last: int | None = None, id: str | None = "t", error: str = "NONE") -> Entry:
    sequence = [first, first if last is None else last]
    told = {"partition": "a-0", "producer": [7, epoch], "sequence": sequence, "offset": offset, "error": error}
    return {"api": "Produce", "transactional_id": id, "acks": -1, "batches": [told]}


def add(epoch: int) -> Entry:
    return {"api": "AddPartitionsToTxn", "transactional_id": "t", "producer": [7, epoch], "partitions": {"a-0": "NONE"}}


def offsets(epoch: int, offset: int, told: str = "NONE") -> Entry:
    about = {"transactional_id": "t", "producer": [7, epoch], "group": "g", "offsets": {"a-0": offset}, "partitions": {"a-0": told}}
    return {"api": "TxnOffsetCommit", **about}


def plain(offset: int) -> Entry:
    return {"api": "OffsetCommit", "group": "g", "offsets": {"a-0": offset}, "partitions": {"a-0": "NONE"}}


def fetched(offset: int) -> Entry:
    return {"api": "OffsetFetch", "groups": {"g": {"a-0": offset}}}


START = {"start": True, "time_ms": 0}


@pytest.mark.parametrize(
    "entries",
    [
        (init(0), end(0, True), end(0, True), end(1, False)),
        (init(0), end(0, True), add(0), end(0, False)),  # an old client's second transaction
        (init(0), end(0, True), batch(0, 0), end(0, False)),
        (init(0), end(0, True), end(0, False, "INVALID_TXN_STATE")),
        (init(0), init(1), end(0, True, "PRODUCER_FENCED"), end(1, True)),
        (init(0), init(5), init(0, answered=[8, 0])),  # a new id, as the epochs were used up
        (init(0, error="CONCURRENT_TRANSACTIONS"), init(3), end(3, True)),
        (batch(0, 0, last=4), batch(5, 5), batch(5, 5), batch(6, 6), batch(0, 7, epoch=1)),
        (batch(0, 0), batch(5, -1, error="OUT_OF_ORDER_SEQUENCE_NUMBER"), batch(1, 1)),
        (batch(2147483646, 0, last=2147483647), batch(0, 2), batch(1, 3)),
        (batch(0, 0), START, batch(7, 7)),
        (batch(0, 0), batch(0, -1)),  # a duplicate, told without its place
        (offsets(0, 5), end(0, True), fetched(5)),
        (offsets(0, 5), end(0, False), fetched(4)),
        (plain(5), offsets(0, 5), end(0, False), fetched(5)),
        (offsets(0, 5), end(0, True, "REQUEST_TIMED_OUT"), end(0, False), fetched(5)),
        (offsets(0, 5, "ILLEGAL_GENERATION"), end(0, False), fetched(5)),
        (fetched(9), {"api": "AddOffsetsToTxn", "transactional_id": "t", "producer": [7, 0], "group": "g", "error": "NONE"}),
    ],
)
def test_what_is_sound_is_not_touched(entries: tuple[Entry, ...]) -> None:
    assert check(journal(*entries)) == []


@pytest.mark.parametrize(
    ("entries", "told"),
    [
        ((init(0), end(0, True), end(0, False)), "two outcomes: the transaction of producer 7 epoch 0 was acknowledged as committed, and"),
        ((init(0), end(0, False), end(0, True)), "two outcomes: the transaction of producer 7 epoch 0 was acknowledged as aborted, and"),
        ((init(1), batch(0, 0, epoch=1), end(0, True)), "fenced, yet acknowledged: producer 7 epoch 0 of t, whose epoch is 1 (EndTxn of c"),
        ((init(1), batch(0, 0)), "fenced, yet acknowledged: producer 7 epoch 0 of t"),
        ((init(1), add(0)), "fenced, yet acknowledged: producer 7 epoch 0 of t"),
        ((init(1), offsets(0, 1)), "fenced, yet acknowledged: producer 7 epoch 0 of t"),
        ((init(1), START, end(0, True)), "fenced, yet acknowledged: producer 7 epoch 0 of t"),
        ((init(3), init(2)), "gave out epoch 2 behind epoch 3 of producer 7"),
        ((batch(0, 0), batch(2, 1)), "gap: sequence 2 of producer 7 epoch 0 was acknowledged in a-0 behind 0"),
        ((batch(0, 0, last=4), batch(6, 5)), "gap: sequence 6 of producer 7 epoch 0 was acknowledged in a-0 behind 4"),
        ((batch(0, 0), batch(1, 1), batch(0, 2)), "written twice: sequence 0 of producer 7 epoch 0 stands in a-0 at 0 and at 2"),
        (
            (offsets(0, 5), end(0, False), fetched(5)),
            "aborted, yet visible: offset 5 of a-0 in group g (OffsetFetch of c at h:1, request 6)",
        ),
    ],
)
def test_a_contradiction_is_told(entries: tuple[Entry, ...], told: str) -> None:
    (found,) = check(journal(*entries))
    assert found.startswith(told)


def test_a_request_that_was_under_way_when_its_producer_was_fenced_may_be_acknowledged() -> None:
    entries = journal(init(1), end(0, True))
    entries[0]["ended"], entries[1]["begun"] = 9, 3
    assert check(entries) == []
    assert check([{**entries[1], "begun": 10}]) == []
