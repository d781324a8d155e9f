"""kill -9 while a share group is at work: what it was told is so."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from support.process import BrokerProcess, wait_until
from support.share_wire import GROUP, World, ranges
from support.wire import Connection

ACCEPT, RELEASE, REJECT = [1], [2], [3]
NO_SESSION = 122


@pytest.fixture
def world(own_broker: BrokerProcess) -> Iterator[World]:
    made = World(own_broker.bootstrap)
    yield made
    made.close()


def killed(broker: BrokerProcess, world: World) -> None:
    broker.kill()
    broker.start()
    world.moved(broker.bootstrap)


def heartbeat(connection: Connection, world: World, group: str, member: str, epoch: int, *, joins: bool = False) -> Any:
    asked = {"group_id": group, "member_id": member, "member_epoch": epoch, "rack_id": None}
    return connection.request(ApiKey.SHARE_GROUP_HEARTBEAT, 1, asked | {"subscribed_topic_names": [world.name] if joins else None})


def test_case_d01_what_was_acknowledged_stays_so(own_broker: BrokerProcess, world: World) -> None:
    """Accepted ones are done with, released and rejected ones too; what was acquired comes again, with the count it had."""
    topic = world.topic()
    world.produce(*[1] * 12)
    group = world.group("g", topic)
    member = world.member(group, topic)
    assert member.acquired() == [(0, 11, 1)]
    assert member.acknowledge((0, 3, ACCEPT), (4, 5, RELEASE), (6, 6, REJECT), (9, 9, ACCEPT)) == 0
    for _ in range(2):  # nothing is acknowledged in between, so all is as it was
        killed(own_broker, world)
        late = world.member(group, topic)
        late.member, late.epoch = member.member, 2
        assert late.fetch(max_wait_ms=0).error_code == NO_SESSION
        late.epoch = 0
        assert ranges(late.fetch()) == [(4, 5, 2), (7, 8, 1), (10, 11, 1)]
    assert late.acknowledge((4, 5, ACCEPT), (7, 8, ACCEPT), (10, 11, RELEASE)) == 0
    killed(own_broker, world)
    last = world.member(group, topic)
    assert last.acquired() == [(10, 11, 2)]


def test_case_d02_the_group_its_members_and_its_configs_survive(own_broker: BrokerProcess, world: World) -> None:
    topic = world.topic(partitions=2)
    group, member = f"{world.name}-g", str(uuid.uuid4())
    setting = {"name": "share.delivery.count.limit", "config_operation": 0, "value": "7"}
    resources = [{"resource_type": GROUP, "resource_name": group, "configs": [setting]}]
    assert (
        not world.admin.request(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, {"resources": resources, "validate_only": False})
        .responses[0]
        .error_code
    )
    epoch, given = 0, None

    def assigned() -> bool:
        nonlocal epoch, given
        answer = heartbeat(world.admin, world, group, member, epoch, joins=epoch == 0)
        assert answer.error_code == 0, answer
        epoch = answer.member_epoch
        given = answer.assignment if answer.assignment is not None else given
        return given is not None and [(one.topic_id, one.partitions) for one in given.topic_partitions] == [(topic, [0, 1])]

    wait_until(assigned, 15.0, "the assignment")
    killed(own_broker, world)
    connection = world.admin
    answer = heartbeat(connection, world, group, member, epoch)
    assert (answer.error_code, answer.member_epoch) == (0, epoch)
    described = connection.request(ApiKey.SHARE_GROUP_DESCRIBE, 1, {"group_ids": [group], "include_authorized_operations": False}).groups[0]
    assert (described.error_code, described.group_state) == (0, "Stable")
    (seen,) = described.members
    assert (seen.member_id, seen.member_epoch, seen.subscribed_topic_names) == (member, epoch, [world.name])
    assert [(one.topic_id, one.partitions) for one in seen.assignment.topic_partitions] == [(topic, [0, 1])]
    kind = messages.DescribeConfigsRequest.DescribeConfigsResource
    resource = kind(resource_type=GROUP, resource_name=group, configuration_keys=[setting["name"]])
    (told,) = connection.request(ApiKey.DESCRIBE_CONFIGS, 4, {"resources": [resource]}).results[0].configs
    assert told.value == "7"
