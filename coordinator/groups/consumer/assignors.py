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

_PARTITION_BITS = 31
_PARTITION = (1 << _PARTITION_BITS) - 1


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


class _Subscribers:
    """Who wants a topic, in the order of the members given; topics that the same members want share one list.

    A thousand members of a thousand topics are a million pairs, which nobody looks at: members that want the same are one class."""

    def __init__(self, members: list[Subscriber], partitions: Mapping[uuid.UUID, int]) -> None:
        self.classes: dict[frozenset[uuid.UUID], list[int]] = {}  # positions of the members that want just these topics
        for position, member in enumerate(members):
            self.classes.setdefault(member.topic_ids, []).append(position)
        wanting: dict[uuid.UUID, list[int]] = {}
        for number, wanted in enumerate(self.classes):
            for topic_id in wanted:
                if topic_id in partitions:
                    wanting.setdefault(topic_id, []).append(number)
        by_number = list(self.classes.values())
        shared: dict[tuple[int, ...], list[str]] = {}
        self.of: dict[uuid.UUID, list[str]] = {}
        for topic_id, numbers in wanting.items():
            key = tuple(numbers)
            if key not in shared:
                shared[key] = [members[position].member_id for position in heapq.merge(*(by_number[number] for number in numbers))]
            self.of[topic_id] = shared[key]


class _Balance:
    """Partitions by member while they are being dealt out. A place is a number: the topic's position among all, then the partition."""

    def __init__(self, members: list[Subscriber], partitions: Mapping[uuid.UUID, int]) -> None:
        self._members = members
        subscribers = _Subscribers(members, partitions)
        self._topics = sorted(subscribers.of, key=lambda topic_id: topic_id.int)
        self._position = {topic_id: position for position, topic_id in enumerate(self._topics)}
        self._counts = [partitions[topic_id] for topic_id in self._topics]
        self._subscribers = [subscribers.of[topic_id] for topic_id in self._topics]
        known = frozenset(self._topics)
        self._alike = len({wanted & known for wanted in subscribers.classes}) == 1
        self._has: dict[str, list[int]] = {member.member_id: [] for member in members}
        self._given: set[int] = set()

    def keep(self) -> None:
        """Members keep what they may have, the lowest partitions first, but no more than a fair share where all want the same."""
        share, given = self._share(), self._given
        for member in self._by_size():
            mine = []
            for topic_id, numbers in member.current.items():
                topic = self._position.get(topic_id)
                if topic is not None and topic_id in member.topic_ids:
                    base, count = topic << _PARTITION_BITS, self._counts[topic]
                    mine += [base | partition for partition in numbers if partition < count and base | partition not in given]
            mine.sort()
            del mine[share(member.member_id) :]
            self._has[member.member_id] = mine
            given.update(mine)

    def _by_size(self) -> list[Subscriber]:
        """Who has most comes first: the odd partition stays where it is."""
        return sorted(self._members, key=lambda m: (-sum(map(len, m.current.values())), m.member_id))

    def _share(self) -> Callable[[str], int]:
        everything = sum(self._counts)
        if not self._alike:
            return lambda _member_id: everything
        least, odd = divmod(everything, len(self._members))
        larger = {member.member_id for member in self._by_size()[:odd]}
        return lambda member_id: least + (member_id in larger)

    def fill(self) -> None:
        """Deal out what nobody has: topics with few subscribers first, each partition to the subscriber with the least."""
        has, given, whose = self._has, self._given, None
        heap: list[tuple[int, str]] = []
        for topic in sorted(range(len(self._topics)), key=lambda topic: (len(self._subscribers[topic]), topic)):
            if whose is not self._subscribers[topic]:  # else it is up to date: nobody else was given anything
                whose = self._subscribers[topic]
                heap = [(len(has[member_id]), member_id) for member_id in whose]
                heapq.heapify(heap)
            for place in range(topic << _PARTITION_BITS, (topic << _PARTITION_BITS) + self._counts[topic]):
                if place not in given:
                    count, member_id = heap[0]
                    has[member_id].append(place)
                    heapq.heapreplace(heap, (count + 1, member_id))

    def level(self) -> None:
        """Move single partitions from who has more to a subscriber with at least two fewer, until there is none."""
        has, count = self._has, {member_id: len(places) for member_id, places in self._has.items()}
        least, moved = _Least(count), True
        while moved:
            moved = False
            floor = min(count.values(), default=0)
            for member_id in sorted(has, key=lambda m: (-count[m], m)):
                if count[member_id] <= floor + 1:
                    continue
                stays = []
                for place in sorted(has[member_id], reverse=True):
                    to = least.of(self._subscribers[place >> _PARTITION_BITS])
                    if count[to] + 1 < count[member_id]:
                        has[to].append(place)
                        least.move(member_id, to)
                        moved = True
                    else:
                        stays.append(place)
                has[member_id] = stays

    def answer(self) -> dict[str, Assignment]:
        """By topic id."""
        answer: dict[str, Assignment] = {}
        for member_id, places in self._has.items():
            by_topic: dict[int, list[int]] = {}
            for place in places:
                by_topic.setdefault(place >> _PARTITION_BITS, []).append(place & _PARTITION)
            answer[member_id] = {self._topics[topic]: frozenset(numbers) for topic, numbers in by_topic.items()}
        return answer


class _Least:
    """Who of some subscribers has least, while single partitions move. A heap for each list of subscribers; entries that are no longer so
    are passed over when they come up."""

    def __init__(self, count: dict[str, int]) -> None:
        self._count = count
        self._heaps: dict[int, tuple[frozenset[str], list[tuple[int, str]]]] = {}  # by the list's identity

    def of(self, subscribers: list[str]) -> str:
        """The first by name of those that have least."""
        if id(subscribers) not in self._heaps:
            heap = [(self._count[member_id], member_id) for member_id in subscribers]
            heapq.heapify(heap)
            self._heaps[id(subscribers)] = frozenset(subscribers), heap
        heap = self._heaps[id(subscribers)][1]
        while heap[0][0] != self._count[heap[0][1]]:
            heapq.heappop(heap)
        return heap[0][1]

    def move(self, giver: str, taker: str) -> None:
        self._count[giver] -= 1
        self._count[taker] += 1
        for members, heap in self._heaps.values():
            for changed in (giver, taker):
                if changed in members:
                    heapq.heappush(heap, (self._count[changed], changed))


def range_assign(members: list[Subscriber], partitions: Mapping[uuid.UUID, int]) -> dict[str, Assignment]:
    """Static members are ordered by instance id, so that a new member id of the same instance gets the same partitions."""
    ordered = sorted(members, key=lambda m: (m.instance_id is None, m.instance_id or m.member_id))
    given: dict[str, dict[uuid.UUID, frozenset[int]]] = {member.member_id: {} for member in ordered}
    for topic_id, subscribers in _Subscribers(ordered, partitions).of.items():
        size, larger = divmod(partitions[topic_id], len(subscribers))
        start = 0
        for position, member_id in enumerate(subscribers):
            end = start + size + (position < larger)
            if end == start:
                break  # nor is there anything for those behind
            given[member_id][topic_id] = frozenset(range(start, end))
            start = end
    return dict(given)


ASSIGNORS: dict[str, Assignor] = {"uniform": uniform, "range": range_assign}
