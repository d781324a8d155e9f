"""Who may commit offsets in a streams group (Kafka's `StreamsGroup.validateOffsetCommit`, KIP-1251)."""

from __future__ import annotations

from collections.abc import Iterable

from oncelog.coordinator.groups.group_type import Committer
from oncelog.coordinator.groups.offsets.state import MEMBER_EPOCH_API
from oncelog.coordinator.groups.streams.state import StreamsGroup, StreamsMember
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import TopicPartition

_E = ErrorCode


def may_commit(group: StreamsGroup, who: Committer) -> ErrorCode:
    """A member whose epoch has risen may still commit for tasks that it had at the epoch it names."""
    if who.epoch < 0 and not group.members:
        return _E.NONE
    if who.transactional and who.epoch < 0 and not who.member_id and who.instance_id is None:
        return _E.NONE
    member = group.members.get(who.member_id)
    if member is None:
        return _E.UNKNOWN_MEMBER_ID
    if not who.transactional and who.api_version < MEMBER_EPOCH_API:
        return _E.UNSUPPORTED_VERSION
    if who.epoch == member.epoch:
        return _E.NONE
    if who.epoch < member.epoch and _had_all(group, member, who.places, who.epoch):
        return _E.NONE
    return _E.ILLEGAL_GENERATION if who.transactional else _E.STALE_MEMBER_EPOCH  # TxnOffsetCommit does not know of member epochs


def _had_all(group: StreamsGroup, member: StreamsMember, places: Iterable[TopicPartition], epoch: int) -> bool:
    """Was each partition of a task that the member has, or gives up just now, and had at `epoch`?"""
    readers: dict[str, list[str]] = {}
    for subtopology in group.topology.subtopologies if group.topology is not None else ():
        for name in (*subtopology.source_topics, *(topic.name for topic in subtopology.repartition_source_topics)):
            readers.setdefault(name, []).append(subtopology.subtopology_id)

    def had(place: TopicPartition) -> bool:
        since = [
            held.active[subtopology_id][place.partition]
            for subtopology_id in readers.get(place.topic, ())
            for held in (member.assigned, member.revoking)
            if place.partition in held.active.get(subtopology_id, {})
        ]
        return bool(since) and min(since) <= epoch

    return all(had(place) for place in places)
