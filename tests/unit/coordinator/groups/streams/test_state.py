"""A streams group is what its records add up to, in whichever order compaction left them."""

from __future__ import annotations

import itertools

import pytest
from oncelog.coordinator.groups.streams.draft import StreamsDraft
from oncelog.coordinator.groups.streams.state import StreamsGroup, StreamsGroupState, StreamsMemberState
from oncelog.coordinator.groups.streams.tasks import HeldTasks, Task, TaskSets
from oncelog.protocol.internal.streams_groups import (
    Endpoint,
    StreamsGroupCurrentMemberAssignmentKey,
    StreamsGroupCurrentMemberAssignmentValue,
    StreamsGroupMemberMetadataKey,
)
from oncelog.protocol.internal.streams_topology import KeyValue, Subtopology, TopicInfo
from support.streams_group import LIMITS, active, group_of, member, standby, tasks, topology


def test_empty_without_members() -> None:
    group = group_of(epoch=7)
    assert group.state is StreamsGroupState.EMPTY
    assert group.all_subscribed_names() == frozenset()


def test_not_ready_until_the_topics_fit() -> None:
    draft = StreamsDraft(group_of(member()))
    assert draft.group.state is StreamsGroupState.STABLE
    draft.put_epoch(5, 0, -1, LIMITS.assignment_configs())
    assert draft.group.state is StreamsGroupState.NOT_READY


def test_the_states_follow_from_epochs() -> None:
    assert group_of(member(), epoch=6).state is StreamsGroupState.ASSIGNING
    assert group_of(member(epoch=4)).state is StreamsGroupState.RECONCILING
    assert group_of(member(state=StreamsMemberState.UNRELEASED_TASKS)).state is StreamsGroupState.RECONCILING
    assert group_of(member()).state is StreamsGroupState.STABLE


def test_records_hold_all_of_a_member() -> None:
    whole = member(
        rack_id="r",
        client_id="c",
        client_host="/h",
        rebalance_timeout_ms=7,
        user_endpoint=Endpoint("h", 1),
        client_tags=(KeyValue("k", "v"),),
        state=StreamsMemberState.UNREVOKED_TASKS,
        assigned=HeldTasks({"0": {1: 3, 2: 5}}, tasks(4)),
        revoking=HeldTasks({"0": {3: 2}}, tasks(5)),
    )
    assert group_of(whole).members["m"] == whole


def test_a_task_that_is_given_up_has_its_owner_until_then() -> None:
    group = group_of(member("a", assigned=active(0), revoking=active(1)), member("b", assigned=standby(1)))
    assert group.owners == {Task("0", 0): "a", Task("0", 1): "a"}
    assert group.followers == {Task("0", 1): frozenset("b")}
    draft = StreamsDraft(group)
    draft.remove_member("a")
    draft.remove_member("b")
    assert (draft.group.owners, draft.group.followers) == ({}, {})
    assert group.owners, "a draft leaves the group alone"


def test_another_member_of_the_process() -> None:
    here, there = member("a", assigned=active(0)), member("b", assigned=standby(1))
    elsewhere = member("c", process_id="q", assigned=standby(0))
    group = group_of(here, there, elsewhere)
    assert group.runs_beside(there, Task("0", 0))
    assert not group.runs_beside(here, Task("0", 0))
    assert not group.runs_beside(elsewhere, Task("0", 0))
    assert group.is_followed_beside(here, Task("0", 1))
    assert not group.is_followed_beside(here, Task("0", 0))


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
def test_compaction_may_leave_records_in_any_order(order: tuple[int, ...]) -> None:
    whole = group_of(member(assigned=active(0)), targets={"m": TaskSets(tasks(0))})
    draft = StreamsDraft(StreamsGroup("g"))
    writes = [
        lambda: draft.write(StreamsGroupMemberMetadataKey("g", "m"), whole.members["m"].is_who()),
        lambda: draft.write(StreamsGroupCurrentMemberAssignmentKey("g", "m"), whole.members["m"].has()),
        lambda: (draft.put_topology(topology()), draft.put_target("m", TaskSets(tasks(0)))),
        lambda: (draft.put_epoch(5, 0, 0, LIMITS.assignment_configs()), draft.put_assignment_epoch(5, 0)),
    ]
    for position in order:
        writes[position]()
    assert draft.group == whole


def test_a_state_of_later_versions() -> None:
    draft = StreamsDraft(StreamsGroup("g"))
    draft.write(StreamsGroupCurrentMemberAssignmentKey("g", "m"), StreamsGroupCurrentMemberAssignmentValue(1, 1, 9))
    assert draft.group.members["m"].state is StreamsMemberState.UNKNOWN


def test_partitions_that_a_member_reads() -> None:
    draft = StreamsDraft(group_of(member(assigned=HeldTasks({"0": {1: 5}}, tasks(3)), revoking=active(2))))
    draft.put_topology(topology(Subtopology("0", ("b", "a"), repartition_source_topics=(TopicInfo("r"),))))
    assert [str(place) for place in draft.group.partitions_of(draft.group.members["m"])] == ["a-1", "b-1", "r-1"]


def test_topics_that_are_read() -> None:
    draft = StreamsDraft(group_of(member()))
    draft.put_topology(topology(Subtopology("0", ("a", "b"), repartition_source_topics=(TopicInfo("r"),))))
    assert draft.group.all_subscribed_names() == {"a", "b", "r"}
