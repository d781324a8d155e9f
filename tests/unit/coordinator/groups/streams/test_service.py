"""KIP-1071 groups on a real log: what a restart finds, whom a moved clock ends, what is told beside tasks."""

from __future__ import annotations

import pytest
from oncelog.coordinator.groups.streams.service import StreamsGroupService
from oncelog.coordinator.groups.streams.state import StreamsGroup, StreamsGroupState
from oncelog.coordinator.groups.streams.tasks import TaskSets
from oncelog.coordinator.groups.streams.topology import StatusCode
from oncelog.protocol.errors import ErrorCode as E
from oncelog.protocol.errors import KafkaError
from oncelog.protocol.internal.streams_groups import Endpoint
from support.group_machine import Machine
from support.streams_group import joining, stateful, staying, tasks, topology

AT_ONCE = {"group_streams_initial_rebalance_delay_ms": 0, "group_streams_assignment_interval_ms": 0}


@pytest.fixture
def machine() -> Machine:
    return Machine(**AT_ONCE)


def group(machine: Machine) -> StreamsGroup:
    found = machine.groups.streams.find("g")
    assert found is not None
    return found


def codes(statuses: object) -> list[StatusCode]:
    return [status.code for status in statuses]  # type: ignore[attr-defined]


def test_a_restart_keeps_members_tasks_and_topology(machine: Machine) -> None:
    machine.stream(joining())
    machine.stream(joining("n", process_id="q"))
    before = group(machine)
    machine.restart()
    assert group(machine) == before
    assert machine.stream(staying("m", 2)).tasks == TaskSets(tasks(0))


def test_members_have_a_whole_session_after_a_restart(machine: Machine) -> None:
    machine.stream(joining())
    machine.after(30_000)
    machine.restart()
    machine.after(44_999)
    assert set(group(machine).members) == {"m"}
    machine.after(2)
    assert group(machine).state is StreamsGroupState.EMPTY


def test_silent_members_go(machine: Machine) -> None:
    machine.stream(joining())
    machine.after(45_001)
    assert not group(machine).members
    with pytest.raises(KafkaError) as caught:
        machine.stream(staying("m", 2))
    assert caught.value.code is E.UNKNOWN_MEMBER_ID


def test_a_member_that_gives_nothing_up_goes_after_its_rebalance_timeout(machine: Machine) -> None:
    """Case T32."""
    machine.stream(joining())
    machine.stream(joining("n", process_id="q"))
    machine.stream(staying("m", 2))  # told to give one up
    machine.after(4_999)
    machine.stream(staying("m", 2))
    machine.after(2)
    assert set(group(machine).members) == {"n"}


def test_the_first_target_comes_after_the_delay() -> None:
    """Case T01: the members that came meanwhile share it."""
    machine = Machine(group_streams_assignment_interval_ms=0)
    assert codes(machine.stream(joining()).statuses) == [StatusCode.ASSIGNMENT_DELAYED]
    machine.after(2_000)
    assert machine.stream(joining("n", process_id="q")).member_epoch == 1
    machine.after(999)
    assert group(machine).assignment_epoch == 0
    machine.after(1)
    assert group(machine).assignment_epoch == group(machine).epoch
    assert machine.stream(staying("m", 1)).tasks == TaskSets(tasks(0))
    assert machine.stream(staying("n", 1)).tasks == TaskSets(tasks(1))


def test_a_delay_that_a_restart_forgot() -> None:
    machine = Machine()
    machine.stream(joining())
    machine.restart()
    assert machine.stream(staying("m", 1)).tasks == TaskSets(tasks(0, 1))


def test_a_delay_ends_with_the_last_member() -> None:
    machine = Machine()
    machine.stream(joining())
    machine.stream(staying("m", -1))
    machine.after(10_000)
    assert group(machine).assignment_epoch == 0
    assert codes(machine.stream(joining()).statuses) == [StatusCode.ASSIGNMENT_DELAYED]


def test_who_comes_back_waits_as_long_as_others() -> None:
    """The delay of those who left is not theirs."""
    machine = Machine()
    machine.stream(joining())
    machine.after(2_000)
    machine.stream(staying("m", -1))
    machine.stream(joining())
    machine.after(2_999)
    assert group(machine).assignment_epoch == 0
    machine.after(1)
    assert group(machine).assignment_epoch > 0


def test_who_left_is_not_removed_once_more(machine: Machine) -> None:
    machine.stream(joining())
    machine.stream(joining("n", process_id="q"))
    machine.stream(staying("m", -1))
    epoch = group(machine).epoch
    machine.after(40_000)
    machine.stream(staying("n", 3))
    machine.after(10_000)
    assert (group(machine).epoch, set(group(machine).members)) == (epoch, {"n"})


def test_settings_of_the_groups_own() -> None:
    machine = Machine()
    machine.groups.overrides = lambda _group_id: {
        "streams.session.timeout.ms": "46000",
        "streams.heartbeat.interval.ms": "6000",
        "streams.assignment.interval.ms": "7",
        "streams.initial.rebalance.delay.ms": "0",
        "streams.num.standby.replicas": "1",
    }
    answer = machine.stream(joining())
    assert (answer.heartbeat_interval_ms, answer.tasks) == (6_000, TaskSets(tasks(0, 1)))
    assert dict(group(machine).assignment_configs) == {"num.standby.replicas": "1"}
    limits = machine.groups.streams.limits("g")
    assert (limits.session_timeout_ms, limits.assignment_interval_ms) == (46_000, 7)


def test_a_shutdown_is_told_until_nobody_is_left(machine: Machine) -> None:
    """Case T15."""
    machine.stream(joining())
    asked = machine.stream(staying("m", 2, shutdown_application=True))
    assert codes(asked.statuses) == [StatusCode.SHUTDOWN_APPLICATION]
    assert codes(machine.stream(joining("n")).statuses) == [StatusCode.SHUTDOWN_APPLICATION]
    machine.stream(staying("n", -1))
    machine.stream(staying("m", -1, shutdown_application=True))
    assert machine.stream(joining()).statuses == ()


def test_endpoints_are_told_when_they_changed(machine: Machine) -> None:
    """Case T18: the first member is told at epoch 0, later changes count."""
    first = machine.stream(joining(user_endpoint=Endpoint("h", 1)))
    assert (first.endpoint_epoch, len(first.endpoints or ())) == (0, 1)
    assert machine.stream(staying("m", 2)).endpoints is None
    told = machine.stream(staying("m", 2, endpoint_epoch=9))
    assert (told.endpoint_epoch, told.endpoints) == (0, ((Endpoint("h", 1), (("a", (0, 1)),), ()),))
    second = machine.stream(joining("n", process_id="q", user_endpoint=Endpoint("k", 2)))
    assert (second.endpoint_epoch, len(second.endpoints or ())) == (1, 2)
    assert machine.stream(joining("o", process_id="r")).endpoint_epoch == 1, "who cannot be asked changes nothing"


def test_the_topology_is_looked_at_when_topics_changed(machine: Machine) -> None:
    """Case T06; a topic that grows raises the epoch."""
    answer = machine.stream(joining(topology=topology(stateful())))
    assert [topic.name for topic in answer.missing] == ["changelog-0"]
    machine.logs.create_topic("changelog-0", 2)
    answer = machine.stream(staying("m", 2))
    assert (answer.member_epoch, answer.tasks) == (3, TaskSets(tasks(0, 1)))
    machine.logs.create_topic("unrelated", 1)
    assert machine.stream(staying("m", 3)).member_epoch == 3


def test_a_topology_is_fitted_once(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """And not at every heartbeat, of which there are many."""
    machine.stream(joining())
    machine.stream(staying("m", 2))  # after the topic of the groups itself was made
    monkeypatch.setattr("oncelog.coordinator.groups.streams.service.fit", None)
    machine.stream(staying("m", 2))


def test_an_empty_classic_group_becomes_one(machine: Machine) -> None:
    """Case T20: its offsets stay; one with members stays what it is."""
    assert machine.commit(7) is E.NONE
    machine.stream(joining())
    assert machine.committed().offset == 7
    machine.restart()
    assert [each.kind for each in machine.groups.listing.list()] == ["streams"]


def test_a_classic_group_with_members_stays(machine: Machine) -> None:
    machine.join()
    with pytest.raises(KafkaError) as caught:
        machine.stream(joining())
    assert (caught.value.code, caught.value.message) == (E.GROUP_ID_NOT_FOUND, "Group g is not a streams group.")


def test_an_empty_one_becomes_classic(machine: Machine) -> None:
    """Case T19: not while it has members."""
    machine.stream(joining())
    assert machine.join().error is E.INCONSISTENT_GROUP_PROTOCOL
    machine.stream(staying("m", -1))
    machine.join()
    assert machine.groups.streams.find("g") is None
    machine.restart()
    assert machine.groups.streams.find("g") is None


def test_groups_that_are_not_there(machine: Machine) -> None:
    """Case T04: a leaving member is told it in other words."""
    for epoch, noun in ((3, "Streams group"), (-1, "Group")):
        with pytest.raises(KafkaError) as caught:
            machine.stream(staying("m", epoch))
        assert (caught.value.code, caught.value.message) == (E.GROUP_ID_NOT_FOUND, f"{noun} g not found.")


def test_a_deleted_group_is_gone_for_good(machine: Machine) -> None:
    """Case T22."""
    machine.stream(joining())
    assert machine.groups.removal.delete_groups(["g"]) == {"g": E.NON_EMPTY_GROUP}
    machine.stream(staying("m", -1))
    assert machine.groups.removal.delete_groups(["g"]) == {"g": E.NONE}
    assert machine.groups.streams.find("g") is None
    machine.restart()
    assert machine.groups.listing.list() == []
    machine.stream(joining(topology=topology(stateful())))


def test_offsets_are_fetched_by_members(machine: Machine) -> None:
    """Case T21."""
    machine.stream(joining())
    service: StreamsGroupService = machine.groups.streams
    service.validate_fetch("g", None, -1)
    service.validate_fetch("g", "m", 2)
    for member_id, epoch, error in (("m", 3, E.STALE_MEMBER_EPOCH), ("x", 2, E.UNKNOWN_MEMBER_ID), (None, 2, E.UNKNOWN_MEMBER_ID)):
        with pytest.raises(KafkaError) as caught:
            service.validate_fetch("g", member_id, epoch)
        assert caught.value.code is error


def test_commits_ask_who_it_is(machine: Machine) -> None:
    machine.stream(joining())
    assert machine.commit(1, "m", 2) is E.NONE
    assert machine.commit(1, "m", 3) is E.STALE_MEMBER_EPOCH
    assert machine.txn_commit(1, 5, "m", 3) is E.ILLEGAL_GENERATION


def test_described_with_what_topics_there_are(machine: Machine) -> None:
    machine.stream(joining(topology=topology(stateful())))
    assert machine.groups.streams_group_describe("g").fitted is None
    machine.logs.create_topic("changelog-0", 2)
    found = machine.groups.streams_group_describe("g")
    assert found.fitted is not None
    assert found.fitted.subtopologies["0"].changelogs[0].partitions == 2
    with pytest.raises(KafkaError) as caught:
        machine.groups.streams_group_describe("none")
    assert caught.value.code is E.GROUP_ID_NOT_FOUND


def test_expired_offsets_take_an_empty_group_along(machine: Machine) -> None:
    machine.stream(joining())
    assert machine.commit(1, "m", 2) is E.NONE
    machine.stream(staying("m", -1))
    week_ms = machine.config.offsets_retention_ms
    machine.after(week_ms + machine.config.offsets_retention_check_interval_ms + 1)
    machine.after(machine.config.offsets_retention_check_interval_ms + 1)
    assert machine.groups.listing.list() == []


def test_a_refused_join_leaves_nothing_behind(machine: Machine) -> None:
    twice = topology(*topology().subtopologies, *topology().subtopologies)
    with pytest.raises(KafkaError):
        machine.stream(joining(topology=twice))
    assert machine.groups.streams.find("g") is None
    assert machine.groups.listing.list() == []
