"""Brings a member step by step to its target (Kafka's `CurrentAssignmentBuilder` of streams groups).

             target is new, nothing to give up                  nothing left to wait for
    STABLE ───────────────────────────────────► UNRELEASED ─────────────────────────────► STABLE
       │  target is new, something to give up      ▲    │ target is new, something to give up
       ▼                                           │    ▼
    UNREVOKED ── the member no longer has it ──────┴── UNREVOKED

In UNREVOKED a member stays at its old epoch; a task is free for others only when the member, in a heartbeat, lists what it has and the task
is not there any more. In UNRELEASED it is at the epoch of the target already and gets what becomes free, heartbeat by heartbeat. The state
of a task is a directory of the process, so a process has a task once only: active or standby, in one thread.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import Enum
from typing import NamedTuple

from oncelog.coordinator.groups.streams.state import StreamsGroup, StreamsMember, StreamsMemberState
from oncelog.coordinator.groups.streams.tasks import HAS_NO_TASKS, Epochs, HeldTasks, Task, Tasks, TaskSets
from oncelog.protocol.errors import ErrorCode, KafkaError

_NOTHING: frozenset[int] = frozenset()
_S = StreamsMemberState


class Found(Enum):
    """What a heartbeat finds; the value is what the table in STATES.md calls it."""

    STILL_HAS = "has not said that it gave up what it was told to"
    MUST_GIVE_UP = "has what it shall not keep"
    WAITS = "others have what it shall get"
    COMPLETE = "gets all that it shall have"


class NextEpoch(Enum):
    """Of the member."""

    SAME = "same epoch"
    ONE_MORE = "epoch + 1"
    TARGET = "epoch of the target"


class Step(NamedTuple):
    """How the member comes out of a heartbeat."""

    state: StreamsMemberState
    epoch: NextEpoch


# A member at the epoch of its target stays as it is, once it is Stable.
STEPS: dict[tuple[StreamsMemberState, Found], Step] = {
    (_S.STABLE, Found.MUST_GIVE_UP): Step(_S.UNREVOKED_TASKS, NextEpoch.SAME),
    (_S.STABLE, Found.WAITS): Step(_S.UNRELEASED_TASKS, NextEpoch.TARGET),
    (_S.STABLE, Found.COMPLETE): Step(_S.STABLE, NextEpoch.TARGET),
    (_S.UNREVOKED_TASKS, Found.STILL_HAS): Step(_S.UNREVOKED_TASKS, NextEpoch.SAME),
    (_S.UNREVOKED_TASKS, Found.MUST_GIVE_UP): Step(_S.UNREVOKED_TASKS, NextEpoch.ONE_MORE),
    (_S.UNREVOKED_TASKS, Found.WAITS): Step(_S.UNRELEASED_TASKS, NextEpoch.TARGET),
    (_S.UNREVOKED_TASKS, Found.COMPLETE): Step(_S.STABLE, NextEpoch.TARGET),
    (_S.UNRELEASED_TASKS, Found.MUST_GIVE_UP): Step(_S.UNREVOKED_TASKS, NextEpoch.SAME),
    (_S.UNRELEASED_TASKS, Found.WAITS): Step(_S.UNRELEASED_TASKS, NextEpoch.TARGET),
    (_S.UNRELEASED_TASKS, Found.COMPLETE): Step(_S.STABLE, NextEpoch.TARGET),
    (_S.UNKNOWN, Found.WAITS): Step(_S.UNRELEASED_TASKS, NextEpoch.TARGET),
    (_S.UNKNOWN, Found.COMPLETE): Step(_S.STABLE, NextEpoch.TARGET),
}


def reconcile(group: StreamsGroup, member: StreamsMember, owned: TaskSets | None, target: TaskSets, epoch: int) -> StreamsMember:
    """The member after this heartbeat, on its way to `target` of `epoch`. `owned`: what it says it has (None: it does not say).

    Raises KafkaError 110 for a member in a state that a later version wrote, unless it has nothing.
    """
    if member.state is _S.STABLE and member.epoch == epoch:
        return member
    if member.state is _S.UNREVOKED_TASKS and (owned is None or owned.overlaps(member.revoking.sets())):
        assert STEPS[member.state, Found.STILL_HAS] == (member.state, NextEpoch.SAME)
        return member
    if member.state is _S.UNKNOWN and (owned is None or owned):
        text = "The streams group member is in a unknown state. The member must abandon all its tasks and rejoin."
        raise KafkaError(ErrorCode.FENCED_MEMBER_EPOCH, text)
    has = member.assigned
    kept = HeldTasks(_kept_epochs(has.active, target.active), _both(has.standby, target.standby), _both(has.warmup, target.warmup))
    revoked = HeldTasks(_dropped_epochs(has.active, target.active), _only(has.standby, target.standby), _only(has.warmup, target.warmup))
    if revoked and (owned is None or owned.overlaps(revoked.sets())):
        return _moved(member, Found.MUST_GIVE_UP, epoch, kept, revoked)
    wanted = TaskSets(*(_only(new, old) for new, old in zip(target, has.sets(), strict=True)))
    free = _free_of(group, member, wanted)
    active = {
        subtopology: {**kept.active.get(subtopology, {}), **dict.fromkeys(free.active.get(subtopology, _NOTHING), epoch)}
        for subtopology in {**kept.active, **free.active}
    }
    assigned = HeldTasks(active, _union(kept.standby, free.standby), _union(kept.warmup, free.warmup))
    return _moved(member, Found.COMPLETE if free == wanted else Found.WAITS, epoch, assigned, HAS_NO_TASKS)


def _free_of(group: StreamsGroup, member: StreamsMember, wanted: TaskSets) -> TaskSets:
    """What of `wanted` nobody is in the way of. What the member had itself and does not keep, it has given up by now."""

    def may_run(task: Task) -> bool:
        owner = group.owners.get(task)
        return (owner is None or owner == member.member_id) and not group.is_followed_beside(member, task)

    def may_follow(task: Task) -> bool:
        return not group.runs_beside(member, task) and not group.is_followed_beside(member, task)

    return TaskSets(_free(wanted.active, may_run), _free(wanted.standby, may_follow), _free(wanted.warmup, may_follow))


def _moved(member: StreamsMember, found: Found, target_epoch: int, assigned: HeldTasks, revoking: HeldTasks) -> StreamsMember:
    """The former epoch is remembered: an answer may be lost."""
    step = STEPS[member.state, found]
    match step.epoch:
        case NextEpoch.SAME:
            epoch = member.epoch
        case NextEpoch.ONE_MORE:
            epoch = member.epoch + 1
        case NextEpoch.TARGET:
            epoch = target_epoch
    return replace(member, epoch=epoch, previous_epoch=member.epoch, state=step.state, assigned=assigned, revoking=revoking)


def _kept_epochs(has: Epochs, target: Tasks) -> Epochs:
    kept = {s: {p: epoch for p, epoch in epochs.items() if p in target.get(s, _NOTHING)} for s, epochs in has.items()}
    return {s: epochs for s, epochs in kept.items() if epochs}


def _dropped_epochs(has: Epochs, target: Tasks) -> Epochs:
    dropped = {s: {p: epoch for p, epoch in epochs.items() if p not in target.get(s, _NOTHING)} for s, epochs in has.items()}
    return {s: epochs for s, epochs in dropped.items() if epochs}


def _both(one: Tasks, other: Tasks) -> Tasks:
    return {s: both for s, partitions in one.items() if (both := partitions & other.get(s, _NOTHING))}


def _only(one: Tasks, other: Tasks) -> Tasks:
    return {s: only for s, partitions in one.items() if (only := partitions - other.get(s, _NOTHING))}


def _union(one: Tasks, other: Tasks) -> Tasks:
    return {s: one.get(s, _NOTHING) | other.get(s, _NOTHING) for s in {**one, **other}}


def _free(tasks: Tasks, may_have: Callable[[Task], bool]) -> Tasks:
    found = {s: frozenset(p for p in partitions if may_have(Task(s, p))) for s, partitions in tasks.items()}
    return {s: partitions for s, partitions in found.items() if partitions}
