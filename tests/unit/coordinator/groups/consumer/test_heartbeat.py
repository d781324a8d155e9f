"""Consumer groups without broker and log: whatever members do, no partition is with two of them, and in the end each is with one."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oncelog.coordinator.groups.consumer.assignors import Place
from oncelog.coordinator.groups.consumer.draft import Draft
from oncelog.coordinator.groups.consumer.heartbeat import ConsumerHeartbeat, HeartbeatAnswer, check, heartbeat, leave
from oncelog.coordinator.groups.consumer.regex import resolve
from oncelog.coordinator.groups.consumer.state import ConsumerGroup, ConsumerGroupState
from oncelog.coordinator.groups.shard import GroupShard
from oncelog.protocol.errors import ErrorCode, KafkaError
from support.consumer_group import LIMITS, FakeTopics


@dataclass
class Client:
    """A well-behaved member: it gives up what it is told to before it says so."""

    member_id: str
    epoch: int = 0
    owned: dict[uuid.UUID, frozenset[int]] = field(default_factory=dict)
    names: tuple[str, ...] = ("a",)
    regex: str | None = None

    def places(self) -> set[Place]:
        return {Place(topic_id, partition) for topic_id, numbers in self.owned.items() for partition in numbers}


class World:
    def __init__(self) -> None:
        self.topics = FakeTopics()
        self.topics.put("a", 5)
        self.topics.put("b", 3)
        self.shard = GroupShard(0)
        self.journal: list[tuple[bytes, bytes | None]] = []
        self.clients: dict[str, Client] = {}
        self.now_ms = 1_000_000

    @property
    def group(self) -> ConsumerGroup:
        return self.shard.consumer_groups.get("g") or ConsumerGroup("g")

    def write(self, draft: Draft) -> None:
        for record in draft.records:
            self.journal.append((record.key, record.value))
            replay(self.shard, record.key, record.value)

    def send(self, request: ConsumerHeartbeat) -> HeartbeatAnswer:
        check(request, LIMITS.assignors)
        draft = Draft(self.group)
        if request.member_epoch < 0:
            answer = leave(draft, request, self.topics)
        else:
            answer = heartbeat(draft, request, self.topics, LIMITS, self.now_ms)
        self.write(draft)
        return answer

    def beat(self, client: Client, *, lost: bool = False) -> None:
        request = ConsumerHeartbeat(
            "g",
            client.member_id,
            client.epoch,
            rebalance_timeout_ms=60_000,
            topic_names=client.names,
            topic_regex=client.regex,
            owned={} if client.epoch == 0 else client.owned,
        )
        try:
            answer = self.send(request)
        except KafkaError as error:
            if error.code not in (ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID):
                raise
            client.epoch, client.owned = 0, {}
            return
        if lost:
            return
        client.epoch = answer.member_epoch
        if answer.assignment is not None:
            client.owned = dict(answer.assignment)

    def resolve(self) -> None:
        draft = Draft(self.group)
        resolve(draft, self.topics, lambda _name: True, self.now_ms)
        self.write(draft)

    def check(self) -> None:
        taken: set[Place] = set()
        for client in self.clients.values():
            assert not taken & client.places(), f"two have {taken & client.places()}"
            taken |= client.places()
        rebuilt = GroupShard(0)
        for key, value in self.journal:
            replay(rebuilt, key, value)
        assert rebuilt.consumer_groups == self.shard.consumer_groups


def replay(shard: GroupShard, key: bytes, value: bytes | None) -> None:
    shard.replay(key, value, offset=0, producer_id=-1, producer_epoch=-1, timestamp_ms=0)


MEMBERS = st.sampled_from(["m1", "m2", "m3", "m4"])
STEPS = st.one_of(
    st.tuples(st.just("beat"), MEMBERS),
    st.tuples(st.just("lost"), MEMBERS),
    st.tuples(st.just("leave"), MEMBERS),
    st.tuples(st.just("restart"), MEMBERS),
    st.tuples(st.just("both"), MEMBERS),
    st.tuples(st.just("regex"), MEMBERS),
    st.tuples(st.just("wait"), st.just("")),
    st.tuples(st.just("grow"), st.sampled_from(["a", "b", "c"])),
)


def take(world: World, step: str, name: str) -> None:
    client = world.clients.get(name)
    if step == "wait":
        world.now_ms += 1_000
        world.resolve()
    elif step == "grow":
        topic = world.topics.get(name)
        world.topics.put(name, topic.partitions + 1 if topic is not None else 1)
    elif client is None:
        world.clients[name] = client = Client(name)
        world.beat(client)
    elif step == "leave":
        del world.clients[name]
        if name in world.group.members:
            world.send(ConsumerHeartbeat("g", name, -1))
    elif step == "restart":
        client.epoch, client.owned = 0, {}
    else:
        if step == "both":
            client.names = ("a", "b") if client.names == ("a",) else ("a",)
        if step == "regex":
            client.regex = "" if client.regex else "[bc]"
        world.beat(client, lost=step == "lost")


@settings(max_examples=200, deadline=None)
@given(st.lists(STEPS, max_size=40))
def test_no_partition_twice_and_in_the_end_each_once(steps: list[tuple[str, str]]) -> None:
    world = World()
    for step, name in steps:
        take(world, step, name)
        world.check()
    for _round in range(12):
        world.now_ms += 1_000
        world.resolve()
        for client in world.clients.values():
            world.beat(client)
            world.check()
    if not world.clients:
        return
    assert world.group.state is ConsumerGroupState.STABLE
    wanted = {name for client in world.clients.values() for name in client.names}
    if any(client.regex for client in world.clients.values()):
        wanted |= {"b", "c"}
    everything = {Place(t.topic_id, p) for t in world.topics.all() if t.name in wanted for p in range(t.partitions)}
    assert set().union(*(client.places() for client in world.clients.values())) == everything


def refused(request: ConsumerHeartbeat, world: World | None = None) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        (world or World()).send(request)
    return caught.value.code


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (ConsumerHeartbeat("", "m", 0, topic_names=("a",), rebalance_timeout_ms=1, owned={}), ErrorCode.INVALID_REQUEST),
        (ConsumerHeartbeat("g", "", 0, topic_names=("a",), rebalance_timeout_ms=1, owned={}), ErrorCode.INVALID_REQUEST),
        (ConsumerHeartbeat("g", "m", 0, topic_names=("a",), owned={}), ErrorCode.INVALID_REQUEST),
        (ConsumerHeartbeat("g", "m", 0, topic_names=("a",), rebalance_timeout_ms=1), ErrorCode.INVALID_REQUEST),
        (ConsumerHeartbeat("g", "m", 0, rebalance_timeout_ms=1, owned={}), ErrorCode.INVALID_REQUEST),
        (ConsumerHeartbeat("g", "m", -2), ErrorCode.INVALID_REQUEST),
        (ConsumerHeartbeat("g", "m", -3), ErrorCode.INVALID_REQUEST),
        (ConsumerHeartbeat("g", "m", 3, server_assignor="sticky"), ErrorCode.UNSUPPORTED_ASSIGNOR),
        (ConsumerHeartbeat("g", "m", 0, topic_regex="(", rebalance_timeout_ms=1, owned={}), ErrorCode.INVALID_REGULAR_EXPRESSION),
        (ConsumerHeartbeat("g", "m", 3), ErrorCode.UNKNOWN_MEMBER_ID),
        (ConsumerHeartbeat("g", "m", 3, instance_id="i"), ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_refusals(request_: ConsumerHeartbeat, error: ErrorCode) -> None:
    assert refused(request_) is error


def join(world: World, member_id: str, instance_id: str | None = None) -> HeartbeatAnswer:
    return world.send(
        ConsumerHeartbeat("g", member_id, 0, instance_id=instance_id, rebalance_timeout_ms=1_000, topic_names=("a",), owned={})
    )


def test_epochs_are_fenced() -> None:
    world = World()
    assert join(world, "m").member_epoch == 2
    assert refused(ConsumerHeartbeat("g", "m", 3), world) is ErrorCode.FENCED_MEMBER_EPOCH
    assert refused(ConsumerHeartbeat("g", "m", 1), world) is ErrorCode.FENCED_MEMBER_EPOCH
    assert world.send(ConsumerHeartbeat("g", "m", 2)).assignment is None
    assert world.send(ConsumerHeartbeat("g", "m", 0, rebalance_timeout_ms=1, topic_names=("a",), owned={})).member_epoch == 2


def test_a_static_member_returns_to_its_partitions() -> None:
    world = World()
    first = join(world, "m1", "i")
    assert refused(ConsumerHeartbeat("g", "m2", 0, "i", rebalance_timeout_ms=1, topic_names=("a",), owned={}), world) is (
        ErrorCode.UNRELEASED_INSTANCE_ID
    )
    world.send(ConsumerHeartbeat("g", "m1", -2, "i"))
    again = join(world, "m2", "i")
    assert (again.member_epoch, again.assignment) == (first.member_epoch, first.assignment)
    assert refused(ConsumerHeartbeat("g", "m1", 2, "i"), world) is ErrorCode.FENCED_INSTANCE_ID
    world.check()
