"""What is told to who may not, and which right on the cluster opens what: answers of Apache Kafka 4.3.0 with its StandardAuthorizer."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.primitives import uuid_to_kafka
from oncelog.protocol.records import build_batch
from referee import apache_kafka
from support.process import BrokerProcess, wait_until
from support.share_requests import SharePartition, have_coordinator
from support.streams_client import StreamsClient, info, part
from support.wire import Connection

TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID = 2, 3, 4, 5
ALL, READ, WRITE, CREATE, DELETE, DESCRIBE, CLUSTER_ACTION = 2, 3, 4, 5, 6, 8, 9
LITERAL, ALLOW = 3, 3
CLUSTER_AUTHORIZATION_FAILED = 31
NOT_REQUESTED = -(2**31)
USERS = (
    'org.apache.kafka.common.security.plain.PlainLoginModule required username="root" password="r00t" user_root="r00t" user_amy="secret";'
)
SETTINGS = {
    "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:SASL_PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "listener.name.plaintext.plain.sasl.jaas.config": USERS,
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:root;User:ANONYMOUS",
}


class User:
    """One who is logged in."""

    def __init__(self, bootstrap: str, name: str, password: str = "secret") -> None:
        self.name = name
        self.connection = Connection(bootstrap, timeout=20)
        assert self.ask(ApiKey.SASL_HANDSHAKE, 1, mechanism="PLAIN").error_code == 0
        assert self.ask(ApiKey.SASL_AUTHENTICATE, 2, auth_bytes=f"\0{name}\0{password}".encode()).error_code == 0

    def ask(self, api: ApiKey, version: int, /, **fields: Any) -> Any:
        return self.connection.request(api, version, fields)


@pytest.fixture(scope="module")
def guarded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """host:port of a broker with rules, of the kind under test: `root` may do everything, the others nothing yet."""
    folder = tmp_path_factory.mktemp("guarded")
    given = request.config.getoption("--bootstrap")
    with (
        apache_kafka.ApacheKafka(folder, apache_kafka.free_ports(), SETTINGS)
        if given
        else BrokerProcess(folder / "data", SETTINGS) as broker
    ):
        if given:
            broker.start()
        wait_until(lambda: has_coordinators(User(broker.bootstrap, "root", "r00t")), 30, "the coordinators of groups")
        yield broker.bootstrap


def has_coordinators(user: User) -> bool:
    """A fresh Kafka makes and loads the topic of its groups when it is first asked for."""
    found = user.ask(ApiKey.FIND_COORDINATOR, 3, key="any", key_type=0).error_code == 0
    described = user.ask(ApiKey.DESCRIBE_GROUPS, 5, groups=[f"any-{number}" for number in range(500)]).groups
    user.connection.close()
    return found and {group.error_code for group in described} == {0}


@pytest.fixture
def root(guarded: str) -> Iterator[User]:
    user = User(guarded, "root", "r00t")
    yield user
    everything = {"resource_type_filter": 1, "pattern_type_filter": 1, "operation": 1, "permission_type": 1}
    anybody = {"resource_name_filter": None, "principal_filter": None, "host_filter": None}
    user.ask(ApiKey.DELETE_ACLS, 3, filters=[everything | anybody])
    wait_until(lambda: not user.ask(ApiKey.DESCRIBE_ACLS, 3, **everything, **anybody).resources)
    user.connection.close()


@pytest.fixture
def amy(guarded: str, root: User) -> Iterator[User]:
    user = User(guarded, "amy")
    yield user
    user.connection.close()


def allow(root: User, user: User, kind: int, name: str, operation: int) -> None:
    """A rule for `user`, in force."""
    rule = {"resource_type": kind, "resource_name": name, "resource_pattern_type": LITERAL}
    rule |= {"principal": f"User:{user.name}", "host": "*", "operation": operation, "permission_type": ALLOW}
    assert root.ask(ApiKey.CREATE_ACLS, 3, creations=[rule]).results[0].error_code == 0
    asked = {"resource_type_filter": kind, "resource_name_filter": name, "pattern_type_filter": LITERAL}
    asked |= {"principal_filter": f"User:{user.name}", "host_filter": None, "operation": operation, "permission_type": ALLOW}
    wait_until(lambda: root.ask(ApiKey.DESCRIBE_ACLS, 3, **asked).resources, what="the rule")


def create(root: User, *names: str) -> list[uuid.UUID]:
    """Make topics of one partition; their ids."""
    topics = [{"name": name, "num_partitions": 1, "replication_factor": 1} for name in names]
    answer = root.ask(ApiKey.CREATE_TOPICS, 7, topics=topics, timeout_ms=10_000)
    assert {topic.error_code for topic in answer.topics} == {0}
    for name in names:
        wait_until(lambda name=name: metadata(root, name).error_code == 0)  # type: ignore[misc]
    ids = {topic.name: topic.topic_id for topic in answer.topics}
    return [ids[name] for name in names]


def metadata(user: User, name: str, version: int = 9) -> Any:
    asked = {"topics": [{"name": name}], "allow_auto_topic_creation": False, "include_topic_authorized_operations": True}
    return user.ask(ApiKey.METADATA, version, **asked).topics[0]


# --- transactions


def batch(*, transactional: bool) -> bytes:
    return bytes(
        build_batch(
            [(int(time.time() * 1000), b"k", b"v")], producer_id=5, producer_epoch=0, base_sequence=0, is_transactional=transactional
        )
    )


def produce(
    user: User, topics: list[str], transactional_id: str | None, *, version: int = 11, acks: int = -1, transactional: bool = True
) -> list[int]:
    """The error code of each topic's one partition."""
    records = batch(transactional=transactional)
    data = [{"name": topic, "partition_data": [{"index": 0, "records": records}]} for topic in topics]
    answer = user.ask(ApiKey.PRODUCE, version, transactional_id=transactional_id, acks=acks, timeout_ms=5_000, topic_data=data)
    return [partition.error_code for topic in answer.responses for partition in topic.partition_responses]


@pytest.mark.parametrize("version", [3, 8, 11, 12])
def test_the_transactional_id_comes_before_the_topics(root: User, amy: User, name: str, version: int) -> None:
    mine, other = f"{name}-mine", f"{name}-other"
    create(root, mine, other)
    allow(root, amy, TOPIC, mine, WRITE)
    for topics in ([other], [mine], [mine, other], [f"{name}-absent"]):
        assert produce(amy, topics, name, version=version) == [53] * len(topics)
    assert produce(amy, [mine], None, version=version) == [53]
    assert produce(amy, [mine], name, version=version, acks=2) == [53]
    assert produce(amy, [mine, other], name, version=version, transactional=False) == [0, 29]
    allow(root, amy, TRANSACTIONAL_ID, name, WRITE)
    assert produce(amy, [other], name, version=version) == [29]


def test_acks_that_are_none_are_told_where_nothing_else_is_wrong(root: User, amy: User, name: str) -> None:
    mine, other = f"{name}-mine", f"{name}-other"
    create(root, mine, other)
    allow(root, amy, TOPIC, mine, WRITE)
    assert produce(amy, [mine, other], None, acks=2, transactional=False) == [21, 29]


def test_a_producer_id_needs_a_right_to_write(root: User, amy: User, name: str) -> None:
    asked = {"transaction_timeout_ms": 1_000, "producer_id": -1, "producer_epoch": -1}
    assert amy.ask(ApiKey.INIT_PRODUCER_ID, 4, transactional_id=name, **asked).error_code == 53
    assert amy.ask(ApiKey.INIT_PRODUCER_ID, 4, transactional_id=None, **asked).error_code == 31


# --- groups


@pytest.mark.parametrize("version", range(1, 8))
def test_offsets_of_a_group_without_the_right(root: User, amy: User, name: str, version: int) -> None:
    topics = [{"name": f"{name}-a", "partition_indexes": [0, 1]}, {"name": f"{name}-b", "partition_indexes": [0]}]
    answer = amy.ask(ApiKey.OFFSET_FETCH, version, group_id=name, topics=topics)
    found = [(topic.name, p.partition_index, p.error_code, p.committed_offset) for topic in answer.topics for p in topic.partitions]
    if version == 1:
        assert found == [(f"{name}-a", 0, 30, -1), (f"{name}-a", 1, 30, -1), (f"{name}-b", 0, 30, -1)]
    else:
        assert (found, answer.error_code) == ([], 30)


@pytest.mark.parametrize("version", [8, 9, 10])
def test_offsets_of_groups_without_the_right(root: User, amy: User, name: str, version: int) -> None:
    allow(root, amy, GROUP, f"{name}-mine", DESCRIBE)
    groups = [{"group_id": f"{name}-mine", "topics": []}, {"group_id": f"{name}-other", "topics": None}]
    answer = amy.ask(ApiKey.OFFSET_FETCH, version, groups=groups)
    assert [(group.error_code, group.topics) for group in answer.groups] == [(0, []), (30, [])]


def test_offsets_of_hidden_topics_come_last(root: User, amy: User, name: str) -> None:
    mine, other = f"{name}-mine", f"{name}-other"
    create(root, mine, other)
    allow(root, amy, TOPIC, mine, READ)
    allow(root, amy, GROUP, name, READ)
    topics = [{"name": topic, "partition_indexes": [0]} for topic in (other, mine)]
    answer = amy.ask(ApiKey.OFFSET_FETCH, 7, group_id=name, topics=topics)
    assert [(topic.name, topic.partitions[0].error_code) for topic in answer.topics] == [(mine, 0), (other, 29)]


# --- topics


def delete(user: User, version: int, *topics: str | uuid.UUID) -> dict[tuple[str | None, uuid.UUID | None], int]:
    if version < 6:
        answer = user.ask(ApiKey.DELETE_TOPICS, version, topic_names=list(topics), timeout_ms=10_000)
        return {(each.name, None): each.error_code for each in answer.responses}
    named = [{"name": each} if isinstance(each, str) else {"name": None, "topic_id": each} for each in topics]
    answer = user.ask(ApiKey.DELETE_TOPICS, version, topics=named, timeout_ms=10_000)
    return {(each.name, each.topic_id): each.error_code for each in answer.responses}


def test_deleting_topics_without_the_right_tells_nothing_of_them(root: User, amy: User, name: str) -> None:
    (topic_id,) = create(root, name)
    unknown = uuid.uuid4()
    for version in (1, 3, 5):
        assert delete(amy, version, name, "absent", "b?d") == {(name, None): 29, ("absent", None): 29, ("b?d", None): 29}
    assert delete(amy, 6, name, "absent", unknown) == {(name, None): 29, ("absent", None): 29, (None, unknown): 100}
    assert delete(amy, 6, topic_id) == {(None, topic_id): 29}
    allow(root, amy, TOPIC, name, DESCRIBE)
    assert delete(amy, 6, topic_id) == {(name, topic_id): 29}


@pytest.mark.parametrize("operation", [DELETE, ALL])
def test_a_right_on_the_cluster_deletes_every_topic(root: User, amy: User, name: str, operation: int) -> None:
    one, two, three = f"{name}-1", f"{name}-2", f"{name}-3"
    _, second, third = create(root, one, two, three)
    allow(root, amy, CLUSTER, "kafka-cluster", operation)
    unknown = uuid.uuid4()
    assert delete(amy, 5, one, "absent") == {(one, None): 0, ("absent", None): 3}
    assert delete(amy, 6, two, "absent", unknown, third) == {
        (two, second): 0,
        ("absent", None): 3,
        (None, unknown): 100,
        (three, third): 0,
    }


def epochs(user: User, topic: str, replica_id: int = -2) -> list[tuple[int, int]]:
    partitions = [{"partition": number, "current_leader_epoch": -1, "leader_epoch": 0} for number in (0, 7)]
    answer = user.ask(ApiKey.OFFSET_FOR_LEADER_EPOCH, 4, replica_id=replica_id, topics=[{"topic": topic, "partitions": partitions}])
    return [(each.error_code, each.end_offset) for each in answer.topics[0].partitions]


def fetch(user: User, topic: str, replica_id: int) -> tuple[int, Any]:
    partition = {"partition": 0, "current_leader_epoch": -1, "fetch_offset": 0, "log_start_offset": -1, "partition_max_bytes": 1_000}
    limits = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 1_000, "isolation_level": 0, "session_id": 0, "session_epoch": -1}
    answer = user.ask(ApiKey.FETCH, 11, replica_id=replica_id, topics=[{"topic": topic, "partitions": [partition]}], **limits)
    found = answer.responses[0].partitions[0]
    return found.error_code, found.aborted_transactions


def test_cluster_action_opens_leader_epochs(root: User, amy: User, name: str) -> None:
    create(root, name)
    assert epochs(amy, name) == epochs(amy, name, 1) == epochs(amy, "absent") == [(29, -1), (29, -1)]
    allow(root, amy, CLUSTER, "kafka-cluster", CLUSTER_ACTION)
    assert epochs(amy, name) == epochs(amy, name, 1) == [(0, 0), (3, -1)]
    assert epochs(amy, "absent") == [(3, -1), (3, -1)]


def test_cluster_action_opens_the_fetch_of_followers(root: User, amy: User, name: str) -> None:
    create(root, name)
    allow(root, amy, TOPIC, name, READ)
    assert fetch(amy, name, -1)[0] == 0
    assert [fetch(amy, topic, replica) for topic in (name, "absent") for replica in (1, 2)] == [(29, [])] * 4
    allow(root, amy, CLUSTER, "kafka-cluster", CLUSTER_ACTION)
    assert fetch(amy, name, 2) == (6, None)
    assert fetch(amy, "absent", 2) == (3, [])
    assert fetch(amy, "absent", -1) == (29, [])


# --- authorized operations (KIP-430)

TOPIC_OPERATIONS, GROUP_OPERATIONS, CLUSTER_OPERATIONS = 3576, 3400, 8096


@pytest.mark.parametrize("version", [8, 9, 12, 13])
def test_operations_on_topics_that_are_not_there(root: User, amy: User, name: str, version: int) -> None:
    create(root, name)
    allow(root, amy, TOPIC, name, DESCRIBE)
    codes = {name: 0, "absent": 3, "b?d": 17}
    for topic, code in codes.items():
        told, hidden = metadata(root, topic, version), metadata(amy, topic, version)
        assert (told.error_code, told.topic_authorized_operations) == (code, TOPIC_OPERATIONS)
        seen = (hidden.error_code, hidden.topic_authorized_operations)
        assert seen == ((0, 1 << DESCRIBE) if topic == name else (29, NOT_REQUESTED))


def test_operations_in_described_partitions(root: User, amy: User, name: str) -> None:
    create(root, name)
    for user, expected in (
        (root, {"absent": (3, TOPIC_OPERATIONS), name: (0, TOPIC_OPERATIONS), "b?d": (17, TOPIC_OPERATIONS)}),
        (amy, {}),
    ):
        topics = [{"name": topic} for topic in ("absent", name, "b?d")]
        answer = user.ask(ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0, topics=topics, response_partition_limit=100)
        seen = {topic.name: (topic.error_code, topic.topic_authorized_operations) for topic in answer.topics}
        assert seen == (expected or dict.fromkeys(("absent", name, "b?d"), (29, NOT_REQUESTED)))


def cluster_operations(user: User) -> set[int]:
    seen = {user.ask(ApiKey.DESCRIBE_CLUSTER, v, include_cluster_authorized_operations=True).cluster_authorized_operations for v in (0, 2)}
    asked = {"topics": [], "include_cluster_authorized_operations": True}
    return seen | {user.ask(ApiKey.METADATA, v, **asked).cluster_authorized_operations for v in (8, 10)}


def test_operations_on_the_cluster_are_told_to_who_may_describe_it(root: User, amy: User) -> None:
    assert cluster_operations(root) == {CLUSTER_OPERATIONS}
    allow(root, amy, CLUSTER, "kafka-cluster", CLUSTER_ACTION)
    assert cluster_operations(amy) == {0}
    allow(root, amy, CLUSTER, "kafka-cluster", DESCRIBE)
    assert cluster_operations(amy) == {1 << DESCRIBE | 1 << CLUSTER_ACTION}


def groups(user: User, key: ApiKey, version: int, *group_ids: str) -> set[tuple[str, int, int]]:
    field = "groups" if key is ApiKey.DESCRIBE_GROUPS else "group_ids"
    answer = user.ask(key, version, **{field: list(group_ids)}, include_authorized_operations=True)
    return {(group.group_id, group.error_code, group.authorized_operations) for group in answer.groups}


def test_operations_on_groups_that_are_not_there(root: User, amy: User, name: str) -> None:
    assert groups(root, ApiKey.DESCRIBE_GROUPS, 5, name) == {(name, 0, GROUP_OPERATIONS)}
    assert groups(root, ApiKey.DESCRIBE_GROUPS, 6, name) == {(name, 69, NOT_REQUESTED)}
    assert groups(root, ApiKey.CONSUMER_GROUP_DESCRIBE, 1, name) == {(name, 69, NOT_REQUESTED)}
    refused = [(ApiKey.DESCRIBE_GROUPS, 5), (ApiKey.DESCRIBE_GROUPS, 6), (ApiKey.CONSUMER_GROUP_DESCRIBE, 1)]
    assert [groups(amy, key, version, name) for key, version in refused] == [{(name, 30, NOT_REQUESTED)}] * 3


# --- streams groups


def heartbeat(user: User, group: str, *sources: str, internal: tuple[str, ...] = (), **fields: Any) -> Any:
    """A first heartbeat, with one subtopology."""
    own = part("0", *sources, state_changelog_topics=[info(name) for name in internal])
    client = StreamsClient(user.connection, group, "m", own)
    return client.ask_to_join(**fields)


def test_streams_groups_need_a_right_to_read_and_topics_to_describe(root: User, amy: User, name: str) -> None:
    create(root, name)
    assert heartbeat(amy, name, name).error_code == 30
    allow(root, amy, GROUP, name, READ)
    refused = heartbeat(amy, name, name)
    assert (refused.error_code, refused.status, refused.active_tasks) == (29, [], None)
    allow(root, amy, TOPIC, name, DESCRIBE)
    assert heartbeat(amy, name, name).error_code == 0
    assert heartbeat(amy, name, name, internal=(f"{name}-changelog",)).error_code == 29


def test_internal_topics_of_streams_need_a_right_to_create(root: User, amy: User, name: str) -> None:
    create(root, name)
    missing = [f"{name}-c1", f"{name}-c2"]
    allow(root, amy, GROUP, name, READ)
    for topic in (name, *missing):
        allow(root, amy, TOPIC, topic, DESCRIBE)
    wait_until(lambda: [each.status_code for each in heartbeat(amy, name, name, internal=tuple(missing)).status][-1:] == [3])
    told = heartbeat(amy, name, name, internal=tuple(missing)).status[-1].status_detail
    assert told.startswith("Internal topics are missing: ")
    start, _, names = told.partition("; Unauthorized to CREATE on topics ")
    assert sorted(names.removesuffix(".").split(", ")) == missing
    assert sorted(start.removeprefix("Internal topics are missing: ").split(", ")) == missing
    allow(root, amy, CLUSTER, "kafka-cluster", CREATE)
    heartbeat(amy, name, name, internal=tuple(missing))
    wait_until(lambda: all(metadata(root, topic).error_code == 0 for topic in missing))


def test_describing_streams_groups_needs_their_topics(root: User, amy: User, name: str) -> None:
    create(root, name)
    assert heartbeat(root, name, name).error_code == 0

    def described() -> Any:
        return amy.ask(ApiKey.STREAMS_GROUP_DESCRIBE, 0, group_ids=[name], include_authorized_operations=True).groups[0]

    refused = described()
    assert (refused.error_code, refused.group_state, refused.topology) == (30, "", None)
    allow(root, amy, GROUP, name, DESCRIBE)
    hidden = described()
    text = "The described group uses topics that the client is not authorized to describe."
    assert (hidden.error_code, hidden.error_message, hidden.members, hidden.topology) == (29, text, [], None)
    allow(root, amy, TOPIC, name, DESCRIBE)
    assert (described().error_code, [member.member_id for member in described().members]) == (0, ["m"])


# --- the share coordinator


def test_share_states_are_for_who_may_act_on_the_cluster(root: User, amy: User, name: str) -> None:
    (topic_id,) = create(root, name)
    have_coordinator(root.connection.request)
    mine, theirs = (SharePartition(user.connection.request, f"g-{name}", topic_id) for user in (root, amy))
    wait_until(lambda: mine.initialize(1, 5).error_code == 0, 20, "the share partition")
    told = [theirs.initialize(2, 0), theirs.read(), theirs.write(), theirs.delete(), theirs.summary()]
    assert {each.error_code for each in told} == {CLUSTER_AUTHORIZATION_FAILED}
    asked = {"key_type": 2, "coordinator_keys": [f"g:{uuid_to_kafka(topic_id)}:0", "nonsense"]}
    found = amy.ask(ApiKey.FIND_COORDINATOR, 6, **asked).coordinators
    assert {one.error_code for one in found} == {CLUSTER_AUTHORIZATION_FAILED}
    assert mine.summary()[2:4] == (5, 1)
    allow(root, amy, CLUSTER, "kafka-cluster", CLUSTER_ACTION)
    wait_until(lambda: theirs.summary()[:3] == (0, None, 5), 20, "the right")
    assert [one.error_code for one in amy.ask(ApiKey.FIND_COORDINATOR, 6, **asked).coordinators] == [0, 42]
