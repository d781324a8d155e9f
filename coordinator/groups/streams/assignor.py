"""Who runs which task: Kafka's `StickyTaskAssignor`, the only one of 4.3.

Values in, values out, and the same answer for the same question. Members are the stream threads of processes, and what is balanced is the
load of processes: tasks a member. An active task goes back to who had it while that member has not got its share, then to one that
followed it as a standby, then to the process with the least to do. Standbys go, in this order, to who had the task active before, to who
had it as a standby, and to the process with the least to do; never to a process that has the task already.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from oncelog.coordinator.groups.streams.tasks import NO_TASKS, Task, TaskSets, each


@dataclass(frozen=True, slots=True)
class Worker:
    """A member as the assignor sees it. `current`: its target so far."""

    member_id: str
    process_id: str
    current: TaskSets = NO_TASKS


@dataclass(frozen=True, slots=True)
class Work:
    """How many tasks a subtopology has, and whether they keep state that a standby could follow."""

    tasks: int
    stateful: bool = False


@dataclass(slots=True)
class _Process:
    """`counts`: tasks by member, of both kinds."""

    process_id: str
    counts: dict[str, int] = field(default_factory=dict)
    tasks: set[Task] = field(default_factory=set)

    @property
    def load(self) -> float:
        return len(self.tasks) / len(self.counts)

    def idlest(self) -> str:
        """The member with the least to do."""
        return min(self.counts, key=lambda member_id: (self.counts[member_id], member_id))


class _Quota:
    """How many tasks a member may have, so that all come out alike; who has as many takes no part in what is left."""

    def __init__(self, tasks: int, members: int) -> None:
        self._tasks = tasks
        self._members = members

    @property
    def each(self) -> int:
        return -(-self._tasks // self._members) if self._members else 0

    def count(self, taken: int) -> None:
        """A member has `taken` now."""
        if taken == self.each:
            self._members -= 1
            self._tasks -= taken


def assign(workers: Iterable[Worker], work: Mapping[str, Work], standbys: int) -> dict[str, TaskSets]:
    """`work` by subtopology; `standbys`: how many followers a task with state shall have. Every member is in the answer."""
    dealing = _Dealing(sorted(workers, key=lambda worker: worker.member_id), work, standbys)
    if dealing.processes:
        dealing.deal_active()
        dealing.deal_standby()
    return dealing.answer()


class _Dealing:
    def __init__(self, workers: list[Worker], work: Mapping[str, Work], standbys: int) -> None:
        self.processes: dict[str, _Process] = {}
        self._process_of: dict[str, _Process] = {}
        self._was_active: dict[Task, str] = {}
        self._was_standby: dict[Task, list[str]] = {}
        for worker in workers:
            process = self.processes.setdefault(worker.process_id, _Process(worker.process_id))
            process.counts[worker.member_id] = 0
            self._process_of[worker.member_id] = process
            for task in each(worker.current.active):
                self._was_active[task] = worker.member_id
            for task in each(worker.current.standby):
                self._was_standby.setdefault(task, []).append(worker.member_id)
        self._tasks = [Task(subtopology, n) for subtopology in sorted(work) for n in range(work[subtopology].tasks)]
        self._stateful = [task for task in self._tasks if work[task.subtopology_id].stateful]
        self._standbys = standbys
        self._active_quota = _Quota(len(self._tasks), len(workers))
        self._quota = _Quota(len(self._tasks) + standbys * len(self._stateful), len(workers))
        self._given: dict[str, tuple[list[Task], list[Task]]] = {worker.member_id: ([], []) for worker in workers}

    def deal_active(self) -> None:
        """Neighbouring partitions are looked at one after the other, so that topics read together stay together."""
        left = []
        for task in sorted(self._tasks, key=_by_partition):
            owner = self._was_active.get(task)
            if owner is None or not self._below(owner, self._active_quota):
                left.append(task)
            else:
                self._give_active(task, owner)
        open_tasks = []
        for task in left:
            follower = self._least_loaded(self._was_standby.get(task, ()))
            if follower is None or not self._below(follower, self._active_quota):
                open_tasks.append(task)
            else:
                self._give_active(task, follower)
        heap = [(process.load, process.process_id) for process in self.processes.values()]
        heapq.heapify(heap)
        for task in sorted(open_tasks):
            process = self.processes[heap[0][1]]
            self._give_active(task, process.idlest())
            heapq.heapreplace(heap, (process.load, process.process_id))

    def deal_standby(self) -> None:
        """Of tasks with state, the last partitions first. Where there are too few processes a task has fewer standbys."""
        missing: list[tuple[Task, int]] = []
        for task in sorted(self._stateful, key=_by_partition, reverse=True):
            for already in range(self._standbys):
                follower = self._former_holder(task)
                if follower is None:
                    missing.append((task, self._standbys - already))
                    break
                self._give_standby(task, follower)
        heap = [(process.load, process.process_id) for process in self.processes.values()]
        heapq.heapify(heap)
        for task, count in sorted(missing, reverse=True):
            for _ in range(count):
                if not self._give_to_idlest(task, heap):
                    break

    def _former_holder(self, task: Task) -> str | None:
        """Who had the task and may follow it now."""
        owner = self._was_active.get(task)
        if owner is not None and task not in self._process_of[owner].tasks and self._below(owner, self._quota):
            return owner
        free = [member for member in self._was_standby.get(task, ()) if task not in self._process_of[member].tasks]
        follower = self._least_loaded(free)
        return follower if follower is not None and self._below(follower, self._quota) else None

    def _give_to_idlest(self, task: Task, heap: list[tuple[float, str]]) -> bool:
        passed = []
        while heap and task in self.processes[heap[0][1]].tasks:
            passed.append(heapq.heappop(heap))
        found = bool(heap)
        if found:
            process = self.processes[heap[0][1]]
            self._give_standby(task, process.idlest())
            heapq.heapreplace(heap, (process.load, process.process_id))
        for entry in passed:
            heapq.heappush(heap, entry)
        return found

    def _least_loaded(self, members: Iterable[str]) -> str | None:
        return min(
            members, key=lambda member: (self._process_of[member].load, self._process_of[member].counts[member], member), default=None
        )

    def _below(self, member_id: str, quota: _Quota) -> bool:
        return self._process_of[member_id].counts[member_id] < quota.each

    def _give_active(self, task: Task, member_id: str) -> None:
        count = self._count(task, member_id)
        self._given[member_id][0].append(task)
        self._active_quota.count(count)
        self._quota.count(count)

    def _give_standby(self, task: Task, member_id: str) -> None:
        self._given[member_id][1].append(task)
        self._quota.count(self._count(task, member_id))

    def _count(self, task: Task, member_id: str) -> int:
        process = self._process_of[member_id]
        process.tasks.add(task)
        process.counts[member_id] += 1
        return process.counts[member_id]

    def answer(self) -> dict[str, TaskSets]:
        return {member_id: TaskSets(_grouped(active), _grouped(standby)) for member_id, (active, standby) in self._given.items()}


def _by_partition(task: Task) -> tuple[int, str]:
    return task.partition, task.subtopology_id


def _grouped(tasks: list[Task]) -> dict[str, frozenset[int]]:
    by_subtopology: dict[str, set[int]] = {}
    for task in tasks:
        by_subtopology.setdefault(task.subtopology_id, set()).add(task.partition)
    return {subtopology: frozenset(partitions) for subtopology, partitions in by_subtopology.items()}
