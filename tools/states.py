"""coordinator/STATES.md: tables and charts of the coordinators' states, rendered from the transition tables."""

from __future__ import annotations

from oncelog.coordinator.groups.classic.state import TRANSITIONS as GROUP_TRANSITIONS
from oncelog.coordinator.groups.classic.state import ClassicGroupState, GroupEvent, GroupOutcome
from oncelog.coordinator.groups.share.heartbeat import VERDICTS as HEARTBEATS
from oncelog.coordinator.groups.share.heartbeat import Sender
from oncelog.coordinator.groups.streams.reconcile import STEPS, Found
from oncelog.coordinator.groups.streams.state import RULES, StreamsMemberState
from oncelog.coordinator.share.state import VERDICTS, Asked, Standing, Writes
from oncelog.coordinator.txn.state import STORED_STATES, TRANSITIONS, Event, Outcome, TransactionState
from oncelog.protocol.errors import ErrorCode

_INTRODUCTION = """\
# States of a transactional id

Generated from `txn/state.py` by `python -m tools.docs`. A cell is the answer, and the state that
follows if it changes (`-> State`); `0` is success, a dot is success without any change. Codes: {codes}.

The table is looked at after the checks that do not depend on the state: unknown id (49), producer id (49), epoch (90), and
51 while the last change of the id is not durable. EndTxn v5 looks at 51 first, as Apache Kafka 4.3.0 does.
"""

_GROUPS = """\
# States of a classic group

Generated from `groups/classic/state.py`. A cell is the answer, and the state that follows if it changes; `parked` is kept waiting, a dash
is nothing. Codes: {codes}.
"""

_SHARE = """\
# A share partition at the share coordinator

Generated from `share/state.py`. A cell is the answer and what is written for it; a dash cannot be, because the request does not have that
epoch. Codes: {codes}. Every so many updates a snapshot is written instead.
"""

_STREAMS = """\
# States of a streams group

Generated from `groups/streams/state.py`: the first that is true of a group.
"""

_STREAMS_MEMBERS = """\
## Its members

Generated from `groups/streams/reconcile.py`: how a member comes out of a heartbeat; a dash cannot be. Once it is STABLE at the epoch of its
target it stays so. In UNKNOWN, which a later version wrote, a member that has tasks, or does not say, is 110.
"""

_SHARE_GROUPS = """\
# Heartbeats of a share group

Generated from `groups/share/heartbeat.py`: the answer, by the member epoch that is sent and by whose it is. The group is Empty or Stable,
by whether it has members. A member that joins with 0 a second time keeps its epoch. Codes: {codes}.
"""

_DEAD = TransactionState.DEAD
_STATES: tuple[TransactionState, ...] = STORED_STATES


def render() -> str:
    """The whole file."""
    codes = sorted({outcome.error for outcome in TRANSITIONS.values()} - {ErrorCode.NONE})
    parts = [_INTRODUCTION.format(codes=", ".join(f"{code.value} {code.name}" for code in codes)), _table(), "\n## Chart\n", _chart()]
    group_codes = sorted({each.error for each in GROUP_TRANSITIONS.values() if each.error})
    listed = ", ".join(f"{code.value} {code.name}" for code in group_codes)
    parts += [_GROUPS.format(codes=listed), _group_table(), "\n## Chart\n", _group_chart()]
    share_codes = sorted({each.error for each in VERDICTS.values() if each.error})
    parts += [_SHARE.format(codes=", ".join(f"{code.value} {code.name}" for code in share_codes)), _share_table()]
    heartbeat_codes = sorted({error for row in HEARTBEATS.values() for error in row.values() if error})
    listed = ", ".join(f"{code.value} {code.name}" for code in heartbeat_codes)
    parts += [_SHARE_GROUPS.format(codes=listed), _heartbeat_table()]
    parts += [_STREAMS, _streams_table(), _STREAMS_MEMBERS, _streams_member_table()]
    return "\n".join(parts)


def _heartbeat_table() -> str:
    head = ["member epoch", *(sender.value for sender in Sender)]
    rows = [[how.value, *(str(row[sender].value) for sender in Sender)] for how, row in HEARTBEATS.items()]
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows]) + "\n"


def _streams_table() -> str:
    rows = [["state", "when"], ["---", "---"], *([rule.state.value, rule.why] for rule in RULES)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"


def _streams_member_table() -> str:
    head = ["found", *(state.name for state in StreamsMemberState)]
    rows = [[found.value, *(_streams_cell(state, found) for state in StreamsMemberState)] for found in Found]
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows]) + "\n"


def _streams_cell(state: StreamsMemberState, found: Found) -> str:
    step = STEPS.get((state, found))
    return "-" if step is None else f"{step.state.name}, {step.epoch.value}"


def _share_table() -> str:
    head = ["request", *(standing.value for standing in Standing)]
    rows = [[asked.value, *(_share_cell(asked, standing) for standing in Standing)] for asked in Asked]
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows]) + "\n"


def _share_cell(asked: Asked, standing: Standing) -> str:
    found = VERDICTS.get((asked, standing))
    if found is None:
        return "-"
    return str(found.error.value) if found.writes is Writes.NOTHING else f"{found.error.value}, {found.writes.value}"


def _group_table() -> str:
    head = ["event", *(state.value for state in ClassicGroupState)]
    rows = [[event.value, *(_group_cell(event, GROUP_TRANSITIONS[state, event]) for state in ClassicGroupState)] for event in GroupEvent]
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows]) + "\n"


def _group_cell(event: GroupEvent, outcome: GroupOutcome) -> str:
    asked = event not in (GroupEvent.ALL_JOINED, GroupEvent.ALL_LEFT)
    answer = str(outcome.error.value) if outcome.error is not None else "parked" if asked else "-"
    return answer if outcome.next_state is None else f"{answer} -> {outcome.next_state.value}"


def _group_chart() -> str:
    arrows: dict[tuple[ClassicGroupState, ClassicGroupState], list[str]] = {}
    for (state, event), outcome in GROUP_TRANSITIONS.items():
        if outcome.next_state is not None:
            arrows.setdefault((state, outcome.next_state), []).append(event.value)
    lines = ["```mermaid", "stateDiagram-v2", "    [*] --> Empty: first JoinGroup or OffsetCommit"]
    for (state, following), events in arrows.items():
        target = "[*]" if following is ClassicGroupState.DEAD else following.value
        lines.append(f"    {state.value} --> {target}: {' / '.join(events)}")
    return "\n".join([*lines, "```", ""])


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
