"""Sets of tasks, and the lists that records hold."""

from __future__ import annotations

from oncelog.coordinator.groups.streams.tasks import (
    HeldTasks,
    Task,
    TaskSets,
    each,
    from_ids,
    from_ids_with_epochs,
    to_ids,
    to_ids_with_epochs,
)
from oncelog.protocol.internal.streams_groups import TaskIds
from support.streams_group import tasks


def test_lists_are_in_order_without_empty_subtopologies() -> None:
    assert to_ids({"1": frozenset({2, 0}), "0": frozenset({1}), "2": frozenset()}) == [TaskIds("0", [1]), TaskIds("1", [0, 2])]
    assert to_ids_with_epochs({"0": {3: 7, 1: 9}, "1": {}}) == [TaskIds("0", [1, 3], [9, 7])]


def test_lists_are_read_again() -> None:
    assert from_ids([TaskIds("0", [1]), TaskIds("0", [2]), TaskIds("1", [])]) == {"0": frozenset({1, 2})}
    assert from_ids_with_epochs([TaskIds("0", [1, 3], [9, 7]), TaskIds("1", [0])]) == {"0": {1: 9, 3: 7}, "1": {0: 0}}


def test_overlap_counts_within_a_kind() -> None:
    assert TaskSets(active=tasks(1, 2)).overlaps(TaskSets(active=tasks(2)))
    assert not TaskSets(active=tasks(1)).overlaps(TaskSets(standby=tasks(1)))
    assert not TaskSets().overlaps(TaskSets(active=tasks(1)))


def test_within() -> None:
    assert TaskSets(active=tasks(1)).within(TaskSets(active=tasks(1, 2)))
    assert not TaskSets(active=tasks(3)).within(TaskSets(active=tasks(1, 2)))
    assert not TaskSets(standby=tasks(1)).within(TaskSets(active=tasks(1)))


def test_nothing_is_false() -> None:
    assert not TaskSets()
    assert not HeldTasks()
    assert HeldTasks({"0": {1: 5}}).sets() == TaskSets(active=tasks(1))
    assert list(each(tasks(4))) == [Task("0", 4)]
