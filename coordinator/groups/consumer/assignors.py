"""Server-side assignors of consumer groups: who shall have which partitions (KIP-848; Kafka's `UniformAssignor` and `RangeAssignor`).

Values in, values out, and the same answer for the same question: members and partitions are always looked at in sorted order.

uniform  every member gets as many partitions as any other, give or take one, as far as subscriptions allow; what a member has it keeps.
range    topic by topic, members in order get one run of neighbouring partitions each, so that topics with equally many partitions are
         assigned alike (co-partitioning).
"""

from __future__ import annotations

import heapq
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

Assignment: TypeAlias = Mapping[uuid.UUID, frozenset[int]]


class Place(NamedTuple):
    """One partition, by topic id."""

    topic_id: uuid.UUID
    partition: int


@dataclass(frozen=True, slots=True)
class Subscriber:
    """A member as assignors see it. `current` is its target so far."""

    member_id: str
    instance_id: str | None
    topic_ids: frozenset[uuid.UUID]
    current: Assignment = field(default_factory=dict)


Assignor: TypeAlias = Callable[[list[Subscriber], Mapping[uuid.UUID, int]], dict[str, Assignment]]


def uniform(members: list[Subscriber], partitions: Mapping[uuid.UUID, int]) -> dict[str, Assignment]:
    """`partitions`: how many each topic has. Every member is in the answer, perhaps with nothing."""
    balance = _Balance(sorted(members, key=lambda member: member.member_id), partitions)
    balance.keep()
    balance.fill()
    balance.level()
    return balance.answer()


class _Balance:
    """Partitions by member while they are being dealt out."""

    def __init__(self, members: list[Subscriber], partitions: Mapping[uuid.UUID, int]) -> None:
        self._members = members
        self._subscribers: dict[uuid.UUID, list[str]] = {}
        for member in members:
            for topic_id in member.topic_ids:
                if topic_id in partitions:
                    self._subscribers.setdefault(topic_id, []).append(member.member_id)
        self._partitions = partitions
        self._has: dict[str, list[Place]] = {member.member_id: [] for member in members}
        self._owner: dict[Place, str] = {}

    def keep(self) -> None:
        """Members keep what they may have, the lowest partitions first, but no more than a fair share where all want the same."""
        share = self._share()
        for member in self._by_size():
            mine = sorted(
                Place(topic_id, partition)
                for topic_id, numbers in member.current.items()
                if topic_id in member.topic_ids
                for partition in numbers
                if partition < self._partitions.get(topic_id, 0) and Place(topic_id, partition) not in self._owner
            )
            for place in mine[: share(member.member_id)]:
                self._give(place, member.member_id)

    def _by_size(self) -> list[Subscriber]:
        """Who has most comes first: the odd partition stays where it is."""
        return sorted(self._members, key=lambda m: (-sum(map(len, m.current.values())), m.member_id))

    def _share(self) -> Callable[[str], int]:
        everything = sum(self._partitions[topic_id] for topic_id in self._subscribers)
        known = frozenset(self._subscribers)
        alike = len({member.topic_ids & known for member in self._members}) == 1
        if not alike:
            return lambda _member_id: everything
        least, odd = divmod(everything, len(self._members))
        larger = {member.member_id for member in self._by_size()[:odd]}
        return lambda member_id: least + (member_id in larger)

    def fill(self) -> None:
        """Deal out what nobody has: topics with few subscribers first, each partition to the subscriber with the least."""
        for topic_id in sorted(self._subscribers, key=lambda t: (len(self._subscribers[t]), t)):
            heap = [(len(self._has[member_id]), member_id) for member_id in self._subscribers[topic_id]]
            heapq.heapify(heap)
            for partition in range(self._partitions[topic_id]):
                place = Place(topic_id, partition)
                if place not in self._owner:
                    count, member_id = heap[0]
                    self._give(place, member_id)
                    heapq.heapreplace(heap, (count + 1, member_id))

    def level(self) -> None:
        """Move single partitions from who has more to a subscriber with at least two fewer, until there is none."""
        moved = True
        while moved:
            moved = False
            floor = min(map(len, self._has.values()), default=0)
            least: dict[uuid.UUID, str] = {}  # by topic, until something moves
            for member_id in sorted(self._has, key=lambda m: (-len(self._has[m]), m)):
                if len(self._has[member_id]) <= floor + 1:
                    continue
                for place in sorted(self._has[member_id], reverse=True):
                    to = least.get(place.topic_id)
                    if to is None:
                        to = least[place.topic_id] = min(self._subscribers[place.topic_id], key=lambda m: (len(self._has[m]), m))
                    if len(self._has[to]) + 1 < len(self._has[member_id]):
                        self._has[member_id].remove(place)
                        self._give(place, to)
                        least.clear()
                        moved = True

    def _give(self, place: Place, member_id: str) -> None:
        self._has[member_id].append(place)
        self._owner[place] = member_id

    def answer(self) -> dict[str, Assignment]:
        return {member_id: by_topic(places) for member_id, places in self._has.items()}


def range_assign(members: list[Subscriber], partitions: Mapping[uuid.UUID, int]) -> dict[str, Assignment]:
    """Static members are ordered by instance id, so that a new member id of the same instance gets the same partitions."""
    ordered = sorted(members, key=lambda m: (m.instance_id is None, m.instance_id or m.member_id))
    given: dict[str, dict[uuid.UUID, frozenset[int]]] = {member.member_id: {} for member in ordered}
    for topic_id, count in partitions.items():
        subscribers = [member.member_id for member in ordered if topic_id in member.topic_ids]
        start = 0
        for position, member_id in enumerate(subscribers):
            size = count // len(subscribers) + (position < count % len(subscribers))
            if size:
                given[member_id][topic_id] = frozenset(range(start, start + size))
            start += size
    return dict(given)


def by_topic(places: list[Place]) -> Assignment:
    """The same partitions, grouped."""
    grouped: dict[uuid.UUID, set[int]] = {}
    for place in places:
        grouped.setdefault(place.topic_id, set()).add(place.partition)
    return {topic_id: frozenset(numbers) for topic_id, numbers in grouped.items()}


ASSIGNORS: dict[str, Assignor] = {"uniform": uniform, "range": range_assign}
