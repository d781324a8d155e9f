"""Fits the topology of an application to the topics there are: how many partitions its internal topics need, which are missing.

Kafka's `InternalTopicManager`, `RepartitionTopics`, `CopartitionedTopicsEnforcer` and `ChangelogTopics`. In this order:

1. every source topic must be there;
2. a repartition topic has the partitions that the application asks for, else as many as the largest topic read by who writes to it, which
   may be a repartition topic itself;
3. topics of a copartition group have equally many: the sources must, repartition topics follow if the application left them open;
4. a changelog has as many as the largest topic its subtopology reads;
5. an internal topic that is there already must have just so many;
6. the others are to be made.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple, TypeAlias

from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.internal.streams_topology import StreamsGroupTopologyValue, Subtopology, TopicInfo

PartitionCount: TypeAlias = Callable[[str], int | None]  # of a topic; None: there is none
NAMED_AT_MOST = 3  # topics in a text for people


class StatusCode(IntEnum):
    """What a heartbeat's answer tells beside tasks."""

    STALE_TOPOLOGY = 0
    MISSING_SOURCE_TOPICS = 1
    INCORRECTLY_PARTITIONED_TOPICS = 2
    MISSING_INTERNAL_TOPICS = 3
    SHUTDOWN_APPLICATION = 4
    ASSIGNMENT_DELAYED = 5


class Status(NamedTuple):
    """A code and a text for people."""

    code: StatusCode
    detail: str


@dataclass(frozen=True, slots=True)
class FittedSubtopology:
    """`tasks`: how many there are. Internal topics have the partitions they need."""

    source_topics: tuple[str, ...]
    sinks: tuple[str, ...]
    repartitions: tuple[TopicInfo, ...]
    changelogs: tuple[TopicInfo, ...]
    tasks: int

    @property
    def stateful(self) -> bool:
        return bool(self.changelogs)

    def read(self) -> tuple[str, ...]:
        """All topics it reads."""
        return (*self.source_topics, *(topic.name for topic in self.repartitions))


@dataclass(frozen=True, slots=True)
class FittedTopology:
    """`problem` None: tasks can be handed out. `missing`: internal topics to be made. Subtopologies by id, in order."""

    epoch: int
    subtopologies: dict[str, FittedSubtopology] = field(default_factory=dict)
    missing: tuple[TopicInfo, ...] = ()
    problem: Status | None = None

    @property
    def ready(self) -> bool:
        return self.problem is None


def fit(topology: StreamsGroupTopologyValue, count_of: PartitionCount) -> FittedTopology:
    """Raises KafkaError 130 for a topology that no topics could fit."""
    subtopologies = sorted(topology.subtopologies, key=lambda each: each.subtopology_id)
    _check(subtopologies)
    absent = sorted({name for each in subtopologies for name in each.source_topics if count_of(name) is None})
    if absent:
        return _unfit(topology, StatusCode.MISSING_SOURCE_TOPICS, f"Source topics {summary(absent)} are missing.")
    decided = repartition_counts(subtopologies, count_of)

    def known(name: str) -> int:
        """An existing topic counts as it is, a wrong number comes out in the end."""
        found = count_of(name)
        return decided[name] if found is None else found

    for each in subtopologies:
        for group in each.copartition_groups:
            problem = copartition({each.source_topics[i] for i in group.source_topics}, _repartitions(each, group[2]), known, decided)
            if problem is not None:
                return _unfit(topology, StatusCode.INCORRECTLY_PARTITIONED_TOPICS, problem)
    fitted = {each.subtopology_id: _fitted(each, known, decided) for each in subtopologies}
    internal = {topic.name: topic for each in fitted.values() for topic in (*each.repartitions, *each.changelogs)}
    for name, topic in internal.items():
        found = count_of(name)
        if found is not None and found != topic.partitions:
            text = f"Existing topic {name} has different number of partitions: expected {topic.partitions}, found {found}"
            return _unfit(topology, StatusCode.INCORRECTLY_PARTITIONED_TOPICS, text)
    missing = tuple(internal[name] for name in sorted(internal) if count_of(name) is None)
    if not missing:
        return FittedTopology(topology.epoch, fitted)
    text = f"Internal topics are missing: {summary(topic.name for topic in missing)}"
    return FittedTopology(topology.epoch, fitted, missing, Status(StatusCode.MISSING_INTERNAL_TOPICS, text))


def _check(subtopologies: list[Subtopology]) -> None:
    if len({each.subtopology_id for each in subtopologies}) < len(subtopologies):
        raise KafkaError(ErrorCode.STREAMS_INVALID_TOPOLOGY, "Subtopology ids must be unique.")
    for each in subtopologies:
        for sources, _regexes, repartitions in each.copartition_groups:
            within = all(0 <= position < len(each.source_topics) for position in sources)
            if not within or not all(0 <= position < len(each.repartition_source_topics) for position in repartitions):
                text = f"A copartition group of subtopology {each.subtopology_id} names a topic that the subtopology does not read."
                raise KafkaError(ErrorCode.STREAMS_INVALID_TOPOLOGY, text)


def _unfit(topology: StreamsGroupTopologyValue, code: StatusCode, text: str) -> FittedTopology:
    return FittedTopology(topology.epoch, problem=Status(code, text))


def _fitted(subtopology: Subtopology, known: Callable[[str], int], decided: dict[str, int]) -> FittedSubtopology:
    read = {*subtopology.source_topics, *(topic.name for topic in subtopology.repartition_source_topics)}
    if not read:
        raise KafkaError(ErrorCode.STREAMS_INVALID_TOPOLOGY, "Subtopology does not contain any source topics")
    tasks = max(known(name) for name in read)
    return FittedSubtopology(
        subtopology.source_topics,
        subtopology.repartition_sink_topics,
        tuple(topic._replace(partitions=decided[topic.name]) for topic in subtopology.repartition_source_topics),
        # a source topic may be the changelog of a table; it is there already, and stays as it is
        tuple(
            topic._replace(partitions=known(topic.name) if topic.name in read else tasks) for topic in subtopology.state_changelog_topics
        ),
        tasks,
    )


def _repartitions(subtopology: Subtopology, positions: Iterable[int]) -> dict[str, int]:
    topics = [subtopology.repartition_source_topics[position] for position in positions]
    return {topic.name: topic.partitions for topic in topics}


# -- repartition topics


def repartition_counts(subtopologies: list[Subtopology], count_of: PartitionCount) -> dict[str, int]:
    """Partitions of every repartition topic, before copartition groups are looked at. Raises KafkaError 130 when they cannot be told.

    Who reads a topic is looked at again when its partitions become known, so that long chains take no longer than short ones.
    """
    counts = {topic.name: topic.partitions for each in subtopologies for topic in each.repartition_source_topics if topic.partitions}
    readers: dict[str, list[Subtopology]] = {}
    for each in subtopologies:
        for topic in each.repartition_source_topics:
            readers.setdefault(topic.name, []).append(each)
    waiting = deque(subtopologies)
    open_sinks = {name for each in subtopologies for name in each.repartition_sink_topics} - counts.keys()
    while waiting and open_sinks:
        writer = waiting.popleft()
        sinks = [name for name in writer.repartition_sink_topics if name in open_sinks]
        largest = _largest(writer, counts, count_of) if sinks else None
        if largest is None:
            continue
        for name in sinks:
            counts[name] = largest
            open_sinks.discard(name)
            waiting.extend(readers.get(name, ()))
    failed = "Failed to compute number of partitions for all repartition topics"
    if open_sinks:
        text = f"{failed}. There may be loops in the topology that cannot be resolved."
        raise KafkaError(ErrorCode.STREAMS_INVALID_TOPOLOGY, text)
    if any(name not in counts for name in readers):
        text = f"{failed}, because a repartition source topic is never used as a sink topic."
        raise KafkaError(ErrorCode.STREAMS_INVALID_TOPOLOGY, text)
    return counts


def _largest(subtopology: Subtopology, counts: dict[str, int], count_of: PartitionCount) -> int | None:
    """Of what is known of the topics it reads."""
    found = [counts.get(topic.name) for topic in subtopology.repartition_source_topics]
    found += [count_of(name) for name in subtopology.source_topics]
    return max((count for count in found if count is not None), default=None)


# -- copartition groups


def copartition(sources: set[str], repartitions: dict[str, int], known: Callable[[str], int], decided: dict[str, int]) -> str | None:
    """Bring the open topics of a group to the others' partitions, in `decided`; a text when these differ.

    `repartitions`: the application's own number by topic, 0 where it is open.
    """
    external = sources - repartitions.keys()
    fixed = [name for name, partitions in repartitions.items() if partitions]
    binding = external or fixed or repartitions
    counts = {name: known(name) for name in binding}
    if not counts:
        return None
    if (external or fixed) and len(set(counts.values())) > 1:
        shown = counts if external else {name: known(name) for name in repartitions}
        listed = ", ".join(f"{name}={shown[name]}" for name in sorted(shown))
        return f"Following topics do not have the same number of partitions: [{{{listed}}}]"
    wanted = max(counts.values())
    for name in sorted(repartitions):
        if repartitions[name] and known(name) != wanted:
            return (
                f"Number of partitions [{known(name)}] of repartition topic [{name}] doesn't match number of partitions [{wanted}] "
                "of the source topic."
            )
        decided[name] = wanted
    return None


def summary(names: Iterable[str]) -> str:
    """The first of them, and how many more there are."""
    listed = list(names)
    text = ", ".join(listed[:NAMED_AT_MOST])
    more = len(listed) - NAMED_AT_MOST
    return f"{text} and {more} additional topics" if more > 0 else text
