"""No request holds the loop: every API that takes a list is sent one of ten thousand entries, and the longest turn is looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.records import build_batch
from support.loop_watch import WatchedBroker, watched_broker
from support.simbroker import build
from support.wire import Connection

pytestmark = pytest.mark.uncovered
TURN_MS = 20.0
TRIES = 6
ENTRIES = 10_000
WIDE = "wide"
PRODUCED = 2_000  # partitions: each gets a folder
EXISTING = 1_000  # of the topics whose settings are asked for and altered
RECORDS = bytes(build_batch([(1, None, b"value")]))
EVERY = range(ENTRIES)

Fields = dict[str, Any]


def many(name: str, entry: Callable[[int], Fields]) -> Fields:
    return {name: [entry(index) for index in EVERY]}


def wide(inner: str, entry: Callable[[int], Any], outer: str = "topics", name: str = "name") -> Fields:
    return {outer: [{name: WIDE, inner: [entry(index) for index in EVERY]}]}


def names(prefix: str) -> list[str]:
    return [f"{prefix}-{index}" for index in EVERY]


GROUP = {"group_id": "wide", "member_id": "", "group_instance_id": None}
NO_REPLICA = {"replica_id": -1, "isolation_level": 0}
COMMITTED = {"committed_leader_epoch": -1, "committed_metadata": ""}

# (API, version) -> fields; in this order, each on a broker that has seen those before
REQUESTS: dict[tuple[ApiKey, int], Fields] = {
    (ApiKey.METADATA, 12): {"topics": None, "allow_auto_topic_creation": False, "include_topic_authorized_operations": True},
    (ApiKey.METADATA, 9): {"topics": [{"name": name} for name in names("no")], "allow_auto_topic_creation": False},
    (ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0): {"topics": [{"name": WIDE}], "response_partition_limit": 2000, "cursor": None},
    (ApiKey.METADATA, 13): {"topics": None, "allow_auto_topic_creation": False, "include_topic_authorized_operations": False},
    (ApiKey.LIST_OFFSETS, 7): NO_REPLICA
    | wide("partitions", lambda i: {"partition_index": i, "timestamp": -1, "current_leader_epoch": -1}),
    (ApiKey.OFFSET_FOR_LEADER_EPOCH, 4): {"replica_id": -1}
    | wide("partitions", lambda i: {"partition": i, "current_leader_epoch": -1, "leader_epoch": 0}, name="topic"),
    (ApiKey.OFFSET_COMMIT, 8): GROUP
    | {"generation_id_or_member_epoch": -1}
    | wide("partitions", lambda i: {"partition_index": i, "committed_offset": i} | COMMITTED),
    (ApiKey.OFFSET_FETCH, 7): {"group_id": "wide", "topics": [{"name": WIDE, "partition_indexes": list(EVERY)}], "require_stable": True},
    (ApiKey.OFFSET_FETCH, 8): {"groups": [{"group_id": "wide", "topics": None}], "require_stable": False},
    (ApiKey.OFFSET_DELETE, 0): {"group_id": "wide"} | wide("partitions", lambda i: {"partition_index": i}),
    (ApiKey.DELETE_RECORDS, 2): {"timeout_ms": 9000} | wide("partitions", lambda i: {"partition_index": i, "offset": 0}),
    (ApiKey.DESCRIBE_PRODUCERS, 0): wide("partition_indexes", lambda i: i),
    (ApiKey.DESCRIBE_LOG_DIRS, 4): {"topics": None},
    (ApiKey.ELECT_LEADERS, 2): {"election_type": 0, "timeout_ms": 9000} | wide("partitions", lambda i: i, "topic_partitions", "topic"),
    (ApiKey.ALTER_PARTITION_REASSIGNMENTS, 0): {"timeout_ms": 9000} | wide("partitions", lambda i: {"partition_index": i, "replicas": [1]}),
    (ApiKey.LIST_PARTITION_REASSIGNMENTS, 0): {"timeout_ms": 9000} | wide("partition_indexes", lambda i: i),
    (ApiKey.DESCRIBE_CONFIGS, 4): {
        "resources": [{"resource_type": 2, "resource_name": name, "configuration_keys": None} for name in names("small")],
        "include_synonyms": True,
        "include_documentation": True,
    },
    (ApiKey.INCREMENTAL_ALTER_CONFIGS, 1): {
        "resources": [
            {"resource_type": 2, "resource_name": name, "configs": [{"name": "retention.ms", "config_operation": 0, "value": "1000"}]}
            for name in names("small")
        ],
        "validate_only": False,
    },
    (ApiKey.ALTER_CONFIGS, 2): {
        "resources": [
            {"resource_type": 2, "resource_name": name, "configs": [{"name": "retention.ms", "value": "1000"}]} for name in names("small")
        ],
        "validate_only": False,
    },
    (ApiKey.CREATE_TOPICS, 7): {
        "topics": [
            {"name": name, "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []} for name in names("made")
        ],
        "timeout_ms": 60_000,
        "validate_only": True,
    },
    (ApiKey.CREATE_PARTITIONS, 3): {
        "topics": [{"name": name, "count": 2, "assignments": None} for name in names("no")],
        "timeout_ms": 9000,
        "validate_only": True,
    },
    (ApiKey.DELETE_TOPICS, 6): {"topics": [{"name": name, "topic_id": None} for name in names("no")], "timeout_ms": 9000},
    (ApiKey.ADD_PARTITIONS_TO_TXN, 3): {
        "v3_and_below_transactional_id": "wide",
        "v3_and_below_producer_id": 0,
        "v3_and_below_producer_epoch": 0,
        "v3_and_below_topics": [{"name": WIDE, "partitions": list(EVERY)}],
    },
    (ApiKey.ADD_PARTITIONS_TO_TXN, 5): {
        "transactions": [
            {"transactional_id": "wide", "producer_id": 0, "producer_epoch": 0, "verify_only": True}
            | {"topics": [{"name": WIDE, "partitions": list(EVERY)}]}
        ]
    },
    (ApiKey.PRODUCE, 9): {"transactional_id": None, "acks": 1, "timeout_ms": 60_000}
    | {"topic_data": [{"name": WIDE, "partition_data": [{"index": i, "records": RECORDS} for i in range(PRODUCED)]}]},
    (ApiKey.WRITE_TXN_MARKERS, 1): {
        "markers": [
            {"producer_id": 5, "producer_epoch": 0, "transaction_result": False, "coordinator_epoch": 0}
            | {"topics": [{"name": WIDE, "partition_indexes": list(EVERY)}]}
        ]
    },
    (ApiKey.TXN_OFFSET_COMMIT, 3): GROUP
    | {"transactional_id": "wide", "producer_id": 0, "producer_epoch": 0, "generation_id": -1}
    | wide("partitions", lambda i: {"partition_index": i, "committed_offset": i} | COMMITTED),
    (ApiKey.DESCRIBE_TRANSACTIONS, 0): {"transactional_ids": names("no")},
    (ApiKey.LIST_TRANSACTIONS, 1): {"state_filters": names("no"), "producer_id_filters": list(EVERY), "duration_filter": -1},
    (ApiKey.DESCRIBE_GROUPS, 5): {"groups": names("no"), "include_authorized_operations": True},
    (ApiKey.CONSUMER_GROUP_DESCRIBE, 1): {"group_ids": names("no"), "include_authorized_operations": True},
    (ApiKey.STREAMS_GROUP_DESCRIBE, 0): {"group_ids": names("no"), "include_authorized_operations": True},
    (ApiKey.STREAMS_GROUP_HEARTBEAT, 0): {"group_id": "no", "member_id": "m", "member_epoch": 1, "client_tags": None}
    | {"active_tasks": [{"subtopology_id": "0", "partitions": list(EVERY)}], "standby_tasks": [], "warmup_tasks": []},
    (ApiKey.DELETE_GROUPS, 2): {"groups_names": names("no")},
    (ApiKey.FIND_COORDINATOR, 4): {"key_type": 0, "coordinator_keys": names("no")},
    (ApiKey.LIST_GROUPS, 5): {"states_filter": names("no"), "types_filter": names("no")},
    (ApiKey.LEAVE_GROUP, 5): {"group_id": "wide"}
    | many("members", lambda i: {"member_id": f"m{i}", "group_instance_id": None, "reason": None}),
    (ApiKey.FETCH, 12): NO_REPLICA
    | {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 1 << 20, "session_id": 0, "session_epoch": 0}
    | {"forgotten_topics_data": [], "rack_id": ""}
    | wide("partitions", lambda i: {"partition": i, "fetch_offset": 0, "log_start_offset": -1, "partition_max_bytes": 1000}, name="topic"),
}


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WatchedBroker]:
    with watched_broker(tmp_path_factory.mktemp("watched") / "data", log_flush_on_ack="false") as broker:
        with Connection(broker.bootstrap, timeout=120.0) as connection:
            for sizes in ({WIDE: ENTRIES}, dict.fromkeys(names("small")[:EXISTING], 1)):
                topics = [
                    {"name": name, "num_partitions": count, "replication_factor": 1, "assignments": [], "configs": []}
                    for name, count in sizes.items()
                ]
                answer = ask(connection, ApiKey.CREATE_TOPICS, 7, {"topics": topics, "timeout_ms": 60_000, "validate_only": False})
                assert {topic.error_code for topic in answer.topics} == {0}
        yield broker


def ask(connection: Connection, key: ApiKey, version: int, fields: Fields) -> Any:
    message = build(getattr(messages, f"{key.schema_name}Request"), fields)
    return connection.receive(key, version, connection.send(key, version, bytes(messages.encode_request(key, version, message))))


@pytest.mark.parametrize(("key", "version"), REQUESTS, ids=lambda value: value.schema_name if isinstance(value, ApiKey) else f"v{value}")
def test_ten_thousand_entries(watched: WatchedBroker, key: ApiKey, version: int) -> None:
    """The least of some tries: processor time is noisy, too."""
    best = (float("inf"), "")
    with Connection(watched.bootstrap, timeout=120.0) as connection:
        for _ in range(TRIES):
            watched.reset()
            ask(connection, key, version, REQUESTS[key, version])
            best = min(best, (watched.longest_ms, watched.longest_turn))
            if best[0] < TURN_MS:
                return
    raise AssertionError(f"a turn of {best[0]:.1f} ms: {best[1]}")


@pytest.mark.parametrize("count", [10, 1_000, 5_000])
def test_answers_are_in_the_order_of_the_request(watched: WatchedBroker, count: int) -> None:
    numbers = list(range(count))[::-1]
    commit = GROUP | {"group_id": "ordered", "generation_id_or_member_epoch": -1}
    commit |= {"topics": [{"name": WIDE, "partitions": [{"partition_index": i, "committed_offset": 3 * i} | COMMITTED for i in numbers]}]}
    with Connection(watched.bootstrap, timeout=120.0) as connection:
        (stored,) = ask(connection, ApiKey.OFFSET_COMMIT, 8, commit).topics
        assert [(one.partition_index, one.error_code) for one in stored.partitions] == [(i, 0) for i in numbers]
        groups = [{"group_id": "ordered", "topics": [{"name": WIDE, "partition_indexes": numbers}]}, {"group_id": "none", "topics": None}]
        first, second = ask(connection, ApiKey.OFFSET_FETCH, 8, {"groups": groups, "require_stable": False}).groups
        (fetched,) = first.topics
        assert [(one.partition_index, one.committed_offset) for one in fetched.partitions] == [(i, 3 * i) for i in numbers]
        assert (second.group_id, second.topics) == ("none", [])


def test_what_is_named_twice_is_looked_at_together(watched: WatchedBroker) -> None:
    """ListOffsets refuses a partition that stands in a request twice, however far apart."""
    numbers = [*range(1_000), 3]
    partitions = [{"partition_index": i, "timestamp": -1, "current_leader_epoch": -1} for i in numbers]
    with Connection(watched.bootstrap, timeout=120.0) as connection:
        (answer,) = ask(connection, ApiKey.LIST_OFFSETS, 7, NO_REPLICA | {"topics": [{"name": WIDE, "partitions": partitions}]}).topics
    assert {one.partition_index: one.error_code for one in answer.partitions} == {i: 42 if i == 3 else 0 for i in numbers}
    assert len(answer.partitions) == 1_000


def test_a_request_that_is_cut_closes_the_connection(watched: WatchedBroker) -> None:
    """Also when another thread reads it; nobody else notices."""
    body = bytes(messages.encode_request(ApiKey.DELETE_GROUPS, 2, messages.DeleteGroupsRequest(groups_names=names("no"))))
    with Connection(watched.bootstrap) as connection, Connection(watched.bootstrap) as other:
        connection.send(ApiKey.DELETE_GROUPS, 2, body[: len(body) // 2])
        assert connection.closed_by_peer
        assert other.request(ApiKey.API_VERSIONS, 0, {}).error_code == 0


def test_configs_altered_at_once_are_in_force_when_it_is_answered(watched: WatchedBroker) -> None:
    """They share a few writes of the registry, behind which each log has its own; none for a topic that is not there."""
    fields = {
        "resources": [
            {"resource_type": 2, "resource_name": name}
            | {"configs": [{"name": "segment.bytes", "config_operation": 0, "value": str(20_000_000 + index)}]}
            for index, name in enumerate(names("small"))
        ],
        "validate_only": False,
    }
    assert watched.broker is not None
    registry = watched.broker.logs.registry
    before = registry.file_generation
    with Connection(watched.bootstrap, timeout=120.0) as connection:
        results = ask(connection, ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, fields).responses
    assert [result.error_code for result in results] == [0] * EXISTING + [3] * (ENTRIES - EXISTING)
    assert {index: watched.log(f"small-{index}").config.segment_bytes for index in (0, 499, 999)} == {
        0: 20_000_000,
        499: 20_000_499,
        999: 20_000_999,
    }
    assert registry.file_generation - before <= EXISTING // 10


def test_a_wide_produce_is_answered_in_its_order_and_appended_once(watched: WatchedBroker) -> None:
    """What is refused of it is refused alone, and a request behind it comes behind it."""
    asked = [{"index": i, "records": RECORDS} for i in (ENTRIES, *range(500), ENTRIES + 1)]
    fields = {"transactional_id": None, "acks": -1, "timeout_ms": 60_000, "topic_data": [{"name": WIDE, "partition_data": asked}]}
    one = fields | {"topic_data": [{"name": WIDE, "partition_data": [{"index": 7, "records": RECORDS}]}]}
    ends = [watched.log(WIDE, index).log_end_offset for index in range(500)]
    with Connection(watched.bootstrap, timeout=120.0) as connection:
        sent = [
            connection.send(ApiKey.PRODUCE, 9, bytes(messages.encode_request(ApiKey.PRODUCE, 9, build(messages.ProduceRequest, each))))
            for each in (fields, one)
        ]
        first, second = (connection.receive(ApiKey.PRODUCE, 9, each).responses[0].partition_responses for each in sent)
    assert [(each.index, each.error_code) for each in first] == [(ENTRIES, 3), *((i, 0) for i in range(500)), (ENTRIES + 1, 3)]
    assert [each.base_offset for each in first[1:-1]] == ends
    assert second[0].base_offset == ends[7] + 1


def quota(index: int) -> Fields:
    return {
        "entity": [{"entity_type": "user", "entity_name": f"u{index}"}],
        "ops": [{"key": "producer_byte_rate", "value": 1000.0 + index, "remove": False}],
    }


def rule(index: int) -> Fields:
    pattern = {"resource_type": 2, "resource_name": f"t{index}", "resource_pattern_type": 3}
    return pattern | {"principal": f"User:u{index}", "host": "*", "operation": 3, "permission_type": 3}


EVERYBODY = {"resource_type_filter": 2, "resource_name_filter": None, "pattern_type_filter": 1, "host_filter": None}
GROUPS = [{"resource_type": 32, "resource_name": f"g{index}"} for index in EVERY]

# in this order; each is one or a few writes of the metadata store
ADMINISTRATION: dict[tuple[ApiKey, int], Fields] = {
    (ApiKey.CREATE_ACLS, 3): many("creations", rule),
    (ApiKey.DELETE_ACLS, 3): {
        "filters": [EVERYBODY | {"principal_filter": f"User:u{index}", "operation": 1, "permission_type": 1} for index in range(20)]
        + [EVERYBODY | {"principal_filter": None, "operation": 1, "permission_type": 1}]
    },
    (ApiKey.ALTER_CLIENT_QUOTAS, 1): many("entries", quota) | {"validate_only": False},
    (ApiKey.ALTER_USER_SCRAM_CREDENTIALS, 0): {"deletions": []}
    | many("upsertions", lambda i: {"name": f"u{i}", "mechanism": 1, "iterations": 4096, "salt": b"s" * 20, "salted_password": b"p" * 32}),
    (ApiKey.INCREMENTAL_ALTER_CONFIGS, 1): {
        "resources": [
            group | {"configs": [{"name": "consumer.session.timeout.ms", "config_operation": 0, "value": "46000"}]} for group in GROUPS
        ],
        "validate_only": False,
    },
    (ApiKey.ALTER_CONFIGS, 2): {
        "resources": [group | {"configs": [{"name": "consumer.session.timeout.ms", "value": "47000"}]} for group in GROUPS],
        "validate_only": False,
    },
}


@pytest.fixture(scope="module")
def administered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WatchedBroker]:
    standard = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
    settings = {"authorizer_class_name": standard, "allow_everyone_if_no_acl_found": "true"}
    with watched_broker(tmp_path_factory.mktemp("administered") / "data", **settings) as broker:
        yield broker


@pytest.mark.parametrize(("key", "version"), ADMINISTRATION, ids=lambda v: v.schema_name if isinstance(v, ApiKey) else f"v{v}")
def test_ten_thousand_changes(administered: WatchedBroker, key: ApiKey, version: int) -> None:
    """Rules, users, quotas and configs of groups: answered when they are on disk."""
    best = (float("inf"), "")
    assert administered.broker is not None
    with Connection(administered.bootstrap, timeout=120.0) as connection:
        for _ in range(TRIES):
            if key is ApiKey.DELETE_ACLS:
                ask(connection, ApiKey.CREATE_ACLS, 3, ADMINISTRATION[ApiKey.CREATE_ACLS, 3])
            administered.reset()
            answer = ask(connection, key, version, ADMINISTRATION[key, version])
            best = min(best, (administered.longest_ms, administered.longest_turn))
            if best[0] < TURN_MS:
                break
    (name,) = (name for name in ("results", "filter_results", "entries", "responses") if hasattr(answer, name))
    assert {one.error_code for one in getattr(answer, name)} == {0}
    if key is ApiKey.DELETE_ACLS:
        assert [len(one.matching_acls) for one in answer.filter_results] == [*[1] * 20, ENTRIES - 20]
    assert best[0] < TURN_MS, f"a turn of {best[0]:.1f} ms: {best[1]}"


@pytest.mark.parametrize("key", [ApiKey.CREATE_ACLS, ApiKey.ALTER_CLIENT_QUOTAS], ids=lambda key: key.schema_name)
def test_more_than_ten_thousand_changes_are_refused_as_a_whole(administered: WatchedBroker, key: ApiKey) -> None:
    number = range(20_000, 20_000 + ENTRIES + 1)
    asked = (
        (3, {"creations": [rule(index) for index in number]})
        if key is ApiKey.CREATE_ACLS
        else (1, {"entries": [quota(index) for index in number], "validate_only": False})
    )
    assert administered.broker is not None
    store = administered.broker.logs.store
    before = (store.section("acls"), store.section("client_quotas"))
    with Connection(administered.bootstrap, timeout=120.0) as connection:
        answer = ask(connection, key, *asked)
    assert {one.error_code for one in (answer.results if key is ApiKey.CREATE_ACLS else answer.entries)} == {44}
    assert (store.section("acls"), store.section("client_quotas")) == before
