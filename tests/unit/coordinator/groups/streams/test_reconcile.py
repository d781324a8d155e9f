"""A member on its way to its target: it gives up before others get, and a process has a task once (KIP-1071)."""

from __future__ import annotations

import pytest
from oncelog.coordinator.groups.streams.reconcile import STEPS, Found, reconcile
from oncelog.coordinator.groups.streams.state import StreamsMember, StreamsMemberState
from oncelog.coordinator.groups.streams.tasks import HeldTasks, TaskSets
from oncelog.protocol.errors import ErrorCode, KafkaError
from support.streams_group import active, group_of, member, standby, tasks

S = StreamsMemberState
NEW = 6


def step(before: StreamsMember, target: TaskSets, owned: TaskSets | None = None, *others: StreamsMember, epoch: int = NEW) -> StreamsMember:
    return reconcile(group_of(before, *others), before, owned, target, epoch)


def test_a_member_at_its_target_stays() -> None:
    before = member(assigned=active(0))
    assert step(before, TaskSets(tasks(1)), epoch=5) is before


def test_new_tasks_at_once_when_they_are_free() -> None:
    after = step(member(assigned=active(0)), TaskSets(tasks(0, 1), tasks(2)))
    assert (after.state, after.epoch, after.previous_epoch) == (S.STABLE, NEW, 5)
    assert after.assigned == HeldTasks({"0": {0: 5, 1: NEW}}, tasks(2)), "what it keeps, it has since then"


def test_given_up_before_anything_new() -> None:
    before = member(assigned=active(0, 1))
    after = step(before, TaskSets(tasks(1, 2)))
    assert (after.state, after.epoch) == (S.UNREVOKED_TASKS, 5)
    assert (after.assigned, after.revoking) == (active(1), active(0))
    assert step(after, TaskSets(tasks(1, 2))) == after, "who does not say what it has, may have everything"
    assert step(after, TaskSets(tasks(1, 2)), TaskSets(tasks(0, 1))) == after
    done = step(after, TaskSets(tasks(1, 2)), TaskSets(tasks(1)))
    assert (done.state, done.epoch, done.assigned) == (S.STABLE, NEW, HeldTasks({"0": {1: 5, 2: NEW}}))
    assert not done.revoking


def test_nothing_to_wait_for_when_it_says_that_it_has_none() -> None:
    after = step(member(assigned=active(0)), TaskSets(), TaskSets())
    assert (after.state, after.epoch, after.assigned) == (S.STABLE, NEW, HeldTasks())


def test_a_newer_target_while_giving_up() -> None:
    """One epoch further, as Kafka counts: it has done what the last target asked for."""
    after = step(member(assigned=active(1), revoking=active(0), state=S.UNREVOKED_TASKS), TaskSets(), TaskSets(tasks(1)), epoch=9)
    assert (after.state, after.epoch, after.revoking) == (S.UNREVOKED_TASKS, NEW, active(1))


def test_a_task_is_waited_for_until_its_owner_has_given_it_up() -> None:
    owner = member("o", process_id="q", state=S.UNREVOKED_TASKS, revoking=active(0))
    after = step(member(), TaskSets(tasks(0, 1)), None, owner)
    assert (after.state, after.epoch, after.assigned) == (S.UNRELEASED_TASKS, NEW, active(1, epoch=NEW))
    assert step(after, TaskSets(tasks(0, 1)), None, owner).assigned == active(1, epoch=NEW)
    done = step(after, TaskSets(tasks(0, 1)))
    assert (done.state, done.assigned) == (S.STABLE, active(0, 1, epoch=NEW))


@pytest.mark.parametrize("holds", [active(0), standby(0)])
@pytest.mark.parametrize("target", [TaskSets(tasks(0)), TaskSets(standby=tasks(0))])
def test_a_process_has_a_task_once(holds: HeldTasks, target: TaskSets) -> None:
    beside = member("o", assigned=holds)
    assert step(member(), target, None, beside).state is S.UNRELEASED_TASKS
    elsewhere = member("o", process_id="q", assigned=holds)
    free = not (holds.active and target.active)
    assert step(member(), target, None, elsewhere).state is (S.STABLE if free else S.UNRELEASED_TASKS)


@pytest.mark.parametrize("before", [active(0), standby(0)])
def test_from_active_to_standby_and_back_in_one_thread(before: HeldTasks) -> None:
    """Given up first; then it is its own, at once."""
    target = TaskSets(standby=tasks(0)) if before.active else TaskSets(tasks(0))
    told = step(member(assigned=before), target)
    assert (told.state, told.assigned, told.revoking) == (S.UNREVOKED_TASKS, HeldTasks(), before)
    done = step(told, target, TaskSets())
    assert (done.state, done.assigned.sets()) == (S.STABLE, target)


def test_an_unknown_state_starts_again() -> None:
    lost = member(state=S.UNKNOWN, assigned=active(0))
    for owned in (None, TaskSets(tasks(0))):
        with pytest.raises(KafkaError) as caught:
            step(lost, TaskSets(tasks(1)), owned)
        assert caught.value.code is ErrorCode.FENCED_MEMBER_EPOCH
    assert step(lost, TaskSets(tasks(1)), TaskSets()).assigned == active(1, epoch=NEW)


def test_the_table_is_whole() -> None:
    """A member that is to give something up can be so only in UNREVOKED, and in UNKNOWN has nothing."""
    cannot = {(state, Found.STILL_HAS) for state in S if state is not S.UNREVOKED_TASKS} | {(S.UNKNOWN, Found.MUST_GIVE_UP)}
    assert STEPS.keys() == {(state, found) for state in S for found in Found} - cannot
