"""STATES.md holds every state and event."""

from __future__ import annotations

from oncelog.coordinator.txn.state import STORED_STATES, Event

from tools import states


def test_every_event_and_state_is_in_it() -> None:
    text = states.render()
    assert all(f"| {event.value} |" in text for event in Event)
    assert all(state.wire_name in text for state in STORED_STATES)
