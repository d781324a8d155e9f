"""Share groups over the wire, where nothing was recorded: each test is held against Apache Kafka 4.3.0."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from oncelog.protocol.api_keys import ApiKey as K
from support.process import wait_until
from support.wire import Connection

BUSY = (14, 15, 16)
SECONDS = 20.0
GROUP_RESOURCE = 32


class Client(Connection):
    """One share group's worth of requests."""

    def ask(self, key: K, version: int, **fields: Any) -> Any:
        """Asked again while the coordinator is made."""
        found: list[Any] = []

        def answered() -> bool:
            found[:] = [self.request(key, version, fields)]
            return getattr(found[0], "error_code", 0) not in BUSY

        wait_until(answered, SECONDS, key.name)
        return found[0]

    def topic(self, name: str, partitions: int) -> None:
        topic = {"name": name, "num_partitions": partitions, "replication_factor": 1, "assignments": [], "configs": []}
        assert self.ask(K.CREATE_TOPICS, 5, topics=[topic], timeout_ms=10_000).topics[0].error_code == 0

    def beat(self, group: str, member: str, epoch: int, *names: str) -> Any:
        topics = list(names) or None
        return self.ask(
            K.SHARE_GROUP_HEARTBEAT, 1, group_id=group, member_id=member, member_epoch=epoch, rack_id=None, subscribed_topic_names=topics
        )

    def settle(self, group: str, members: dict[str, int], want: int) -> dict[str, list[int]]:
        """Heartbeats until `want` partitions of the topic `group` are handed out and nothing changes; what each member has."""
        held: dict[str, list[int]] = {}
        quiet = 0

        def settled() -> bool:
            nonlocal quiet
            before = dict(held), dict(members)
            for member, epoch in members.items():
                answer = self.beat(group, member, epoch, group)  # who names its topics is told all that it has
                assert answer.error_code == 0, answer
                members[member] = answer.member_epoch
                held[member] = [p for topic in answer.assignment.topic_partitions for p in topic.partitions]
            quiet = quiet + 1 if before == (held, members) else 0
            return quiet >= 3 and sum(map(len, held.values())) == want

        wait_until(settled, SECONDS, "an assignment")
        return held

    def configure(self, group: str, **values: str) -> None:
        configs = [{"name": f"share.{n.replace('_', '.')}", "config_operation": 0, "value": value} for n, value in values.items()]
        resource = {"resource_type": GROUP_RESOURCE, "resource_name": group, "configs": configs}
        assert self.ask(K.INCREMENTAL_ALTER_CONFIGS, 1, resources=[resource], validate_only=False).responses[0].error_code == 0

    def describe(self, group: str) -> Any:
        return self.ask(K.SHARE_GROUP_DESCRIBE, 1, group_ids=[group], include_authorized_operations=False).groups[0]

    def starts(self, group: str, topic: str, *partitions: int) -> list[int]:
        asked = [{"group_id": group, "topics": [{"topic_name": topic, "partitions": list(partitions)}]}]
        (told,) = self.ask(K.DESCRIBE_SHARE_GROUP_OFFSETS, 1, groups=asked).groups
        return [partition.start_offset for partition in told.topics[0].partitions]

    def alter(self, group: str, topic: str, offsets: dict[int, int]) -> Any:
        partitions = [{"partition_index": p, "start_offset": offset} for p, offset in offsets.items()]
        found: list[Any] = []

        def altered() -> bool:
            found[:] = [self.ask(K.ALTER_SHARE_GROUP_OFFSETS, 0, group_id=group, topics=[{"topic_name": topic, "partitions": partitions}])]
            return all(p.error_code != 3 for p in found[0].responses[0].partitions)  # until everybody knows the new topic

        wait_until(altered, SECONDS, "start offsets")
        return found[0]


@pytest.fixture
def client(bootstrap: str) -> Iterator[Client]:
    with Client(bootstrap) as connection:
        asked = {"key_type": 0, "coordinator_keys": ["any"]}
        wait_until(lambda: connection.request(K.FIND_COORDINATOR, 4, asked).coordinators[0].error_code == 0, SECONDS, "a coordinator")
        yield connection


def member() -> str:
    return str(uuid.uuid4())


def test_unknown_groups_and_members(client: Client, name: str) -> None:
    client.topic(name, 1)
    told = [client.beat(f"{name}-none", member(), epoch) for epoch in (1, -1)]
    assert [(one.error_code, one.error_message) for one in told] == [
        (69, f"Share group {name}-none not found."),
        (69, f"Group {name}-none not found."),
    ]
    client.beat(name, member(), 0, name)
    stranger = member()
    for epoch in (1, -1):
        answer = client.beat(name, stranger, epoch)
        assert (answer.error_code, answer.error_message) == (25, f"Member {stranger} is not a member of group {name}.")


@pytest.mark.parametrize(("members", "partitions", "each", "times"), [(2, 4, [2, 2], 1), (3, 2, [1, 1, 2], 2)])
def test_partitions_are_shared_out(client: Client, name: str, members: int, partitions: int, each: list[int], times: int) -> None:
    client.topic(name, partitions)
    client.configure(name, assignment_interval_ms="0")
    epochs = {one: client.beat(name, one, 0, name).member_epoch for one in (member() for _ in range(members))}
    held = client.settle(name, epochs, partitions * times)
    assert sorted(map(len, held.values())) == each
    assert sorted(p for own in held.values() for p in own) == sorted(list(range(partitions)) * times)


def test_other_protocols_at_a_share_group(client: Client, name: str) -> None:
    client.topic(name, 1)
    own = member()
    client.settle(name, {own: client.beat(name, own, 0, name).member_epoch}, 1)
    protocols = [{"name": "range", "metadata": bytes.fromhex("0001000000010001") + b"a" + bytes.fromhex("ffffffff00000000")}]
    joining = {
        "group_id": name,
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 10_000,
        "protocol_type": "consumer",
        "protocols": protocols,
    }
    for member_id in ("", "x"):
        assert client.ask(K.JOIN_GROUP, 9, member_id=member_id, **joining).error_code == 23
    syncing = {"generation_id": 1, "member_id": own, "protocol_type": "consumer", "protocol_name": "range", "assignments": []}
    assert client.ask(K.SYNC_GROUP, 5, group_id=name, **syncing).error_code == 25
    assert client.ask(K.HEARTBEAT, 4, group_id=name, generation_id=1, member_id=own).error_code == 25
    left = client.ask(K.LEAVE_GROUP, 5, group_id=name, members=[{"member_id": own, "group_instance_id": None, "reason": None}])
    assert (left.error_code, [one.error_code for one in left.members]) == (0, [25])
    for epoch in (0, 1, -1):
        beat = {"member_id": own, "member_epoch": epoch, "rebalance_timeout_ms": 10_000, "subscribed_topic_names": [name]}
        answer = client.ask(K.CONSUMER_GROUP_HEARTBEAT, 1, group_id=name, topic_partitions=[], **beat)
        assert (answer.error_code, answer.error_message) == (69, f"Group {name} is not a consumer group.")
    deleted = client.ask(K.OFFSET_DELETE, 0, group_id=name, topics=[{"name": name, "partitions": [{"partition_index": 0}]}])
    assert deleted.error_code == 69


def test_joining_again(client: Client, name: str) -> None:
    client.topic(name, 2)
    own = member()
    epochs = {own: client.beat(name, own, 0, name).member_epoch}
    client.settle(name, epochs, 2)
    again = client.beat(name, own, 0, name)
    assert (again.member_id, again.member_epoch) == (own, epochs[own])
    assert [topic.partitions for topic in again.assignment.topic_partitions] == [[0, 1]]
    assert len(client.describe(name).members) == 1


def test_a_full_group(client: Client, name: str) -> None:
    client.topic(name, 1)
    for _ in range(200):
        assert client.beat(name, member(), 0, name).error_code == 0
    refused = client.beat(name, member(), 0, name)
    assert (refused.error_code, refused.error_message) == (81, "The share group has reached its maximum capacity of 200 members.")


def test_a_topic_that_comes_later(client: Client, name: str) -> None:
    own = member()
    first = client.beat(name, own, 0, name)
    assert (first.error_code, first.assignment.topic_partitions) == (0, [])
    client.topic(name, 2)
    assert client.settle(name, {own: first.member_epoch}, 2) == {own: [0, 1]}


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_a_silent_member_is_removed(client: Client, name: str) -> None:
    client.topic(name, 1)
    client.beat(name, member(), 0, name)
    assert client.describe(name).group_state == "Stable"
    wait_until(lambda: client.describe(name).group_state == "Empty", 60.0, "the end of the session of 45 s")


def test_altering_makes_a_group(client: Client, name: str) -> None:
    client.topic(name, 3)
    answer = client.alter(name, name, {0: 5, 1: -1})
    assert [(p.partition_index, p.error_code) for p in answer.responses[0].partitions] == [(0, 0), (1, 0)]
    assert client.starts(name, name, 0, 1, 2) == [5, -1, -1]
    group = client.describe(name)
    assert (group.error_code, group.group_state, group.group_epoch, group.assignment_epoch) == (0, "Empty", 1, 1)


def test_after_forgetting_the_strategy_decides(client: Client, name: str) -> None:
    client.topic(name, 1)
    client.alter(name, name, {0: 5})
    deleted = client.ask(K.DELETE_SHARE_GROUP_OFFSETS, 0, group_id=name, topics=[{"topic_name": name}])
    assert (deleted.error_code, [topic.error_code for topic in deleted.responses]) == (0, [0])
    assert client.starts(name, name, 0) == [-1]
    own = member()
    assert client.settle(name, {own: client.beat(name, own, 0, name).member_epoch}, 1) == {own: [0]}
    assert client.starts(name, name, 0) == [-1]
