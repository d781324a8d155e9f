"""What a heartbeat of a member of a share group comes to (ShareGroupHeartbeat, KIP-932).

Each is a function over a `Draft`: it writes what changes, gives the answer, or raises KafkaError and has changed nothing.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection
from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple

from oncelog.coordinator.groups.consumer.assignors import Assignment, Subscriber
from oncelog.coordinator.groups.consumer.draft import hash_of, same
from oncelog.coordinator.groups.share.assignor import simple
from oncelog.coordinator.groups.share.config import ShareLimits
from oncelog.coordinator.groups.share.draft import Draft
from oncelog.coordinator.groups.share.places import assignable, missing, with_more
from oncelog.coordinator.groups.share.state import ShareGroup, ShareMember
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.topics import Topics

LEAVE_EPOCH = -1
MAX_MEMBER_ID = 36  # characters: a UUID as text
_E = ErrorCode


@dataclass(frozen=True, slots=True)
class ShareHeartbeat:
    """`topic_names` None: as before."""

    group_id: str
    member_id: str | None
    member_epoch: int
    rack_id: str | None = None
    topic_names: tuple[str, ...] | None = None
    client_id: str = ""
    client_host: str = ""


class ShareAnswer(NamedTuple):
    """`assignment` None: as before."""

    member_id: str | None = None
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    assignment: Assignment | None = None


class Sent(Enum):
    """How the member epoch of a heartbeat stands to what is known."""

    JOINS = "0"
    CURRENT = "the member's"
    PREVIOUS = "the one before"
    GREATER = "a greater one"
    SMALLER = "a smaller one"
    LEAVES = "-1"


class Sender(Enum):
    """Whose heartbeat it is."""

    MEMBER = "a member"
    STRANGER = "nobody of the group"
    NO_GROUP = "no such group"


def _row(member: ErrorCode, stranger: ErrorCode, no_group: ErrorCode) -> dict[Sender, ErrorCode]:
    return {Sender.MEMBER: member, Sender.STRANGER: stranger, Sender.NO_GROUP: no_group}


VERDICTS: dict[Sent, dict[Sender, ErrorCode]] = {
    Sent.JOINS: _row(_E.NONE, _E.NONE, _E.NONE),
    Sent.CURRENT: _row(_E.NONE, _E.UNKNOWN_MEMBER_ID, _E.GROUP_ID_NOT_FOUND),
    Sent.PREVIOUS: _row(_E.NONE, _E.UNKNOWN_MEMBER_ID, _E.GROUP_ID_NOT_FOUND),
    Sent.GREATER: _row(_E.FENCED_MEMBER_EPOCH, _E.UNKNOWN_MEMBER_ID, _E.GROUP_ID_NOT_FOUND),
    Sent.SMALLER: _row(_E.FENCED_MEMBER_EPOCH, _E.UNKNOWN_MEMBER_ID, _E.GROUP_ID_NOT_FOUND),
    Sent.LEAVES: _row(_E.NONE, _E.UNKNOWN_MEMBER_ID, _E.GROUP_ID_NOT_FOUND),
}


def sent(epoch: int, member: ShareMember | None) -> Sent:
    """A stranger's epoch counts as greater than its own, which is 0."""
    known, previous = (member.epoch, member.previous_epoch) if member is not None else (0, 0)
    if epoch in (0, LEAVE_EPOCH):
        return Sent.JOINS if epoch == 0 else Sent.LEAVES
    if epoch >= known:
        return Sent.CURRENT if epoch == known else Sent.GREATER
    return Sent.PREVIOUS if epoch == previous else Sent.SMALLER


def makes_groups(request: ShareHeartbeat) -> bool:
    """Is a group made for it?"""
    return VERDICTS[sent(request.member_epoch, None)][Sender.NO_GROUP] is _E.NONE


def check(request: ShareHeartbeat) -> None:
    """What can be said without the group. Raises KafkaError 42."""
    if not good_member_id(request.member_id):
        raise KafkaError(_E.INVALID_REQUEST)
    if not request.group_id:
        raise _invalid("GroupId can't be empty.")
    if request.rack_id == "":
        raise _invalid("RackId can't be empty.")
    if request.member_epoch == 0 and not request.topic_names:
        raise _invalid("SubscribedTopicNames must be set in first request.")
    if request.member_epoch < LEAVE_EPOCH:
        raise _invalid("MemberEpoch is invalid.")


def good_member_id(member_id: str | None) -> bool:
    return member_id is not None and 0 < len(member_id) <= MAX_MEMBER_ID


def _invalid(text: str) -> KafkaError:
    return KafkaError(_E.INVALID_REQUEST, text)


def heartbeat(draft: Draft, request: ShareHeartbeat, topics: Topics, limits: ShareLimits, max_size: int, now_ms: int) -> ShareAnswer:
    """Join, join again, or stay; a member is given its new target at once. Raises KafkaError 25, 81, 110."""
    known = draft.group.members.get(request.member_id or "")
    member = _member(draft.group, request, max_size)
    wanted = replace(
        member,
        rack_id=request.rack_id if request.rack_id is not None else member.rack_id,
        client_id=request.client_id,
        client_host=request.client_host,
        topic_names=tuple(sorted(set(request.topic_names))) if request.topic_names is not None else member.topic_names,
    )
    draft.put_wants(wanted)
    changed = known is None or wanted.topic_names != member.topic_names
    settled = not changed and draft.group.settled == topics.generation
    if not settled:
        _update_epoch(draft, topics, limits, now_ms, changed=changed)
        _update_target(draft, topics, limits, now_ms)
    after = _with_target(draft.group, wanted, topics)
    draft.put_has(after)
    if not settled:
        _initialize(draft, topics)
        if not draft.records and _is_settled(draft.group, topics):
            draft.group.settled = topics.generation
    told = request.member_epoch == 0 or request.topic_names is not None or not same(after.assigned, member.assigned)
    return ShareAnswer(after.member_id, after.epoch, limits.heartbeat_interval_ms, after.assigned if told else None)


def _member(group: ShareGroup, request: ShareHeartbeat, max_size: int) -> ShareMember:
    """Who asks, as it was. Raises KafkaError 25, 81, 110."""
    member_id = request.member_id or ""
    member = group.members.get(member_id)
    how = sent(request.member_epoch, member)
    error = VERDICTS[how][Sender.MEMBER if member is not None else Sender.STRANGER]
    if error is _E.UNKNOWN_MEMBER_ID:
        raise KafkaError(error, f"Member {member_id} is not a member of group {group.group_id}.")
    if error is not _E.NONE:
        assert member is not None
        raise KafkaError(error, _fenced(how, request.member_epoch, member))
    if member is None and len(group.members) >= max_size:
        text = f"The share group has reached its maximum capacity of {max_size} members."
        raise KafkaError(_E.GROUP_MAX_SIZE_REACHED, text)
    return member if member is not None else ShareMember(member_id)


def _fenced(how: Sent, epoch: int, member: ShareMember) -> str:
    word = "greater" if how is Sent.GREATER else "smaller"
    before = "" if how is Sent.GREATER else f", and it does not match the previous member epoch ({member.previous_epoch})"
    known = f"the one known by the group coordinator ({member.epoch}){before}"
    return (
        f"The share group member has a {word} member epoch ({epoch}) than {known}. The member must abandon all its partitions and rejoin."
    )


def leave(draft: Draft, request: ShareHeartbeat, topics: Topics) -> ShareAnswer:
    """For good. Raises KafkaError 25."""
    member = _member(draft.group, request, 0)
    remove(draft, [member.member_id], topics)
    return ShareAnswer(member.member_id, LEAVE_EPOCH)


def remove(draft: Draft, member_ids: Collection[str], topics: Topics) -> None:
    """Members go; the others are assigned anew at a later heartbeat."""
    for member_id in member_ids:
        draft.remove_member(member_id)
    draft.put_epoch(draft.group.epoch + 1, hash_of(draft.group.all_subscribed_names(), topics))


# -- epochs and targets


def _update_epoch(draft: Draft, topics: Topics, limits: ShareLimits, now_ms: int, *, changed: bool) -> None:
    """It rises when `changed`, when the subscribed topics are not what they were, and for share partitions that can be assigned by now."""
    group = draft.group
    now_hash = hash_of(group.all_subscribed_names(), topics)
    waiting = group.assignment_epoch == group.epoch and _is_due(group, limits, now_ms) and _has_unassigned(group, topics)
    if changed or waiting or now_hash != group.metadata_hash:
        draft.put_epoch(group.epoch + 1, now_hash)


def _is_due(group: ShareGroup, limits: ShareLimits, now_ms: int) -> bool:
    """At most one new target in group.share.assignment.interval.ms (KIP-1263); a clock that was set back does not hold it up."""
    return not 0 <= now_ms - group.assignment_timestamp_ms < limits.assignment_interval_ms


def _has_unassigned(group: ShareGroup, topics: Topics) -> bool:
    assigned = group.assigned_partitions()
    return any(not places <= assigned.get(topic_id, frozenset()) for topic_id, places in assignable(group, topics).items())


def _update_target(draft: Draft, topics: Topics, limits: ShareLimits, now_ms: int) -> None:
    group = draft.group
    if group.assignment_epoch >= group.epoch or not _is_due(group, limits, now_ms):
        return
    targets = simple(_subscribers(group, topics), assignable(group, topics))
    for member_id in sorted(targets):
        if member_id not in group.targets or not same(targets[member_id], group.target_of(member_id)):
            draft.put_target(member_id, targets[member_id])
    draft.put_assignment_epoch(group.epoch, now_ms)


def _subscribers(group: ShareGroup, topics: Topics) -> list[Subscriber]:
    """Members that ask for the same share one set of topic ids."""
    ids: dict[tuple[str, ...], frozenset[uuid.UUID]] = {}
    found = []
    for member in group.members.values():
        if member.topic_names not in ids:
            ids[member.topic_names] = frozenset(topic.topic_id for name in member.topic_names if (topic := topics.get(name)) is not None)
        found.append(Subscriber(member.member_id, None, ids[member.topic_names], group.target_of(member.member_id)))
    return found


def _with_target(group: ShareGroup, member: ShareMember, topics: Topics) -> ShareMember:
    """The member with what it shall have, as far as it asks for it and the topics are there."""
    ids = {topic.topic_id for name in member.topic_names if (topic := topics.get(name)) is not None}
    assigned = {topic_id: places for topic_id, places in group.target_of(member.member_id).items() if topic_id in ids}
    if member.epoch == group.assignment_epoch:
        return member if same(assigned, member.assigned) else replace(member, assigned=assigned)
    return replace(member, epoch=group.assignment_epoch, previous_epoch=member.epoch, assigned=assigned)


# -- share partitions


def _initialize(draft: Draft, topics: Topics) -> None:
    """Subscribed partitions that have no state yet are to get one."""
    group = draft.group
    more = missing(group, topics)
    if more:
        draft.put_places(with_more(group.initializing, more), group.initialized, group.deleting)


def _is_settled(group: ShareGroup, topics: Topics) -> bool:
    return group.assignment_epoch == group.epoch and not group.initializing and not _has_unassigned(group, topics)
