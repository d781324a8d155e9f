"""The assignor of share groups: who shall have which share partitions (KIP-932; Kafka's `SimpleAssignor`).

Values in, values out, and the same answer for the same question: members and partitions are always looked at in sorted order.

As many members as there are partitions, or fewer: every partition goes to one of them, and they get equally many, give or take one. More
members: each partition goes to as many as it takes for nobody to be without. What a member has it keeps, as far as that allows; balance
comes first.
"""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence

from oncelog.coordinator.groups.consumer.assignors import Assignment, Place, Subscriber

NAME = "simple"


def simple(members: Sequence[Subscriber], partitions: Mapping[uuid.UUID, Collection[int]]) -> dict[str, Assignment]:
    """`partitions`: those that may be assigned, by topic. Every member is in the answer, perhaps with nothing."""
    members = sorted(members, key=lambda member: member.member_id)
    if len({member.topic_ids.intersection(partitions) for member in members}) <= 1:
        wanted = members[0].topic_ids if members else ()
        places = [Place(topic_id, p) for topic_id in sorted(partitions) if topic_id in wanted for p in sorted(partitions[topic_id])]
        dealt = _deal(members, places)
    else:  # each topic by itself, among those who ask for it
        dealt = {member.member_id: set() for member in members}
        for topic_id in sorted(partitions):
            subscribers = [member for member in members if topic_id in member.topic_ids]
            for member_id, given in _deal(subscribers, [Place(topic_id, p) for p in sorted(partitions[topic_id])]).items():
                dealt[member_id] |= given
    return {member_id: _by_topic(given) for member_id, given in dealt.items()}


def _deal(members: Sequence[Subscriber], places: Sequence[Place]) -> dict[str, set[Place]]:
    """All of `members` ask for all of `places`."""
    dealt: dict[str, set[Place]] = {member.member_id: set() for member in members}
    if not members or not places:
        return dealt
    sharing = -(-len(members) // len(places))
    room, total = dict.fromkeys(places, sharing), sharing * len(places)
    shares = {
        member.member_id: _up(index + 1, total, len(members)) - _up(index, total, len(members)) for index, member in enumerate(members)
    }
    for member in members:
        held, share = dealt[member.member_id], shares[member.member_id]
        for place in _places(member.current):
            if len(held) == share:
                break
            if room.get(place):
                held.add(place)
                room[place] -= 1
    left = deque(place for turn in range(sharing) for place in places if room[place] > turn)
    for member_id, held in dealt.items():
        for _ in range(shares[member_id] - len(held)):
            _give(member_id, left, dealt)
    return dealt


def _places(assignment: Assignment) -> Iterator[Place]:
    return (Place(topic_id, partition) for topic_id in sorted(assignment) for partition in sorted(assignment[topic_id]))


def _up(index: int, total: int, members: int) -> int:
    """total / members * index, rounded up."""
    return -(-total * index // members)


def _give(member_id: str, left: deque[Place], dealt: dict[str, set[Place]]) -> None:
    """One more to a member: of what is left, or, where it has all of that already, in exchange with another member."""
    held = dealt[member_id]
    for _ in range(len(left)):
        place = left.popleft()
        if place not in held:
            held.add(place)
            return
        left.append(place)
    for place in left:
        for other in dealt.values():
            spare = min(other - held, default=None) if place not in other else None
            if spare is not None:
                left.remove(place)
                other.remove(spare)
                other.add(place)
                held.add(spare)
                return


def _by_topic(places: Collection[Place]) -> dict[uuid.UUID, frozenset[int]]:
    found: dict[uuid.UUID, set[int]] = {}
    for place in places:
        found.setdefault(place.topic_id, set()).add(place.partition)
    return {topic_id: frozenset(partitions) for topic_id, partitions in found.items()}
