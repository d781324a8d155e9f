"""What Apache Kafka does with streams groups (KIP-1071) beyond the recorded conversations; each test runs against it, too."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from oncelog.protocol import messages, records
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.internal import streams_groups as stored
from oncelog.protocol.internal.records import decode_key, decode_value
from oncelog.protocol.internal.streams_topology import KeyValue, StreamsGroupTopologyValue, Subtopology
from oncelog.protocol.names import CONSUMER_OFFSETS
from oncelog.protocol.primitives import partition_for
from referee import apache_kafka
from support.process import BrokerProcess, wait_until
from support.simbroker import build
from support.streams_client import StreamsClient, at_once, copartitioned, describe, info, part, settle
from support.wire import Connection

NONE, INCONSISTENT_GROUP_PROTOCOL, UNKNOWN_MEMBER_ID, INVALID_REQUEST = 0, 23, 25, 42
NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND, GROUP_SUBSCRIBED_TO_TOPIC, INVALID_TOPOLOGY = 68, 69, 86, 130
ILLEGAL_GENERATION, STALE_MEMBER_EPOCH = 22, 113
OFFSETS_PARTITIONS = 50
SHUTDOWN, INCORRECTLY_PARTITIONED, MISSING_INTERNAL = 4, 2, 3

Make = Callable[..., StreamsClient]


@pytest.fixture
def connection(bootstrap: str) -> Iterator[Connection]:
    with Connection(bootstrap) as made:
        yield made


def ask(connection: Connection, key: ApiKey, version: int, /, **fields: Any) -> Any:
    return connection.request(key, version, build(getattr(messages, f"{key.schema_name}Request"), fields))


def create(connection: Connection, name: str, partitions: int = 1) -> str:
    topic = {"name": name, "num_partitions": partitions, "replication_factor": 1, "assignments": [], "configs": []}
    assert ask(connection, ApiKey.CREATE_TOPICS, 5, topics=[topic], timeout_ms=10_000, validate_only=False).topics[0].error_code == NONE

    def there() -> bool:
        asked = {"partition_index": 0, "current_leader_epoch": -1, "timestamp": -1}
        fields = {"replica_id": -1, "isolation_level": 0, "topics": [{"name": name, "partitions": [asked]}]}
        return bool(ask(connection, ApiKey.LIST_OFFSETS, 5, **fields).topics[0].partitions[0].error_code == NONE)

    wait_until(there)
    # Kafka's group coordinator hears of topics by itself, a little later
    first = StreamsClient(connection, f"{name}-first", "m", part("0", name))
    at_once(connection, first.group)
    first.join()
    settle(first, done=lambda: first.active)
    first.leave()
    return name


def delete(connection: Connection, group: str) -> int:
    return int(ask(connection, ApiKey.DELETE_GROUPS, 2, groups_names=[group]).results[0].error_code)


def commit(connection: Connection, version: int, group: str, topic: str, member: str = "", epoch: int = -1, partition: int = 0) -> int:
    place = {"partition_index": partition, "committed_offset": 1, "committed_leader_epoch": -1, "committed_metadata": ""}
    fields = {"group_id": group, "generation_id_or_member_epoch": epoch, "member_id": member}
    answer = ask(connection, ApiKey.OFFSET_COMMIT, version, **fields, topics=[{"name": topic, "partitions": [place]}])
    return int(answer.topics[0].partitions[0].error_code)


@pytest.fixture
def make(connection: Connection, name: str) -> Make:
    """Members of the test's own group, which assigns at once."""
    at_once(connection, name)

    def one(member_id: str, *parts: dict[str, Any], **fields: Any) -> StreamsClient:
        return StreamsClient(connection, name, member_id, *parts, **fields)

    return one


@pytest.fixture
def topic(connection: Connection, name: str) -> str:
    """With four partitions."""
    return create(connection, f"{name}-in", 4)


def test_unknown_groups_and_members(make: Make, topic: str, name: str) -> None:
    """Case T04."""
    stranger = make("stranger", part("0", topic))
    for epoch in (1, -1):
        answer = stranger.send(member_epoch=epoch)
        noun = "Streams group" if epoch > 0 else "Group"
        assert (answer.error_code, answer.error_message) == (GROUP_ID_NOT_FOUND, f"{noun} {name} not found.")
    make("m", part("0", topic)).join()
    for epoch in (1, -1):
        answer = stranger.send(member_epoch=epoch)
        assert (answer.error_code, answer.error_message) == (UNKNOWN_MEMBER_ID, f"Member stranger is not a member of group {name}.")


def test_copartitioned_sources_that_differ(connection: Connection, make: Make, topic: str, name: str) -> None:
    """Case T08; the group is not ready, and its members are told so."""
    other = create(connection, f"{name}-other", 3)
    answer = make("m", part("0", topic, other, copartition_groups=[copartitioned([0, 1], [])])).join()
    text = f"Following topics do not have the same number of partitions: [{{{topic}=4, {other}=3}}]"
    assert [(status.status_code, status.status_detail) for status in answer.status] == [(INCORRECTLY_PARTITIONED, text)]
    assert describe(connection, name).group_state == "NotReady"


def test_an_internal_topic_of_another_size(connection: Connection, make: Make, topic: str, name: str) -> None:
    """Case T09."""
    changelog = create(connection, f"{name}-changelog", 3)
    answer = make("m", part("0", topic, state_changelog_topics=[info(changelog)])).join()
    text = f"Existing topic {changelog} has different number of partitions: expected 4, found 3"
    assert [(status.status_code, status.status_detail) for status in answer.status] == [(INCORRECTLY_PARTITIONED, text)]


def test_a_shutdown_is_told_to_everybody(make: Make, topic: str) -> None:
    """Case T15: until the group is empty, also to who joins meanwhile."""
    one, two, three = (make(f"m{n}", part("0", topic), process_id=f"p{n}") for n in range(3))
    one.join()
    two.join()
    text = "Streams group member m0 encountered a fatal error and requested a shutdown for the entire application."
    asked = one.beat(shutdown_application=True)
    for answer in (asked, two.beat(), three.join()):
        assert [(status.status_code, status.status_detail) for status in answer.status] == [(SHUTDOWN, text)]
    for member in (one, two, three):
        member.leave()
    assert make("m0", part("0", topic)).join().status == []


def test_a_member_that_leaves_may_ask_for_the_shutdown(make: Make, topic: str) -> None:
    """Case T15."""
    one, two = make("m1", part("0", topic)), make("m2", part("0", topic), process_id="p2")
    one.join()
    two.join()
    one.leave(shutdown_application=True)
    assert [status.status_code for status in two.beat().status] == [SHUTDOWN]


def test_the_topology_stays_after_the_last_member(connection: Connection, make: Make, topic: str, name: str) -> None:
    """Case T17: another one is refused until the group is deleted."""
    first = make("m", part("0", topic))
    first.join()
    first.leave()
    other = make("n", part("0", topic), part("1", topic))
    answer = other.ask_to_join()
    assert (answer.error_code, answer.error_message) == (INVALID_REQUEST, "Topology updates are not supported yet.")
    assert delete(connection, name) == NONE
    other.join()


def test_heartbeats_into_groups_of_other_types(connection: Connection, make: Make, topic: str, name: str) -> None:
    """Case T20: a group of consumers stays one; a classic group without members becomes a streams group, and keeps its offsets."""
    asked = {"member_id": "consumer-of-a-test-12345", "member_epoch": 0, "rebalance_timeout_ms": 1_000}
    subscription = {"subscribed_topic_names": [topic], "topic_partitions": []}
    joined = ask(connection, ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, group_id=f"{name}-consumer", **asked, **subscription)
    assert joined.error_code == NONE
    refused = StreamsClient(connection, f"{name}-consumer", "m", part("0", topic)).ask_to_join()
    assert (refused.error_code, refused.error_message) == (GROUP_ID_NOT_FOUND, f"Group {name}-consumer is not a streams group.")

    assert commit(connection, 8, name, topic) == NONE
    make("m", part("0", topic)).join()
    groups = [{"group_id": name, "topics": [{"name": topic, "partition_indexes": [0]}]}]
    fetched = ask(connection, ApiKey.OFFSET_FETCH, 8, groups=groups, require_stable=False)
    assert fetched.groups[0].topics[0].partitions[0].committed_offset == 1
    listed = ask(connection, ApiKey.LIST_GROUPS, 5, states_filter=[], types_filter=["streams"]).groups
    assert name in [group.group_id for group in listed]


def test_a_classic_member_joins_an_empty_streams_group(connection: Connection, make: Make, topic: str, name: str) -> None:
    """Cases T19 and T20: not one that has members; an empty one becomes classic."""
    member = make("m", part("0", topic))
    member.join()

    def join() -> int:
        protocols = [{"name": "range", "metadata": b"m"}]
        fields = {"group_id": name, "member_id": "", "protocol_type": "consumer", "protocols": protocols}
        return int(ask(connection, ApiKey.JOIN_GROUP, 3, **fields, session_timeout_ms=10_000, rebalance_timeout_ms=1_000).error_code)

    assert join() == INCONSISTENT_GROUP_PROTOCOL
    member.leave()
    assert join() == NONE
    answer = member.ask_to_join()
    assert (answer.error_code, answer.error_message) == (GROUP_ID_NOT_FOUND, f"Group {name} is not a streams group.")


def test_deleting_offsets_and_the_group(connection: Connection, make: Make, topic: str, name: str) -> None:
    """Case T22: a topic that is read keeps its offsets, a group with members stays; then both go."""
    member = make("m", part("0", topic))
    member.join()
    assert commit(connection, 9, name, topic, "m", member.epoch) == NONE

    def delete_offset() -> int:
        places = [{"name": topic, "partitions": [{"partition_index": 0}]}]
        return int(ask(connection, ApiKey.OFFSET_DELETE, 0, group_id=name, topics=places).topics[0].partitions[0].error_code)

    assert delete_offset() == GROUP_SUBSCRIBED_TO_TOPIC
    assert delete(connection, name) == NON_EMPTY_GROUP
    member.leave()
    assert delete_offset() == NONE
    assert delete(connection, name) == NONE
    assert describe(connection, name).error_code == GROUP_ID_NOT_FOUND


def test_tasks_that_do_not_exist(make: Make, topic: str) -> None:
    """Case T24."""
    member = make("m", part("0", topic))
    member.join()
    lists: dict[str, list[Any]] = {"standby_tasks": [], "warmup_tasks": []}
    for tasks, text in (
        ({"subtopology_id": "7", "partitions": [0]}, "Subtopology 7 does not exist in the topology."),
        ({"subtopology_id": "0", "partitions": [4]}, "Task 4 for subtopology 0 is invalid. Number of tasks for this subtopology: 4"),
    ):
        answer = member.send(active_tasks=[tasks], **lists)
        assert (answer.error_code, answer.error_message) == (INVALID_REQUEST, text)


def test_joining_again_keeps_the_member(make: Make, topic: str) -> None:
    """Case T25."""
    member = make("m", part("0", topic))
    first, again = member.join(), member.join()
    assert again.member_epoch == first.member_epoch
    assert again.active_tasks == first.active_tasks


def test_a_third_member_takes_from_the_loaded_ones(make: Make, topic: str) -> None:
    """Case T26: 2 and 2 become 2, 1 and 1; nothing goes from one of the first two to the other."""
    members = [make(f"m{n}", part("0", topic), process_id=f"p{n}") for n in range(3)]
    one, two, three = members
    one.join()
    two.join()
    settle(one, two, done=lambda: len(one.active.get("0", [])) == len(two.active.get("0", [])) == 2)
    before = [set(one.active["0"]), set(two.active["0"])]
    three.join()
    settle(*members, done=lambda: len(three.active.get("0", [])) == 1)
    assert set(one.active["0"]) <= before[0]
    assert set(two.active["0"]) <= before[1]
    assert sorted(p for member in members for p in member.active["0"]) == [0, 1, 2, 3]


def test_members_of_a_process_share_its_load(connection: Connection, make: Make, name: str) -> None:
    """Case T27: of six tasks two each, for two threads of one process and one of another."""
    wide = create(connection, f"{name}-wide", 6)
    members = [make("a", part("0", wide)), make("b", part("0", wide)), make("c", part("0", wide), process_id="p2")]
    for member in members:
        member.join()
    settle(*members, done=lambda: [len(member.active.get("0", [])) for member in members] == [2, 2, 2])


def test_records(bootstrap: str, connection: Connection, make: Make, name: str) -> None:
    """Case T28: what a join and a leave write to `__consumer_offsets`, byte for byte what our encoders make of it."""
    source = create(connection, f"{name}-two", 2)
    partition = partition_for(name, OFFSETS_PARTITIONS)
    start = end_of(connection, partition)
    member = make("m", part("0", source))
    member.join()
    member.leave()
    written = [record for record in read(connection, partition, start) if decode_key(CONSUMER_OFFSETS, record[0])[0] == name]
    keys = [decode_key(CONSUMER_OFFSETS, key) for key, _value in written]
    values = [decode_value(key, value) for key, (_bytes, value) in zip(keys, written, strict=True)]
    metadata, timed = values[2], values[4]
    assert isinstance(metadata, stored.StreamsGroupMetadataValue)
    assert isinstance(timed, stored.StreamsGroupTargetAssignmentMetadataValue)
    configs = [KeyValue("num.standby.replicas", "0")]
    expected = [
        (
            stored.StreamsGroupMemberMetadataKey(name, "m"),
            stored.StreamsGroupMemberMetadataValue(None, None, "wire", "/127.0.0.1", 300_000, 0, "p1", None, []),
        ),
        (stored.StreamsGroupTopologyKey(name), StreamsGroupTopologyValue(0, (Subtopology("0", (source,)),))),
        (stored.StreamsGroupMetadataKey(name), stored.StreamsGroupMetadataValue(2, metadata.metadata_hash, 0, configs)),
        (
            stored.StreamsGroupTargetAssignmentMemberKey(name, "m"),
            stored.StreamsGroupTargetAssignmentMemberValue([stored.TaskIds("0", [0, 1])]),
        ),
        (
            stored.StreamsGroupTargetAssignmentMetadataKey(name),
            stored.StreamsGroupTargetAssignmentMetadataValue(2, timed.assignment_timestamp),
        ),
        (
            stored.StreamsGroupCurrentMemberAssignmentKey(name, "m"),
            stored.StreamsGroupCurrentMemberAssignmentValue(2, 0, 1, [stored.TaskIds("0", [0, 1], [2, 2])]),
        ),
        (stored.StreamsGroupCurrentMemberAssignmentKey(name, "m"), None),
        (stored.StreamsGroupTargetAssignmentMemberKey(name, "m"), None),
        (stored.StreamsGroupMemberMetadataKey(name, "m"), None),
        (stored.StreamsGroupMetadataKey(name), stored.StreamsGroupMetadataValue(3, metadata.metadata_hash, 0, configs)),
    ]
    assert [(key.encode(), None if value is None else value.encode()) for key, value in expected] == written


def end_of(connection: Connection, partition: int) -> int:
    asked = {"partition_index": partition, "current_leader_epoch": -1, "timestamp": -1}
    fields = {"replica_id": -1, "isolation_level": 0, "topics": [{"name": CONSUMER_OFFSETS, "partitions": [asked]}]}
    return int(ask(connection, ApiKey.LIST_OFFSETS, 5, **fields).topics[0].partitions[0].offset)


def read(connection: Connection, partition: int, start: int) -> list[tuple[bytes, bytes | None]]:
    """Keys and values from `start` on."""
    asked = {"partition": partition, "fetch_offset": start, "partition_max_bytes": 1 << 20}
    fields = {"replica_id": -1, "max_wait_ms": 0, "min_bytes": 0, "max_bytes": 1 << 20, "isolation_level": 0, "session_epoch": -1}
    answer = ask(connection, ApiKey.FETCH, 11, **fields, topics=[{"topic": CONSUMER_OFFSETS, "partitions": [asked]}])
    batch = memoryview(answer.responses[0].partitions[0].records)
    found = []
    for position, header in records.iter_headers(batch):
        for record in records.iter_records(batch[position : position + header.size_bytes]):
            if record.offset >= start and record.key is not None:
                found.append((bytes(record.key), None if record.value is None else bytes(record.value)))
    return found


@pytest.mark.parametrize(
    ("bad", "text"),
    [
        (CONSUMER_OFFSETS, f"Use of Kafka internal topics {CONSUMER_OFFSETS} in a Kafka Streams topology is prohibited."),
        ("no topic", "Topic names no topic are not valid topic names."),
    ],
)
@pytest.mark.parametrize("place", ["source_topics", "repartition_sink_topics", "repartition_source_topics", "state_changelog_topics"])
def test_topics_a_topology_may_not_have(make: Make, topic: str, bad: str, text: str, place: str) -> None:
    """Case T29."""
    named = [info(bad)] if place.endswith(("source_topics", "changelog_topics")) and place != "source_topics" else [bad]
    answer = make("m", {**part("0", topic), place: named}).ask_to_join()
    assert (answer.error_code, answer.error_message) == (INVALID_TOPOLOGY, text)


def test_several_topics_that_may_not_be_named(make: Make, topic: str) -> None:
    """Case T29: all of them are."""
    answer = make("m", part("0", topic, "a b", "c d")).ask_to_join()
    assert answer.error_code == INVALID_TOPOLOGY
    assert answer.error_message in ("Topic names a b,c d are not valid topic names.", "Topic names c d,a b are not valid topic names.")


@pytest.mark.parametrize(
    "parts",
    [
        [part("0", repartition_sink_topics=["r"], repartition_source_topics=[info("r")])],
        [part("0", repartition_source_topics=[info("r")])],
    ],
)
def test_partitions_that_nobody_can_tell(make: Make, topic: str, parts: list[dict[str, Any]]) -> None:
    """A topology that feeds itself alone, and a repartition topic that nobody writes to: 130, nothing is remembered."""
    assert make("m", part("9", topic), *parts).ask_to_join().error_code == INVALID_TOPOLOGY
    make("m", part("9", topic)).join()


def test_tasks_not_given_up_in_time(make: Make, topic: str, connection: Connection, name: str) -> None:
    """Case T32: the member is removed, and others get its tasks."""
    slow, other = make("slow", part("0", topic)), make("other", part("0", topic), process_id="p2")
    slow.join(rebalance_timeout_ms=1_000)
    other.join()
    slow.send()  # told to give two up, and silent about it
    settle(other, done=lambda: other.active == {"0": [0, 1, 2, 3]})
    assert slow.send().error_code == UNKNOWN_MEMBER_ID
    assert [member.member_id for member in describe(connection, name).members] == ["other"]


def test_older_epochs_may_commit_what_they_had(connection: Connection, make: Make, topic: str, name: str) -> None:
    """Case T21: a member whose epoch has risen commits for tasks that it had before, and for no others."""
    one, two = make("m1", part("0", topic)), make("m2", part("0", topic), process_id="p2")
    one.join()
    first = one.epoch
    two.join()
    settle(one, two, done=lambda: len(two.active.get("0", [])) == 2)
    assert one.epoch > first
    kept, gone = one.active["0"][0], two.active["0"][0]
    assert commit(connection, 9, name, topic, "m1", first, kept) == NONE
    assert commit(connection, 9, name, topic, "m1", first, gone) == STALE_MEMBER_EPOCH
    assert commit(connection, 9, name, topic, "m1", one.epoch + 1, kept) == STALE_MEMBER_EPOCH
    assert commit(connection, 9, name, topic, "m2", first, gone) == STALE_MEMBER_EPOCH


def test_topics_are_made_with_their_settings(connection: Connection, make: Make, topic: str, name: str) -> None:
    """Case T07: more of them than are named in the text."""
    changelogs = [info(f"{name}-c{n}", cleanup_policy="compact") for n in range(5)]
    member = make("m", part("0", topic, state_changelog_topics=changelogs))
    (status,) = member.join().status
    assert status.status_code == MISSING_INTERNAL
    assert status.status_detail.endswith(" and 2 additional topics")
    settle(member, done=lambda: member.active == {"0": [0, 1, 2, 3]})
    asked = [{"resource_type": 2, "resource_name": f"{name}-c4", "configuration_keys": ["cleanup.policy"]}]
    (described,) = ask(connection, ApiKey.DESCRIBE_CONFIGS, 4, resources=asked, include_synonyms=False).results
    assert [config.value for config in described.configs] == ["compact"]
    found = ask(connection, ApiKey.METADATA, 10, topics=[{"topic_id": None, "name": f"{name}-c4"}]).topics[0]
    assert len(found.partitions) == 4


def test_settings_that_a_topic_cannot_have(make: Make, topic: str, name: str) -> None:
    """Why an internal topic cannot be made is told where it is told to be missing."""
    member = make("m", part("0", topic, state_changelog_topics=[info(f"{name}-c", retention_ms="soon")]))
    member.join()

    def told() -> bool:
        return any("; Creation failed: " in status.status_detail for status in member.join().status)

    wait_until(told)


@pytest.mark.parametrize("version", [3, 4, 5])
def test_offsets_in_a_transaction(connection: Connection, make: Make, topic: str, name: str, version: int) -> None:
    """Case T21: the epoch and the member are looked at when they are told; an epoch that is not the member's is 22 there."""
    member = make("m", part("0", topic))
    member.join()
    fields = {"transactional_id": name, "transaction_timeout_ms": 10_000, "producer_id": -1, "producer_epoch": -1}

    def begun() -> list[Any]:
        answer = ask(connection, ApiKey.INIT_PRODUCER_ID, 4, **fields)
        return [answer] if answer.error_code == NONE else []

    (producer,) = wait_until(begun)
    identity = {"transactional_id": name, "producer_id": producer.producer_id, "producer_epoch": producer.producer_epoch}
    assert ask(connection, ApiKey.ADD_OFFSETS_TO_TXN, 3, **identity, group_id=name).error_code == NONE

    def commit_as(member_id: str, epoch: int) -> int:
        place = {"partition_index": 0, "committed_offset": 1, "committed_leader_epoch": -1, "committed_metadata": ""}
        who = {"group_id": name, "generation_id": epoch, "member_id": member_id, "group_instance_id": None}
        answer = ask(connection, ApiKey.TXN_OFFSET_COMMIT, version, **identity, **who, topics=[{"name": topic, "partitions": [place]}])
        return int(answer.topics[0].partitions[0].error_code)

    assert commit_as("", -1) == NONE
    assert commit_as("m", member.epoch) == NONE
    assert commit_as("m", member.epoch + 1) == ILLEGAL_GENERATION
    assert commit_as("m", 1) == ILLEGAL_GENERATION
    assert commit_as("stranger", member.epoch) == UNKNOWN_MEMBER_ID


@pytest.fixture
def mortal(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BrokerProcess | apache_kafka.ApacheKafka]:
    """A broker of this test's own, of the kind under test."""
    given = request.config.getoption("--bootstrap")
    with apache_kafka.ApacheKafka(tmp_path, apache_kafka.free_ports()) if given else BrokerProcess(tmp_path / "data") as broker:
        if given:
            broker.start()
        yield broker


def test_killed(mortal: BrokerProcess | apache_kafka.ApacheKafka, name: str) -> None:
    """Case D03: members, tasks and offsets are there after kill -9, the topology too; members stay with the epoch they had."""
    with Connection(mortal.bootstrap) as connection:
        wait_until(lambda: ask(connection, ApiKey.FIND_COORDINATOR, 3, key=name, key_type=0).error_code == NONE)
        at_once(connection, name)
        topic = create(connection, f"{name}-in", 4)
        changelog = info(f"{name}-changelog")
        members = [
            StreamsClient(connection, name, f"m{n}", part("0", topic, state_changelog_topics=[changelog]), process_id=f"p{n}")
            for n in range(2)
        ]
        for member in members:
            member.join()
        settle(*members, done=lambda: [len(member.active.get("0", [])) for member in members] == [2, 2])
        kept = members[0].active["0"][0]
        assert commit(connection, 9, name, topic, "m0", members[0].epoch, kept) == NONE
    mortal.kill()
    mortal.start()
    with Connection(mortal.bootstrap) as connection:
        for member in members:
            member.connection = connection
        wait_until(lambda: members[0].send().error_code == NONE)
        had = [(member.epoch, member.active) for member in members]
        for member in members:
            assert member.beat().active_tasks is None
        assert [(member.epoch, member.active) for member in members] == had
        group = describe(connection, name)
        assert (group.group_state, len(group.members)) == ("Stable", 2)
        assert [each.name for each in group.topology.subtopologies[0].state_changelog_topics] == [changelog["name"]]
        other = StreamsClient(connection, name, "other", part("0", topic)).ask_to_join()
        assert (other.error_code, other.error_message) == (INVALID_REQUEST, "Topology updates are not supported yet.")
        groups = [{"group_id": name, "topics": [{"name": topic, "partition_indexes": [kept]}]}]
        fetched = ask(connection, ApiKey.OFFSET_FETCH, 8, groups=groups, require_stable=False)
        assert fetched.groups[0].topics[0].partitions[0].committed_offset == 1


def test_a_lost_answer_is_told_again(make: Make, topic: str, ours: bool) -> None:
    """A thread that says it has what it was told to give up did not hear it. Kafka stays silent until it removes the member."""
    one, two = make("m1", part("0", topic)), make("m2", part("0", topic), process_id="p2")
    one.join()
    one.beat()
    two.join()

    def given_up() -> Any:
        return one.send().active_tasks  # nobody reads this answer

    wait_until(given_up)
    has = [{"subtopology_id": "0", "partitions": [0, 1, 2, 3]}]
    answer = one.send(active_tasks=has, standby_tasks=[], warmup_tasks=[])
    told = None if answer.active_tasks is None else [len(each.partitions) for each in answer.active_tasks]
    assert told == ([2] if ours else None)
