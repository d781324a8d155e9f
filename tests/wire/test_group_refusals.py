"""Requests of groups that Apache Kafka refuses, or does not, where one might expect the other."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from support.process import wait_until
from support.simbroker import build
from support.wire import Connection

NONE, ILLEGAL_GENERATION, INCONSISTENT_GROUP_PROTOCOL, INVALID_GROUP_ID = 0, 22, 23, 24
UNKNOWN_MEMBER_ID, INVALID_REQUEST, GROUP_ID_NOT_FOUND, INVALID_REGULAR_EXPRESSION = 25, 42, 69, 128
UNKNOWN_SERVER_ERROR, STALE_MEMBER_EPOCH = -1, 113
MEMBER = "AAAAAAAAAAAAAAAAAAAAAA"
SUBSCRIPTION = bytes(10)


@pytest.fixture
def connection(bootstrap: str, name: str) -> Iterator[Connection]:
    with Connection(bootstrap) as made:
        topic = {"name": name, "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}
        assert ask(made, ApiKey.CREATE_TOPICS, 5, topics=[topic], timeout_ms=10_000, validate_only=False).topics[0].error_code == 0
        wait_until(lambda: commit(made, 2, f"{name}-ready", name) == NONE)
        yield made


def ask(connection: Connection, key: ApiKey, version: int, **fields: Any) -> Any:
    return connection.request(key, version, build(getattr(messages, f"{key.schema_name}Request"), fields))


def topic_id(connection: Connection, name: str) -> Any:
    return ask(connection, ApiKey.METADATA, 10, topics=[{"topic_id": None, "name": name}]).topics[0].topic_id


def commit(connection: Connection, version: int, group: str, topic: str, member: str = "", generation: int = -1) -> int:
    named = {"topic_id": topic_id(connection, topic)} if version >= 10 else {"name": topic}
    partition = {"partition_index": 0, "committed_offset": 1, "committed_leader_epoch": -1, "committed_metadata": ""}
    answer = ask(
        connection,
        ApiKey.OFFSET_COMMIT,
        version,
        group_id=group,
        generation_id_or_member_epoch=generation,
        member_id=member,
        topics=[{**named, "partitions": [partition]}],
    )
    return int(answer.topics[0].partitions[0].error_code)


def heartbeat(connection: Connection, version: int, group: str, **fields: Any) -> Any:
    wanted = {"member_id": MEMBER, "member_epoch": 0, "rebalance_timeout_ms": 300_000, "subscribed_topic_names": [], "topic_partitions": []}
    return ask(connection, ApiKey.CONSUMER_GROUP_HEARTBEAT, version, group_id=group, **(wanted | fields))


@pytest.mark.parametrize("version", [0, 1])
def test_a_member_may_join_with_nothing_subscribed_yet(connection: Connection, name: str, version: int) -> None:
    answer = heartbeat(connection, version, name)
    assert (answer.error_code, answer.member_epoch, answer.assignment.topic_partitions) == (NONE, 1, [])
    refused = heartbeat(connection, version, name, subscribed_topic_names=None)
    assert (refused.error_code, refused.error_message) == (
        INVALID_REQUEST,
        "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining.",
    )


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("blank", ["", "  "])
@pytest.mark.parametrize("field", ["group_id", "instance_id", "rack_id", "member_id"])
def test_blank_names_in_a_heartbeat(connection: Connection, name: str, version: int, blank: str, field: str) -> None:
    said = {"group_id": "GroupId", "instance_id": "InstanceId", "rack_id": "RackId", "member_id": "MemberId"}[field]
    for epoch in (0, 5, -1, -2, -3):
        group = blank if field == "group_id" else f"{name}{epoch}"
        answer = heartbeat(connection, version, group, **({} if field == "group_id" else {field: blank}), member_epoch=epoch)
        if version == 0 and field == "member_id" and epoch in (0, -2, -3):  # the broker makes the id; or there is more to say
            assert (answer.error_code, answer.error_message) == {
                0: (NONE, None),
                -2: (INVALID_REQUEST, "InstanceId can't be null."),
                -3: (INVALID_REQUEST, "MemberEpoch is invalid."),
            }[epoch]
        else:
            assert (answer.error_code, answer.error_message) == (INVALID_REQUEST, f"{said} can't be empty.")


@pytest.mark.parametrize(("epoch", "error"), [(0, INVALID_REGULAR_EXPRESSION), (5, GROUP_ID_NOT_FOUND), (-1, GROUP_ID_NOT_FOUND)])
def test_an_expression_is_looked_at_when_the_group_is_there(connection: Connection, name: str, epoch: int, error: int) -> None:
    assert heartbeat(connection, 1, name, member_epoch=epoch, subscribed_topic_names=None, subscribed_topic_regex="[").error_code == error


@pytest.mark.parametrize("version", range(2, 11))
def test_a_commit_to_a_group_that_is_not_there(connection: Connection, name: str, version: int) -> None:
    refused = GROUP_ID_NOT_FOUND if version >= 9 else ILLEGAL_GENERATION
    for member, generation in ((MEMBER, 0), (MEMBER, 99), ("", 0)):
        assert commit(connection, version, name, name, member, generation) == refused
    for number, member in enumerate(("", MEMBER)):  # a group of its own, which knows no member
        group = f"{name}-{number}"
        assert commit(connection, version, group, name, member) == NONE
        assert commit(connection, version, group, name, MEMBER, 0) == UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("version", [9, 10])
def test_offsets_are_told_to_members_as_they_say_who_they_are(connection: Connection, name: str, version: int) -> None:
    """A consumer group's, by (member id, epoch). An epoch of nobody is an error of the server, in Kafka too."""
    epoch = heartbeat(connection, 1, name).member_epoch
    assert commit(connection, 9, name, name, MEMBER, epoch) == NONE
    topic = {"topic_id": topic_id(connection, name)} if version >= 10 else {"name": name}
    found: dict[tuple[str | None, int], set[int]] = {}
    for member, said in product((None, "", "nobody", MEMBER), (-2, -1, 0, epoch, epoch + 1)):
        for topics in ([{**topic, "partition_indexes": [0]}], None):
            asked = {"group_id": name, "member_id": member, "member_epoch": said, "topics": topics}
            (group,) = ask(connection, ApiKey.OFFSET_FETCH, version, groups=[asked], require_stable=False).groups
            found.setdefault((member, said), set()).add(group.error_code)
            assert [p.committed_offset for t in group.topics for p in t.partitions] == ([1] if group.error_code == NONE else [])
    assert found == {
        **{(None, said): {NONE if said < 0 else UNKNOWN_SERVER_ERROR} for said in (-2, -1, 0, epoch, epoch + 1)},
        **{(member, said): {UNKNOWN_MEMBER_ID} for member in ("", "nobody") for said in (-2, -1, 0, epoch, epoch + 1)},
        **{(MEMBER, said): {NONE if said == epoch else STALE_MEMBER_EPOCH} for said in (-2, -1, 0, epoch, epoch + 1)},
    }


@pytest.mark.parametrize(("group", "error"), [("", INVALID_GROUP_ID), ("  ", UNKNOWN_MEMBER_ID)])
def test_blank_groups_in_classic_requests(connection: Connection, group: str, error: int) -> None:
    """Spaces are a name there; the empty one holds offsets, but no members."""
    member = {"group_id": group, "member_id": MEMBER}
    protocols = [{"name": "range", "metadata": SUBSCRIPTION}]
    times = {"session_timeout_ms": 10_000, "rebalance_timeout_ms": 10_000}
    for version in range(10):
        answer = ask(connection, ApiKey.JOIN_GROUP, version, **member, **times, protocol_type="consumer", protocols=protocols)
        assert (answer.error_code, answer.member_id) == (error, MEMBER)
    for version in range(6):
        answer = ask(
            connection, ApiKey.SYNC_GROUP, version, **member, generation_id=1, protocol_type="x", protocol_name="x", assignments=[]
        )
        assert answer.error_code == error
    for version in range(5):
        assert ask(connection, ApiKey.HEARTBEAT, version, **member, generation_id=1).error_code == error
    for version in range(3):
        assert ask(connection, ApiKey.LEAVE_GROUP, version, **member).error_code == error


def test_the_classic_protocol_in_a_consumer_group(connection: Connection, name: str) -> None:
    """A static member stays one when it joins without its instance id; refusals name no member."""
    assert heartbeat(connection, 1, name, member_id="other").error_code == NONE
    assert heartbeat(connection, 1, name, instance_id="static").error_code == NONE

    def join(member_id: str, instance_id: str | None, *names: str) -> Any:
        return ask(
            connection,
            ApiKey.JOIN_GROUP,
            9,
            group_id=name,
            member_id=member_id,
            group_instance_id=instance_id,
            protocol_type="consumer",
            session_timeout_ms=300_000,
            rebalance_timeout_ms=300_000,
            protocols=[{"name": each, "metadata": SUBSCRIPTION} for each in names],
        )

    assert join(MEMBER, None, "range").error_code == NONE
    assert join(MEMBER, "static", "range").error_code == NONE
    refused = join(MEMBER, None)
    assert (refused.error_code, refused.member_id) == (INCONSISTENT_GROUP_PROTOCOL, "")
    refused = join(MEMBER, "nobody", "range")
    assert (refused.error_code, refused.member_id) == (UNKNOWN_MEMBER_ID, "")


@pytest.mark.parametrize(
    ("key", "version", "fields"),
    [
        (ApiKey.DESCRIBE_GROUPS, 6, "groups"),
        (ApiKey.CONSUMER_GROUP_DESCRIBE, 1, "group_ids"),
    ],
)
def test_groups_of_the_other_kind(connection: Connection, name: str, key: ApiKey, version: int, fields: str) -> None:
    classic = key is ApiKey.DESCRIBE_GROUPS
    if classic:
        assert heartbeat(connection, 1, name).error_code == NONE
    else:
        assert commit(connection, 9, name, name) == NONE
    (found,) = ask(connection, key, version, **{fields: [name]}).groups
    assert found.error_code == GROUP_ID_NOT_FOUND
    assert found.error_message == f"Group {name} is not a {'classic' if classic else 'consumer'} group."


def test_a_classic_group_is_no_consumer_group(connection: Connection, name: str) -> None:
    assert commit(connection, 9, name, name) == NONE
    for epoch in (5, -1):
        answer = heartbeat(connection, 1, name, member_epoch=epoch)
        assert (answer.error_code, answer.error_message) == (GROUP_ID_NOT_FOUND, f"Group {name} is not a consumer group.")
