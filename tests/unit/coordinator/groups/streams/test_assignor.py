"""The sticky assignor: every task once, followed elsewhere, load even over processes, and no more moved than must be (KIP-1071)."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st
from oncelog.coordinator.groups.streams.assignor import Work, Worker, assign
from oncelog.coordinator.groups.streams.tasks import TaskSets, each
from support.streams_group import tasks

MANY = 150


@st.composite
def workers(draw: st.DrawFn, least: int = 1) -> list[Worker]:
    members = draw(st.integers(least, 8))
    return [Worker(f"m{n}", f"p{draw(st.integers(0, 4))}") for n in range(members)]


works = st.dictionaries(st.sampled_from("0123"), st.builds(Work, st.integers(1, 9), st.booleans()), max_size=4)


def again(members: list[Worker], given_before: dict[str, TaskSets]) -> list[Worker]:
    return [Worker(each.member_id, each.process_id, given_before.get(each.member_id, TaskSets())) for each in members]


def check(members: list[Worker], work: dict[str, Work], standbys: int, answer: dict[str, TaskSets]) -> None:
    """Every task is active once; standbys are in as many other processes as there are, and wanted, each at most once."""
    process_of = {each.member_id: each.process_id for each in members}
    assert answer.keys() == process_of.keys()
    active = Counter(task for sets in answer.values() for task in each(sets.active))
    assert set(active.values()) <= {1}
    assert len(active) == sum(each.tasks for each in work.values())
    in_processes = Counter((process_of[m], task) for m, sets in answer.items() for tasks in sets for task in each(tasks))
    assert set(in_processes.values()) <= {1}
    followed = Counter(task for sets in answer.values() for task in each(sets.standby))
    possible = min(standbys, len(set(process_of.values())) - 1)
    assert followed == {task: possible for task in active if work[task.subtopology_id].stateful and possible}
    assert not any(sets.warmup for sets in answer.values())


@settings(max_examples=MANY, deadline=None)
@given(workers(), works, st.integers(0, 2))
def test_every_task_is_given(members: list[Worker], work: dict[str, Work], standbys: int) -> None:
    check(members, work, standbys, assign(members, work, standbys))


@settings(max_examples=MANY, deadline=None)
@given(workers(), works, st.integers(0, 2))
def test_the_same_question_has_the_same_answer(members: list[Worker], work: dict[str, Work], standbys: int) -> None:
    assert assign(members, work, standbys) == assign(members[::-1], work, standbys)


@settings(max_examples=MANY, deadline=None)
@given(workers(), works, st.integers(0, 2))
def test_nothing_moves_without_a_reason(members: list[Worker], work: dict[str, Work], standbys: int) -> None:
    first = assign(members, work, standbys)
    once_more = assign(again(members, first), work, standbys)
    check(members, work, standbys, once_more)
    if len({each.process_id for each in members}) == len(members):  # else load is evened out between processes of different sizes
        assert {m: sets.active for m, sets in once_more.items()} == {m: sets.active for m, sets in first.items()}


@settings(max_examples=MANY, deadline=None)
@given(workers(), works)
def test_processes_are_loaded_alike(members: list[Worker], work: dict[str, Work]) -> None:
    """From nothing: no process could do with one task fewer while another, even with that one more, has less to do for a member."""
    answer = assign(members, work, 0)
    size = Counter(each.process_id for each in members)
    count = Counter(dict.fromkeys(size, 0))
    for each_one in members:
        count[each_one.process_id] += sum(len(partitions) for partitions in answer[each_one.member_id].active.values())
    least = min((count[process] + 1) / size[process] for process in size)
    assert all((count[process] - 1) / size[process] <= least for process in size)


@settings(max_examples=MANY, deadline=None)
@given(workers(least=2), works, st.integers(0, 1), st.data())
def test_who_comes_or_goes_takes_little_along(members: list[Worker], work: dict[str, Work], standbys: int, data: st.DataObject) -> None:
    """One thread a process: after one leaves, nobody else loses an active task unless it has more than its share."""
    alone = [Worker(each.member_id, each.member_id) for each in members]
    before = assign(alone, work, standbys)
    gone = data.draw(st.sampled_from(alone))
    left = [each for each in alone if each is not gone]
    after = assign(again(left, before), work, standbys)
    check(left, work, standbys, after)
    for each_one in left:
        kept = set(each(before[each_one.member_id].active)) & set(each(after[each_one.member_id].active))
        assert kept == set(each(before[each_one.member_id].active))


def test_a_third_member_takes_from_the_loaded_ones_only() -> None:
    """Case T26: with 5, 1 and 0 tasks nobody but the first gives any up."""
    given_before = {"m0": TaskSets(tasks(0, 1, 2, 3, 4)), "m1": TaskSets(tasks(5))}
    members = again([Worker(f"m{n}", f"p{n}") for n in range(3)], given_before)
    after = assign(members, {"0": Work(6)}, 0)
    assert [len(after[m].active["0"]) for m in ("m0", "m1", "m2")] == [2, 2, 2]
    assert 5 in after["m1"].active["0"]
    assert after["m0"].active["0"] <= frozenset(range(5))


def test_members_of_one_process_share_its_load() -> None:
    """Case T27: two threads in one process and one in another get four, four and four of twelve tasks."""
    members = [Worker("a", "p1"), Worker("b", "p1"), Worker("c", "p2")]
    answer = assign(members, {"0": Work(12)}, 0)
    assert [len(answer[m].active["0"]) for m in "abc"] == [4, 4, 4]


def test_a_standby_takes_over() -> None:
    """Who followed a task has its state; case T14 gives such standbys."""
    members = [Worker(m, m) for m in "abc"]
    before = assign(members, {"0": Work(3, stateful=True)}, 1)
    left = again([Worker(m, m) for m in "bc"], before)
    lost = before["a"].active["0"]
    after = assign(left, {"0": Work(3, stateful=True)}, 1)
    follower = next(m for m in "bc" if before[m].standby.get("0", frozenset()) & lost)
    assert lost <= after[follower].active["0"]


def test_who_ran_a_task_follows_it() -> None:
    """Case T14, as recorded: a had both; b gets one, and each follows the other's."""
    members = again([Worker("a", "p1"), Worker("b", "p2")], {"a": TaskSets(tasks(0, 1))})
    after = assign(members, {"0": Work(2, stateful=True)}, 1)
    assert after == {"a": TaskSets(tasks(0), tasks(1)), "b": TaskSets(tasks(1), tasks(0))}


def test_nobody_has_nothing() -> None:
    assert assign([], {"0": Work(3)}, 1) == {}
    assert assign([Worker("a", "p")], {}, 1) == {"a": TaskSets()}
