"""Streams groups without broker and log: whatever members do, no task runs twice, and in the end each runs once (KIP-1071)."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oncelog.coordinator.groups.streams.checks import StreamsHeartbeat, check
from oncelog.coordinator.groups.streams.draft import StreamsDraft
from oncelog.coordinator.groups.streams.heartbeat import HeartbeatAnswer, heartbeat, leave, same_topology
from oncelog.coordinator.groups.streams.state import StreamsGroup, StreamsGroupState
from oncelog.coordinator.groups.streams.tasks import Task, TaskSets, each
from oncelog.coordinator.groups.streams.topology import StatusCode
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.internal.records import decode_key, decode_value
from oncelog.protocol.internal.streams_topology import KeyValue, Subtopology
from oncelog.protocol.names import CONSUMER_OFFSETS
from support.consumer_group import FakeTopics
from support.streams_group import LIMITS, fitting, joining, stateful, staying, tasks, topology

E = ErrorCode


@dataclass
class Client:
    """A well-behaved thread: it gives up what it is told to before it says so."""

    member_id: str
    process_id: str
    epoch: int = 0
    owned: TaskSets = field(default_factory=TaskSets)


class World:
    def __init__(self, standbys: int = 0) -> None:
        self.topics = FakeTopics()
        self.topics.put("a", 4)
        self.topics.put("changelog-0", 4)
        self.topology = topology(stateful())
        self.limits = replace(LIMITS, standby_replicas=standbys)
        self.group = StreamsGroup("g")
        self.journal: list[tuple[bytes, bytes | None]] = []
        self.clients: dict[str, Client] = {}
        self.now_ms = 1_000_000
        self.delayed = False

    def send(self, request: StreamsHeartbeat) -> HeartbeatAnswer:
        check(request)
        draft = StreamsDraft(self.group)
        if request.member_epoch < 0:
            answer = leave(draft, request)
        else:
            fit = lambda wanted: fitting(self.topics, wanted)  # noqa: E731
            answer = heartbeat(draft, request, fit, self.limits, self.now_ms, delayed=self.delayed)
        self.journal += [(record.key, record.value) for record in draft.records]
        self.group = draft.group
        return answer

    def beat(self, client: Client, *, lost: bool = False) -> None:
        if client.epoch == 0:
            request = joining(client.member_id, process_id=client.process_id, topology=self.topology)
        else:
            request = staying(client.member_id, client.epoch, client.owned)
        try:
            answer = self.send(request)
        except KafkaError as error:
            if error.code not in (E.FENCED_MEMBER_EPOCH, E.UNKNOWN_MEMBER_ID):
                raise
            client.epoch, client.owned = 0, TaskSets()
            return
        if lost:
            return
        client.epoch = answer.member_epoch
        if answer.tasks is not None:
            client.owned = answer.tasks

    def check(self) -> None:
        running: set[Task] = set()
        in_process: set[tuple[str, Task]] = set()
        for client in self.clients.values():
            mine = set(each(client.owned.active))
            assert not running & mine, f"two run {running & mine}"
            running |= mine
            here = {(client.process_id, task) for task in (*mine, *each(client.owned.standby))}
            assert not in_process & here, f"twice in a process: {in_process & here}"
            in_process |= here
        rebuilt = StreamsGroup("g")
        for key, value in self.journal:
            decoded = decode_key(CONSUMER_OFFSETS, key)
            rebuilt.replay(decoded, decode_value(decoded, value))  # type: ignore[arg-type]
        assert rebuilt == self.group


MEMBERS = st.sampled_from(["m1", "m2", "m3", "m4", "m5"])
PROCESS_OF = {"m1": "p1", "m2": "p1", "m3": "p2", "m4": "p3", "m5": "p3"}
STEPS = st.one_of(
    st.tuples(st.just("beat"), MEMBERS),
    st.tuples(st.just("lost"), MEMBERS),
    st.tuples(st.just("leave"), MEMBERS),
    st.tuples(st.just("restart"), MEMBERS),
    st.tuples(st.just("standbys"), st.sampled_from("012")),
    st.tuples(st.just("grow"), st.just("")),
)


def take(world: World, step: str, name: str) -> None:
    if step == "standbys":
        world.limits = replace(world.limits, standby_replicas=int(name))
        return
    if step == "grow":
        for topic in ("a", "changelog-0"):
            world.topics.put(topic, world.topics.topics[topic].partitions + 1)
        return
    client = world.clients.get(name)
    if client is None:
        world.clients[name] = client = Client(name, PROCESS_OF[name])
        world.beat(client)
    elif step == "leave":
        del world.clients[name]
        if name in world.group.members:
            world.send(staying(name, -1))
    elif step == "restart":
        client.epoch, client.owned = 0, TaskSets()
    else:
        world.beat(client, lost=step == "lost")


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2), st.lists(STEPS, max_size=40))
def test_no_task_twice_and_in_the_end_each_once(standbys: int, steps: list[tuple[str, str]]) -> None:
    world = World(standbys)
    for step, name in steps:
        take(world, step, name)
        world.check()
    for _round in range(12):
        for client in world.clients.values():
            world.beat(client)
            world.check()
    if not world.clients:
        return
    assert world.group.state is StreamsGroupState.STABLE
    everything = {Task("0", n) for n in range(world.topics.topics["a"].partitions)}
    assert {task for client in world.clients.values() for task in each(client.owned.active)} == everything
    followed = min(world.limits.standby_replicas, len({client.process_id for client in world.clients.values()}) - 1)
    standing_by = [task for client in world.clients.values() for task in each(client.owned.standby)]
    assert len(standing_by) == followed * len(everything)
    for client in world.clients.values():
        assert world.group.members[client.member_id].assigned.sets() == client.owned


def refused(world: World, request: StreamsHeartbeat) -> tuple[ErrorCode, str]:
    before = world.group
    with pytest.raises(KafkaError) as caught:
        world.send(request)
    assert world.group is before
    return caught.value.code, caught.value.message or ""


def plain(partitions: int = 2) -> World:
    """One subtopology without state over a topic."""
    world = World()
    world.topology = topology()
    world.topics.put("a", partitions)
    return world


def test_the_first_member_gets_everything() -> None:
    """Case T02."""
    answer = plain(3).send(joining())
    assert (answer.member_epoch, answer.statuses, answer.tasks) == (2, (), TaskSets(tasks(0, 1, 2)))


def test_records_of_a_join_and_of_a_leave() -> None:
    """Case T28, as recorded: types in their order."""
    world = plain()
    world.send(joining())
    world.send(staying("m", -1))
    assert [int.from_bytes(key[:2], "big") for key, _value in world.journal] == [19, 23, 17, 21, 20, 22, 22, 21, 19, 17]


def test_epochs_are_fenced() -> None:
    """Case T05: the former epoch is believed of a member that has no more than it was given."""
    world = plain()
    world.send(joining())
    assert refused(world, staying("m", 3))[0] is E.FENCED_MEMBER_EPOCH
    assert "smaller member epoch (1)" in refused(world, staying("m", 1))[1]
    assert world.send(staying("m", 2)).tasks is None
    world.send(staying("m", 2, rack_id="r"))
    assert world.group.members["m"].epoch == 3
    assert refused(world, staying("m", 2))[0] is E.FENCED_MEMBER_EPOCH
    assert refused(world, staying("m", 2, TaskSets(tasks(0, 1, 2))))[0] is E.FENCED_MEMBER_EPOCH
    assert world.send(staying("m", 2, TaskSets(tasks(0)))).member_epoch == 3


def test_unknown_members() -> None:
    """Case T04."""
    world = plain()
    world.send(joining())
    assert refused(world, staying("x", 2)) == (E.UNKNOWN_MEMBER_ID, "Member x is not a member of group g.")
    assert refused(world, staying("x", -1))[0] is E.UNKNOWN_MEMBER_ID


def test_joining_again_keeps_the_member() -> None:
    """Case T25."""
    world = plain()
    first = world.send(joining())
    again = world.send(joining())
    assert (again.member_epoch, again.tasks) == (first.member_epoch, first.tasks)


def test_full() -> None:
    world = plain()
    world.limits = replace(LIMITS, max_size=1)
    world.send(joining())
    assert refused(world, joining("n"))[0] is E.GROUP_MAX_SIZE_REACHED
    world.send(joining())


def test_what_a_member_says_of_itself_raises_the_epoch() -> None:
    """Case T33: tags and rack, one epoch each; said again they change nothing."""
    world = plain()
    world.send(joining())
    tag = (KeyValue("zone", "b"),)
    assert world.send(staying("m", 2, client_tags=tag)).member_epoch == 3
    assert world.send(staying("m", 3, rack_id="r1")).member_epoch == 4
    assert world.send(staying("m", 4, rack_id="r1", client_tags=tag)).member_epoch == 4


def test_missing_topics_and_then_tasks() -> None:
    """Case T06."""
    world = plain()
    del world.topics.topics["a"]
    answer = world.send(joining())
    assert [status.code for status in answer.statuses] == [StatusCode.MISSING_SOURCE_TOPICS]
    assert (answer.member_epoch, answer.tasks) == (2, TaskSets())
    assert world.group.state is StreamsGroupState.NOT_READY
    world.topics.put("a", 2)
    assert world.send(staying("m", 2)).tasks == TaskSets(tasks(0, 1))


def test_internal_topics_are_asked_for() -> None:
    """Case T07."""
    world = plain()
    answer = world.send(joining(topology=topology(stateful("1"))))
    assert [(topic.name, topic.partitions) for topic in answer.missing] == [("changelog-1", 2)]
    assert answer.statuses[0].code is StatusCode.MISSING_INTERNAL_TOPICS


def test_the_first_target_waits_for_more_members() -> None:
    """Case T01."""
    world = plain()
    world.delayed = True
    answer = world.send(joining())
    assert (answer.member_epoch, answer.tasks) == (1, TaskSets())
    assert answer.statuses == ((StatusCode.ASSIGNMENT_DELAYED, "Assignment delayed due to the configured initial rebalance delay."),)
    assert world.group.state is StreamsGroupState.ASSIGNING
    world.delayed = False
    assert world.send(staying("m", 1)).tasks == TaskSets(tasks(0, 1))


def test_targets_are_some_time_apart() -> None:
    """Case T31."""
    world = plain()
    world.limits = replace(LIMITS, assignment_interval_ms=1_000)
    world.send(joining())
    world.now_ms += 999
    answer = world.send(joining("n"))
    assert answer.statuses == ((StatusCode.ASSIGNMENT_DELAYED, "Assignment delayed due to the configured assignment interval."),)
    assert (answer.member_epoch, answer.tasks) == (2, TaskSets())
    world.now_ms += 1
    assert world.send(staying("n", 2)).member_epoch == 3


def test_the_first_target_is_after_none() -> None:
    """Also where the clock has only just begun."""
    world = plain()
    world.now_ms = 5
    world.limits = replace(LIMITS, assignment_interval_ms=1_000)
    assert world.send(joining()).tasks == TaskSets(tasks(0, 1))


def test_another_topology() -> None:
    """Case T16: the same epoch or a higher one is refused, an older one takes part."""
    world = plain()
    world.topics.put("b", 1)
    other = (Subtopology("0", ("b",)),)
    world.send(joining(topology=topology(epoch=5)))
    for epoch in (5, 6):
        assert refused(world, joining("n", topology=topology(*other, epoch=epoch))) == (
            E.INVALID_REQUEST,
            "Topology updates are not supported yet.",
        )
    stale = world.send(joining("n", topology=topology(*other, epoch=4)))
    assert stale.statuses[0] == (StatusCode.STALE_TOPOLOGY, "The member's topology epoch 4 is behind the group's topology epoch 5.")
    assert stale.member_epoch == 3


def test_the_topology_stays_when_everybody_has_left() -> None:
    """Case T17."""
    world = plain()
    world.send(joining())
    world.send(staying("m", -1))
    assert world.group.state is StreamsGroupState.EMPTY
    assert refused(world, joining(topology=topology(Subtopology("0", ("b",)))))[0] is E.INVALID_REQUEST
    assert world.send(joining()).member_epoch == 4


def test_the_order_of_subtopologies_says_nothing() -> None:
    one, other = Subtopology("0", ("a",)), Subtopology("1", ("b",))
    assert same_topology(topology(one, other), topology(other, one))
    assert not same_topology(topology(one, other), topology(one))


def test_tasks_that_do_not_exist() -> None:
    """Case T24; nothing can be said while topics do not fit."""
    world = plain()
    world.send(joining())
    assert refused(world, staying("m", 2, TaskSets(tasks(2))))[0] is E.INVALID_REQUEST
    del world.topics.topics["a"]
    world.send(staying("m", 2, TaskSets(tasks(2))))


def test_a_setting_of_assignments_raises_the_epoch() -> None:
    world = plain()
    world.send(joining())
    world.limits = replace(LIMITS, standby_replicas=1)
    assert world.send(staying("m", 2)).member_epoch == 3
