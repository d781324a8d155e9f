"""STATES.md is what the transition table says today."""

from __future__ import annotations

from oncelog.coordinator import states_doc
from oncelog.coordinator.txn.state import STORED_STATES, Event


def test_states_md_is_fresh() -> None:
    assert states_doc.PATH.read_text(encoding="utf-8") == states_doc.render(), "run: python -m oncelog.coordinator.states_doc"


def test_every_event_and_state_is_in_it() -> None:
    text = states_doc.render()
    assert all(f"| {event.value} |" in text for event in Event)
    assert all(state.wire_name in text for state in STORED_STATES)
