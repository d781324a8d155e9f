"""The transition table: complete, and legal by Kafka's list of previous states."""

from __future__ import annotations

from itertools import product

from oncelog.coordinator.txn.state import STORED_STATES, TRANSITIONS, Event
from oncelog.coordinator.txn.state import TransactionState as S
from oncelog.protocol.errors import ErrorCode

IDLE = {S.EMPTY, S.COMPLETE_COMMIT, S.COMPLETE_ABORT}
LEGAL_BEFORE = {
    S.EMPTY: IDLE,
    S.ONGOING: IDLE | {S.ONGOING},
    S.PREPARE_COMMIT: {S.ONGOING},
    S.PREPARE_ABORT: IDLE | {S.ONGOING},  # from idle states since transaction.version 2
    S.COMPLETE_COMMIT: {S.PREPARE_COMMIT},
    S.COMPLETE_ABORT: {S.PREPARE_ABORT},
    S.DEAD: IDLE,
}


def test_every_pair_answers() -> None:
    assert set(TRANSITIONS) == set(product(STORED_STATES, Event))


def test_every_transition_is_legal() -> None:
    for (state, event), outcome in TRANSITIONS.items():
        if outcome.next_state is not None:
            assert state in LEGAL_BEFORE[outcome.next_state], (state, event)


def test_nothing_but_the_markers_ends_the_prepared_states() -> None:
    for state, event in product((S.PREPARE_COMMIT, S.PREPARE_ABORT), Event):
        outcome = TRANSITIONS[state, event]
        assert (outcome.next_state is None) == (event is not Event.MARKERS_WRITTEN)
        assert outcome.error is not ErrorCode.INVALID_TXN_STATE, "51 is meant"


def test_wire_names() -> None:
    assert [state.wire_name for state in S] == [
        "Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead",
    ]  # fmt: skip
