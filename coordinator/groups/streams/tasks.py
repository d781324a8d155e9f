"""Tasks: partitions of a subtopology, which one member runs (active) and others may follow (standby)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from oncelog.protocol.internal.streams_groups import TaskIds

Tasks: TypeAlias = Mapping[str, frozenset[int]]
Epochs: TypeAlias = Mapping[str, Mapping[int, int]]

_NONE: frozenset[int] = frozenset()
_NO_TASKS: Final[Tasks] = MappingProxyType({})
_NO_EPOCHS: Final[Epochs] = MappingProxyType({})


class Task(NamedTuple):
    """Printed by Kafka as `0_1`."""

    subtopology_id: str
    partition: int


class TaskSets(NamedTuple):
    """By subtopology. Warm-ups are never handed out: Kafka 4.3 keeps them for later."""

    active: Tasks = _NO_TASKS
    standby: Tasks = _NO_TASKS
    warmup: Tasks = _NO_TASKS

    def __bool__(self) -> bool:
        return any(self)

    def overlaps(self, other: TaskSets) -> bool:
        """Is any task of one kind in both?"""
        return any(
            mine.get(subtopology, _NONE) & partitions
            for mine, theirs in zip(self, other, strict=True)
            for subtopology, partitions in theirs.items()
        )

    def within(self, other: TaskSets) -> bool:
        """Is every task one of `other`, of the same kind?"""
        return all(
            partitions <= theirs.get(subtopology, _NONE)
            for mine, theirs in zip(self, other, strict=True)
            for subtopology, partitions in mine.items()
        )


class HeldTasks(NamedTuple):
    """What a member has; of each active task also the assignment epoch it was given at."""

    active: Epochs = _NO_EPOCHS
    standby: Tasks = _NO_TASKS
    warmup: Tasks = _NO_TASKS

    def __bool__(self) -> bool:
        return any(self)

    def sets(self) -> TaskSets:
        """Without the epochs."""
        return TaskSets({subtopology: frozenset(epochs) for subtopology, epochs in self.active.items()}, self.standby, self.warmup)


NO_TASKS: Final = TaskSets()
HAS_NO_TASKS: Final = HeldTasks()


def each(tasks: Mapping[str, Iterable[int]]) -> Iterator[Task]:
    """Task by task."""
    for subtopology, partitions in tasks.items():
        for partition in partitions:
            yield Task(subtopology, partition)


def to_ids(tasks: Tasks) -> list[TaskIds]:
    """As records and answers hold them, in order."""
    return [TaskIds(subtopology, sorted(tasks[subtopology])) for subtopology in sorted(tasks) if tasks[subtopology]]


def to_ids_with_epochs(tasks: Epochs) -> list[TaskIds]:
    """The same, of active tasks in the current assignment."""
    ids = []
    for subtopology in sorted(tasks):
        if epochs := tasks[subtopology]:
            partitions = sorted(epochs)
            ids.append(TaskIds(subtopology, partitions, [epochs[partition] for partition in partitions]))
    return ids


def from_ids(ids: Iterable[TaskIds]) -> dict[str, frozenset[int]]:
    """What such a list says; a subtopology that is listed twice has all that is listed."""
    tasks: dict[str, frozenset[int]] = {}
    for entry in ids:
        if entry.partitions:
            tasks[entry.subtopology_id] = tasks.get(entry.subtopology_id, _NONE) | frozenset(entry.partitions)
    return tasks


def from_ids_with_epochs(ids: Iterable[TaskIds]) -> dict[str, dict[int, int]]:
    """`ids` of active tasks; epochs that are missing are 0, as Kafka up to 4.1 wrote none."""
    tasks: dict[str, dict[int, int]] = {}
    for entry in ids:
        if entry.partitions:
            epochs = entry.assignment_epochs or [0] * len(entry.partitions)
            tasks.setdefault(entry.subtopology_id, {}).update(zip(entry.partitions, epochs, strict=False))
    return tasks
