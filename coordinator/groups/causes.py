"""Why a group's coordinator refused a member, in a sentence: for the log, for the inspector, and for answers that have a field for it."""

from __future__ import annotations

from dataclasses import dataclass

from oncelog.protocol.errors import ErrorCode

_E = ErrorCode
EXPLAINED = frozenset(
    {
        _E.UNKNOWN_MEMBER_ID,
        _E.ILLEGAL_GENERATION,
        _E.REBALANCE_IN_PROGRESS,
        _E.FENCED_INSTANCE_ID,
        _E.FENCED_MEMBER_EPOCH,
        _E.STALE_MEMBER_EPOCH,
        _E.UNRELEASED_INSTANCE_ID,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request of a member. `epoch`: generation or member epoch, -1 for none."""

    api: str
    group_id: str
    member_id: str = ""
    instance_id: str | None = None
    epoch: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the coordinator knows of the group. `holder`: who has the instance id now; `member_epoch`: of the member that asks."""

    there: bool
    state: str = ""
    epoch: int = -1
    holder: str | None = None
    member_epoch: int | None = None


def why(error: ErrorCode, asked: Asked, known: Known, gone: str | None = None) -> str:
    """`gone`: how the member went, where that is remembered."""
    who = f"{asked.api} of member {asked.member_id or '(none)'}"
    group = asked.group_id
    if not known.there:
        return f"{who} came for group {group}, which has no members: it has to join."
    if error is _E.UNKNOWN_MEMBER_ID:
        return f"{who} came, and {group} has no such member{f': {gone}' if gone else ', any more or ever'}; it has to join again."
    if error is _E.FENCED_INSTANCE_ID:
        holder = f"belongs to member {known.holder} by now" if known.holder else "belongs to nobody by now"
        return f"{who} came with group.instance.id {asked.instance_id}, which {holder} in {group}: two consumers use one instance id."
    if error is _E.UNRELEASED_INSTANCE_ID:
        return f"{who} asks for group.instance.id {asked.instance_id} of {group}, which member {known.holder} has not given up yet."
    if error is _E.REBALANCE_IN_PROGRESS:
        return f"{who} came while {group} rebalances ({known.state}): it has to join again."
    current = known.epoch if known.member_epoch is None else known.member_epoch
    what = "generation" if error is _E.ILLEGAL_GENERATION else "member epoch"
    if asked.epoch < 0:
        return f"{who} names no {what}, and {group} has members (it is in state {known.state}): only they may do that."
    return f"{who} came with {what} {asked.epoch}, and {group} has it at {current}: it missed a rebalance, and has to join again."
