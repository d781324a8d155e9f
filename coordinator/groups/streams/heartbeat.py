"""Answers StreamsGroupHeartbeat (KIP-1071): join, stay, leave (Kafka's `GroupMetadataManager.streamsGroupHeartbeat`).

Refusals are raised as KafkaError, with Kafka's words; then nothing is written.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import NamedTuple

from oncelog.coordinator.groups.streams.checks import StreamsHeartbeat, check_tasks
from oncelog.coordinator.groups.streams.draft import FIRST_EPOCH, StreamsDraft, StreamsLimits, update_target
from oncelog.coordinator.groups.streams.endpoints import PartitionsByEndpoint
from oncelog.coordinator.groups.streams.reconcile import reconcile
from oncelog.coordinator.groups.streams.state import NO_TOPOLOGY, StreamsGroup, StreamsMember
from oncelog.coordinator.groups.streams.tasks import NO_TASKS, TaskSets
from oncelog.coordinator.groups.streams.topology import FittedTopology, Status, StatusCode
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.internal.streams_topology import KeyValue, StreamsGroupTopologyValue, TopicInfo

_E = ErrorCode
_UNASSIGNED_EPOCH = 1  # of a member that waits for the first target of its group
_INITIAL_DELAY = Status(StatusCode.ASSIGNMENT_DELAYED, "Assignment delayed due to the configured initial rebalance delay.")
_INTERVAL = Status(StatusCode.ASSIGNMENT_DELAYED, "Assignment delayed due to the configured assignment interval.")


class Fitting(NamedTuple):
    """A topology fitted to the topics there are, and the hash of these."""

    fitted: FittedTopology
    metadata_hash: int


Fit = Callable[[StreamsGroupTopologyValue], Fitting]


@dataclass(frozen=True, slots=True)
class HeartbeatAnswer:
    """`tasks` None: as before. `missing`: internal topics to be made. `told` and what follows is added when the decision is carried out."""

    member_id: str = ""
    member_epoch: int = 0
    heartbeat_interval_ms: int = 0
    statuses: tuple[Status, ...] = ()
    tasks: TaskSets | None = None
    missing: tuple[TopicInfo, ...] = ()
    endpoint_epoch: int = 0
    endpoints: tuple[PartitionsByEndpoint, ...] | None = None


def heartbeat(
    draft: StreamsDraft, request: StreamsHeartbeat, fit: Fit, limits: StreamsLimits, now_ms: int, *, delayed: bool
) -> HeartbeatAnswer:
    """Everything but leaving; what has to be written collects in the draft. `delayed`: the group waits for its first members.

    Raises KafkaError 25, 42, 81, 110, 130.
    """
    member = _member(draft.group, request, limits)
    changed = draft.put_member(_updated(member, request))
    topology = _topology(draft, request)
    statuses = list(_stale(draft.group.members[request.member_id], topology))
    fitted, metadata_hash = fit(topology)
    if fitted.ready and (owned := request.owned()) is not None:
        check_tasks(fitted, owned)
    update_epoch(draft, fitted, metadata_hash, limits, changed=changed)

    group = draft.group
    target_epoch, target = group.assignment_epoch, group.target_of(member.member_id)
    if group.epoch > group.assignment_epoch:
        if delayed:
            target_epoch, target = max(_UNASSIGNED_EPOCH, group.assignment_epoch), NO_TASKS
            statuses.append(_INITIAL_DELAY)
        elif 0 <= now_ms - group.assignment_timestamp_ms < limits.assignment_interval_ms and group.assignment_epoch > 0:
            statuses.append(_INTERVAL)
        else:
            update_target(draft, fitted, now_ms)
            target_epoch, target = draft.group.assignment_epoch, draft.group.target_of(member.member_id)
    after = reconcile(draft.group, draft.group.members[member.member_id], request.owned(), target, target_epoch)
    draft.put_tasks(after)
    if fitted.problem is not None:
        statuses.append(fitted.problem)
    # Who has other tasks than it shall have did not hear it: its last answer was lost. Kafka says nothing until the member is removed.
    unheard = (owned := request.owned()) is not None and owned != after.assigned.sets()
    tell = request.member_epoch == 0 or after.assigned != member.assigned or unheard
    return HeartbeatAnswer(
        after.member_id,
        after.epoch,
        limits.heartbeat_interval_ms,
        tuple(statuses),
        after.assigned.sets() if tell else None,
        fitted.missing,
    )


def _member(group: StreamsGroup, request: StreamsHeartbeat, limits: StreamsLimits) -> StreamsMember:
    """Who asks, as it was."""
    if request.member_epoch == 0:
        existing = group.members.get(request.member_id)
        if existing is not None:
            return existing
        if len(group.members) >= limits.max_size:
            text = f"The streams group has reached its maximum capacity of {limits.max_size} members."
            raise KafkaError(_E.GROUP_MAX_SIZE_REACHED, text)
        return StreamsMember(request.member_id)
    member = known(group, request.member_id)
    _check_epoch(member, request)
    return member


def known(group: StreamsGroup, member_id: str) -> StreamsMember:
    """Raises KafkaError 25."""
    member = group.members.get(member_id)
    if member is None:
        raise KafkaError(_E.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {group.group_id}.")
    return member


def _check_epoch(member: StreamsMember, request: StreamsHeartbeat) -> None:
    """The member's epoch, or the one before when its last answer may have been lost. Raises KafkaError 110."""
    if request.member_epoch == member.epoch:
        return
    owned = request.owned()
    greater = request.member_epoch > member.epoch
    if not greater and request.member_epoch == member.previous_epoch and owned is not None and owned.within(member.assigned.sets()):
        return
    size = "greater" if greater else "smaller"
    raise KafkaError(
        _E.FENCED_MEMBER_EPOCH,
        f"The streams group member has a {size} member epoch ({request.member_epoch}) than the one known by the group coordinator "
        f"({member.epoch}). The member must abandon all its partitions and rejoin.",
    )


def _updated(member: StreamsMember, request: StreamsHeartbeat) -> StreamsMember:
    tags = request.client_tags
    return replace(
        member,
        rack_id=request.rack_id if request.rack_id is not None else member.rack_id,
        client_id=request.client_id,
        client_host=request.client_host,
        rebalance_timeout_ms=request.rebalance_timeout_ms if request.rebalance_timeout_ms != -1 else member.rebalance_timeout_ms,
        topology_epoch=request.topology.epoch if request.topology is not None else member.topology_epoch,
        process_id=request.process_id if request.process_id is not None else member.process_id,
        user_endpoint=request.user_endpoint if request.user_endpoint is not None else member.user_endpoint,
        client_tags=member.client_tags if tags is None else tuple(KeyValue(key, dict(tags)[key]) for key in sorted(dict(tags))),
    )


def _topology(draft: StreamsDraft, request: StreamsHeartbeat) -> StreamsGroupTopologyValue:
    """The topology of the group: the first that came. Raises KafkaError 42 for another one, unless it is older."""
    known_one, sent = draft.group.topology, request.topology
    if known_one is None:
        if sent is None:  # its record is lost
            text = "The topology of the group is not known. The member must abandon all its partitions and rejoin."
            raise KafkaError(_E.FENCED_MEMBER_EPOCH, text)
        draft.put_topology(sent)
        return sent
    if sent is not None and sent.epoch >= known_one.epoch and not same_topology(sent, known_one):
        raise KafkaError(_E.INVALID_REQUEST, "Topology updates are not supported yet.")
    return known_one


def same_topology(one: StreamsGroupTopologyValue, other: StreamsGroupTopologyValue) -> bool:
    """The order of subtopologies says nothing."""
    return one.epoch == other.epoch and sorted(one.subtopologies) == sorted(other.subtopologies)


def _stale(member: StreamsMember, topology: StreamsGroupTopologyValue) -> tuple[Status, ...]:
    if member.topology_epoch >= topology.epoch:
        return ()
    text = f"The member's topology epoch {member.topology_epoch} is behind the group's topology epoch {topology.epoch}."
    return (Status(StatusCode.STALE_TOPOLOGY, text),)


def update_epoch(draft: StreamsDraft, fitted: FittedTopology, metadata_hash: int, limits: StreamsLimits, *, changed: bool) -> None:
    """The group epoch rises when `changed`, or when topics, their fitness or what targets are made with are not what they were."""
    group = draft.group
    validated = fitted.epoch if fitted.ready else NO_TOPOLOGY
    configs = limits.assignment_configs()
    as_before = (metadata_hash, validated, configs) == (group.metadata_hash, group.validated_topology_epoch, group.assignment_configs)
    if changed or not as_before:
        draft.put_epoch(group.epoch + 1 if group.epoch else FIRST_EPOCH, metadata_hash, validated, configs)


def leave(draft: StreamsDraft, request: StreamsHeartbeat) -> HeartbeatAnswer:
    """For good."""
    remove(draft, [known(draft.group, request.member_id).member_id])
    return HeartbeatAnswer(request.member_id, request.member_epoch)


def remove(draft: StreamsDraft, member_ids: Collection[str]) -> None:
    """Members go; the others are assigned anew at a later heartbeat."""
    for member_id in member_ids:
        draft.remove_member(member_id)
    group = draft.group
    draft.put_epoch(group.epoch + 1, group.metadata_hash, group.validated_topology_epoch, group.assignment_configs)
