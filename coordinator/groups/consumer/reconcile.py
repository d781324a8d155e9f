"""Brings a member step by step to its target (Kafka's `CurrentAssignmentBuilder`).

             target is new, nothing to give up                  nothing left to wait for
    STABLE ───────────────────────────────────► UNRELEASED ─────────────────────────────► STABLE
       │  target is new, something to give up      ▲    │ target is new, something to give up
       ▼                                           │    ▼
    UNREVOKED ── the member no longer has it ──────┴── UNREVOKED

In UNREVOKED a member stays at its old epoch; a partition is free for others only when the member, in a heartbeat, lists what it has and the
partition is not there any more. In UNRELEASED it is at the epoch of the target already and gets what becomes free, heartbeat by heartbeat.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import replace

from oncelog.coordinator.groups.consumer.assignors import Assignment, Place
from oncelog.coordinator.groups.consumer.state import ConsumerGroup, ConsumerMember, MemberState

_NOTHING: frozenset[int] = frozenset()


def reconcile(
    group: ConsumerGroup, member: ConsumerMember, owned: Assignment | None, subscribed: Callable[[uuid.UUID], bool]
) -> ConsumerMember:
    """The member after this heartbeat. `owned`: what it says it has (None: as before). What it is not `subscribed` to any more is taken
    back at once, and not given again, even while the target assignment still says so."""
    if member.state is MemberState.UNREVOKED_PARTITIONS and _still_has(owned, member.revoking):
        return _drop_unsubscribed(member, owned, subscribed)
    if member.state is not MemberState.STABLE or member.epoch != group.assignment_epoch:
        return _next(group, member, owned, subscribed)
    return _drop_unsubscribed(member, owned, subscribed)


def _still_has(owned: Assignment | None, revoking: Assignment) -> bool:
    """It may: somebody who does not say what it has may have everything."""
    if owned is None:
        return True
    return any(owned.get(topic_id, _NOTHING) & partitions for topic_id, partitions in revoking.items())


def _next(
    group: ConsumerGroup, member: ConsumerMember, owned: Assignment | None, subscribed: Callable[[uuid.UUID], bool]
) -> ConsumerMember:
    target = {topic_id: partitions for topic_id, partitions in group.target_of(member.member_id).items() if subscribed(topic_id)}
    kept: dict[uuid.UUID, frozenset[int]] = {}
    revoked: dict[uuid.UUID, frozenset[int]] = {}
    added: dict[uuid.UUID, frozenset[int]] = {}
    waits = False
    for topic_id in {**target, **member.assigned}:
        wanted, had = target.get(topic_id, _NOTHING), member.assigned.get(topic_id, _NOTHING)
        free = frozenset(p for p in wanted - had if _is_free(group, member, Place(topic_id, p), owned))
        waits = waits or free != wanted - had
        _put(kept, topic_id, wanted & had)
        _put(revoked, topic_id, had - wanted)
        _put(added, topic_id, free)
    if revoked and _still_has(owned, revoked):
        return _moved(member, member.epoch, MemberState.UNREVOKED_PARTITIONS, kept, revoked)
    for topic_id, partitions in added.items():
        kept[topic_id] = kept.get(topic_id, _NOTHING) | partitions
    state = MemberState.UNRELEASED_PARTITIONS if waits else MemberState.STABLE
    return _moved(member, group.assignment_epoch, state, kept, {})


def _is_free(group: ConsumerGroup, member: ConsumerMember, place: Place, owned: Assignment | None) -> bool:
    holder = group.owners.get(place)
    if holder is None:
        return True
    # What it was giving up itself is given back at once: it has just said that it no longer has it.
    return holder == member.member_id and owned is not None


def _drop_unsubscribed(member: ConsumerMember, owned: Assignment | None, subscribed: Callable[[uuid.UUID], bool]) -> ConsumerMember:
    kept = {topic_id: partitions for topic_id, partitions in member.assigned.items() if subscribed(topic_id)}
    dropped = {topic_id: partitions for topic_id, partitions in member.assigned.items() if not subscribed(topic_id)}
    if not dropped:
        return member
    revoking = dict(member.revoking)
    if _still_has(owned, dropped):
        for topic_id, partitions in dropped.items():
            revoking[topic_id] = revoking.get(topic_id, _NOTHING) | partitions
    state = MemberState.UNREVOKED_PARTITIONS if revoking else member.state
    return _moved(member, member.epoch, state, kept, revoking)


def _moved(member: ConsumerMember, epoch: int, state: MemberState, assigned: Assignment, revoking: Assignment) -> ConsumerMember:
    return replace(member, epoch=epoch, previous_epoch=member.epoch, state=state, assigned=assigned, revoking=revoking)


def _put(into: dict[uuid.UUID, frozenset[int]], topic_id: uuid.UUID, partitions: frozenset[int]) -> None:
    if partitions:
        into[topic_id] = partitions
