"""Prints STATES.md from the transition table: `python -m oncelog.coordinator.states_doc`; a test checks that the file is not stale."""

from __future__ import annotations

from pathlib import Path

from oncelog.coordinator.txn_state import STORED_STATES, TRANSITIONS, Event, Outcome, TransactionState
from oncelog.protocol.errors import ErrorCode

PATH = Path(__file__).with_name("STATES.md")

_INTRODUCTION = """\
# States of a transactional id

Generated from `txn_state.py` by `python -m oncelog.coordinator.states_doc`. A cell is the answer, and the state that
follows if it changes (`-> State`); `0` is success, a dot is success without any change. Codes: {codes}.

The table is looked at after the checks that do not depend on the state: unknown id (49), producer id (49), epoch (90), and
51 while the last change of the id is not durable. EndTxn v5 looks at 51 first, as Apache Kafka 4.3.0 does.
"""

_DEAD = TransactionState.DEAD
_STATES: tuple[TransactionState, ...] = STORED_STATES


def render() -> str:
    """The whole file."""
    codes = sorted({outcome.error for outcome in TRANSITIONS.values()} - {ErrorCode.NONE})
    parts = [_INTRODUCTION.format(codes=", ".join(f"{code.value} {code.name}" for code in codes)), _table(), "\n## Chart\n", _chart()]
    return "\n".join(parts)


def _table() -> str:
    head = ["event", *(state.wire_name for state in _STATES)]
    rows = [[event.value, *(_cell(TRANSITIONS[state, event]) for state in _STATES)] for event in Event]
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows]) + "\n"


def _cell(outcome: Outcome) -> str:
    if outcome.next_state is None:
        return str(outcome.error.value) if outcome.error else "·"
    return f"{outcome.error.value} -> {outcome.next_state.wire_name}"


def _chart() -> str:
    arrows: dict[tuple[TransactionState, TransactionState], list[str]] = {}
    for event in Event:
        for state in _STATES:
            following = TRANSITIONS[state, event].next_state
            if following is not None:
                arrows.setdefault((state, following), []).append(event.value)
    lines = ["```mermaid", "stateDiagram-v2", "    [*] --> Empty: first InitProducerId"]
    for (state, following), events in arrows.items():
        target = "[*]" if following is _DEAD else following.wire_name
        lines.append(f"    {state.wire_name} --> {target}: {' / '.join(events)}")
    return "\n".join([*lines, "```", ""])


if __name__ == "__main__":
    PATH.write_text(render(), encoding="utf-8")
