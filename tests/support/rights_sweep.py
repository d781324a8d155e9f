"""Every request by every user with one right: what a broker answers, to be compared with what Apache Kafka 4.3.0 answered.

Each user has resources of its own (a topic, a group, a transactional id), and rules about these alone, so that no user's requests change
what another's are answered. The requests of one user go out in the order of `REQUESTS`, those that remove things last.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from oncelog.broker.auth.acls import CLUSTER_NAME, SUPPORTED_OPERATIONS, AclOperation, PatternType, PermissionType, ResourceType
from oncelog.protocol.api_keys import ApiKey

from support.golden_clients_setup import batch
from support.process import wait_until
from support.replay import plain
from support.wire import Connection

PASSWORD = "secret"
SUPER_USER = "root"
UNKNOWN_PRODUCER = 1 << 50
ALL, ANY_NAME = AclOperation.ALL, "*"
_PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule"
_TYPES = (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.CLUSTER, ResourceType.TRANSACTIONAL_ID)
_LETTERS = {ResourceType.TOPIC: "t", ResourceType.GROUP: "g", ResourceType.TRANSACTIONAL_ID: "x"}


@dataclass(frozen=True)
class Rule:
    """One entry about a user's own resource of the type; `name` replaces it."""

    resource: ResourceType
    operation: AclOperation
    allow: bool = True
    pattern: PatternType = PatternType.LITERAL
    name: str | None = None


def users() -> dict[str, tuple[Rule, ...]]:
    """User -> rules: nothing, each single right, all of a type, all but one, by prefix, by wildcard, denied by either."""
    found: dict[str, tuple[Rule, ...]] = {"nobody": (), SUPER_USER: ()}
    everything = tuple(Rule(kind, ALL) for kind in _TYPES)
    found["all"] = everything
    for kind in _TYPES:
        short = kind.name.lower().replace("_", "")
        for operation in (ALL, *sorted(SUPPORTED_OPERATIONS[kind])):
            word = operation.name.lower().replace("_", "")
            found[f"{short}.{word}"] = (Rule(kind, operation),)
            found[f"all-{short}.{word}"] = (*everything, Rule(kind, operation, allow=False))
        others = tuple(rule for rule in everything if rule.resource is not kind)
        found[f"only-{short}"] = (Rule(kind, ALL),)
        found[f"no-{short}"] = others
        if kind is not ResourceType.CLUSTER:
            found[f"prefix-{short}"] = (*others, Rule(kind, ALL, pattern=PatternType.PREFIXED))
            found[f"any-{short}"] = (*others, Rule(kind, ALL, name=ANY_NAME))
            found[f"denied-any-{short}"] = (*everything, Rule(kind, ALL, allow=False, name=ANY_NAME))
            found[f"denied-prefix-{short}"] = (*everything, Rule(kind, ALL, allow=False, pattern=PatternType.PREFIXED))
    found["tokens"] = (Rule(ResourceType.USER, AclOperation.CREATE_TOKENS, name="User:nobody"),)
    found["producer"] = (Rule(ResourceType.TOPIC, AclOperation.WRITE), Rule(ResourceType.TRANSACTIONAL_ID, AclOperation.WRITE))
    found["copier"] = (*found["producer"], Rule(ResourceType.GROUP, AclOperation.READ), Rule(ResourceType.TOPIC, AclOperation.READ))
    return found


def settings() -> dict[str, str]:
    """Settings of either broker: everybody logs in with PLAIN on the one listener, rules decide."""
    names = " ".join(f'user_{name}="{PASSWORD}"' for name in users())
    return {
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "listener.name.plaintext.plain.sasl.jaas.config": f'{_PLAIN_MODULE} required username="{SUPER_USER}" password="{PASSWORD}" '
        + f"{names};",
        "listener.name.plaintext.scram-sha-256.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
        "listener.name.plaintext.scram-sha-512.sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required;",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": f"User:{SUPER_USER};User:ANONYMOUS",
        "auto.create.topics.enable": "false",
    }


def log_in(bootstrap: str, user: str) -> Connection:
    """A connection on which `user` is authenticated."""
    connection = Connection(bootstrap, 20.0)
    assert connection.request(ApiKey.SASL_HANDSHAKE, 1, {"mechanism": "PLAIN"}).error_code == 0
    token = f"\0{user}\0{PASSWORD}".encode()
    assert connection.request(ApiKey.SASL_AUTHENTICATE, 1, {"auth_bytes": token}).error_code == 0
    return connection


def own(kind: ResourceType, user: str) -> str:
    """The name of a user's own resource."""
    return CLUSTER_NAME if kind is ResourceType.CLUSTER else f"{_LETTERS[kind]}-{user}"


def rules_of(user: str, rules: tuple[Rule, ...]) -> Iterator[dict[str, Any]]:
    """As entries of CreateAcls; a prefix is all of the own name but its last letter."""
    for rule in rules:
        name = rule.name or own(rule.resource, user)
        yield {
            "resource_type": rule.resource,
            "resource_name": name[:-1] if rule.pattern is PatternType.PREFIXED else name,
            "resource_pattern_type": rule.pattern,
            "principal": f"User:{user}",
            "host": "*",
            "operation": rule.operation,
            "permission_type": PermissionType.ALLOW if rule.allow else PermissionType.DENY,
        }


@dataclass(frozen=True)
class Request:
    """One request in one version; its fields may hold T, G, X and N for the user's own topic, group, transactional id, and a new topic."""

    key: ApiKey
    version: int
    fields: Mapping[str, Any]
    note: str = ""

    @property
    def name(self) -> str:
        return f"{self.key.schema_name}.v{self.version}{self.note and '.'}{self.note}"

    def of(self, user: str) -> Any:
        """The fields with the user's own names."""
        names = {"T": f"t-{user}", "G": f"g-{user}", "X": f"x-{user}", "N": f"n-{user}"}

        def filled(part: Any) -> Any:
            if isinstance(part, str):
                return names.get(part, part)
            if isinstance(part, dict):
                return {name: filled(value) for name, value in part.items()}
            return [filled(each) for each in part] if isinstance(part, list) else part

        return filled(dict(self.fields))


def _requests() -> Iterator[Request]:
    k = ApiKey
    record = batch()

    def produce(transactional_id: str | None, topic: str = "T") -> dict[str, Any]:
        data = {"name": topic, "partition_data": [{"index": 0, "records": record}]}
        return {"transactional_id": transactional_id, "acks": -1, "timeout_ms": 5000, "topic_data": [data]}

    for key_type, key in ((0, "G"), (1, "X")):
        yield Request(k.FIND_COORDINATOR, 3, {"key": key, "key_type": key_type}, "group" if key_type == 0 else "txn")
    yield Request(
        k.METADATA, 12, {"topics": [{"name": "T"}], "include_topic_authorized_operations": True, "allow_auto_topic_creation": False}
    )
    yield Request(k.METADATA, 8, {"topics": [{"name": "T"}], "include_cluster_authorized_operations": True}, "cluster")
    yield Request(k.METADATA, 1, {"topics": [{"name": "absent"}]}, "absent")
    yield Request(k.METADATA, 4, {"topics": [{"name": "N"}], "allow_auto_topic_creation": True}, "create")
    yield Request(k.DESCRIBE_CLUSTER, 2, {"include_cluster_authorized_operations": True})
    yield Request(k.DESCRIBE_TOPIC_PARTITIONS, 0, {"topics": [{"name": "T"}], "response_partition_limit": 10})
    yield Request(k.PRODUCE, 9, produce(None))
    yield Request(k.PRODUCE, 9, produce(None, "absent"), "absent")
    yield Request(
        k.FETCH,
        12,
        {"max_wait_ms": 0, "max_bytes": 1000, "topics": [{"topic": "T", "partitions": [{"partition": 0, "partition_max_bytes": 1000}]}]},
    )
    offsets = {"name": "T", "partitions": [{"partition_index": 0, "timestamp": -1}]}
    yield Request(k.LIST_OFFSETS, 7, {"replica_id": -1, "topics": [offsets]})
    yield Request(
        k.OFFSET_FOR_LEADER_EPOCH, 4, {"replica_id": -1, "topics": [{"topic": "T", "partitions": [{"partition": 0, "leader_epoch": 0}]}]}
    )
    committed = {"name": "T", "partitions": [{"partition_index": 0, "committed_offset": 0, "committed_metadata": ""}]}
    yield Request(k.OFFSET_COMMIT, 8, {"group_id": "G", "generation_id_or_member_epoch": -1, "topics": [committed]})
    wanted = {"name": "T", "partition_indexes": [0]}
    yield Request(k.OFFSET_FETCH, 1, {"group_id": "G", "topics": [wanted]})
    yield Request(k.OFFSET_FETCH, 7, {"group_id": "G", "topics": None}, "all")
    yield Request(k.OFFSET_FETCH, 8, {"groups": [{"group_id": "G", "topics": [wanted]}]})
    joined = {"group_id": "G", "session_timeout_ms": 10_000, "rebalance_timeout_ms": 1000, "protocol_type": "consumer"}
    yield Request(k.JOIN_GROUP, 5, {**joined, "protocols": [{"name": "range", "metadata": b""}]})
    yield Request(k.SYNC_GROUP, 4, {"group_id": "G", "generation_id": 1, "member_id": "m"})
    yield Request(k.HEARTBEAT, 4, {"group_id": "G", "generation_id": 1, "member_id": "m"})
    yield Request(k.LEAVE_GROUP, 5, {"group_id": "G", "members": [{"member_id": "m"}]})
    yield Request(k.CONSUMER_GROUP_HEARTBEAT, 1, {"group_id": "G", "member_id": "m", "member_epoch": -1})
    for topics in (None, ["T"]):
        heartbeat = {"group_id": "G", "member_id": str(uuid.UUID(int=1)), "member_epoch": 1, "subscribed_topic_names": topics}
        yield Request(k.CONSUMER_GROUP_HEARTBEAT, 0, heartbeat, "topics" if topics else "bare")
    yield Request(k.DESCRIBE_GROUPS, 5, {"groups": ["G"], "include_authorized_operations": True})
    yield Request(k.CONSUMER_GROUP_DESCRIBE, 0, {"group_ids": ["G"], "include_authorized_operations": True})
    yield Request(k.LIST_GROUPS, 4, {"states_filter": []})
    yield Request(k.INIT_PRODUCER_ID, 4, {"transactional_id": None, "transaction_timeout_ms": 1000}, "idempotent")
    yield Request(k.INIT_PRODUCER_ID, 4, {"transactional_id": "X", "transaction_timeout_ms": 1000})
    txn = {"transactional_id": "X", "producer_id": UNKNOWN_PRODUCER, "producer_epoch": 0}
    added = {
        "v3_and_below_transactional_id": "X",
        "v3_and_below_producer_id": UNKNOWN_PRODUCER,
        "v3_and_below_topics": [{"name": "T", "partitions": [0]}],
    }
    yield Request(k.ADD_PARTITIONS_TO_TXN, 3, added)
    batched = {**txn, "topics": [{"name": "T", "partitions": [0]}]}
    yield Request(k.ADD_PARTITIONS_TO_TXN, 4, {"transactions": [batched]}, "brokers")
    yield Request(k.ADD_OFFSETS_TO_TXN, 3, {**txn, "group_id": "G"})
    yield Request(k.TXN_OFFSET_COMMIT, 3, {**txn, "group_id": "G", "generation_id": -1, "topics": [committed]})
    yield Request(k.END_TXN, 3, {**txn, "committed": True})
    yield Request(k.PRODUCE, 9, produce("X"), "transactional")
    yield Request(k.WRITE_TXN_MARKERS, 1, {"markers": []})
    yield Request(k.DESCRIBE_TRANSACTIONS, 0, {"transactional_ids": ["X"]})
    yield Request(k.LIST_TRANSACTIONS, 0, {})
    yield Request(k.DESCRIBE_PRODUCERS, 0, {"topics": [{"name": "T", "partition_indexes": [0]}]})
    yield Request(k.DESCRIBE_ACLS, 1, {"resource_type_filter": 1, "pattern_type_filter": 1, "operation": 1, "permission_type": 1})
    rule = {"resource_type": 2, "resource_name": "unused", "principal": "User:unused", "host": "*", "operation": 3, "permission_type": 3}
    yield Request(k.CREATE_ACLS, 1, {"creations": [{**rule, "resource_pattern_type": 3}]})
    matching = {"resource_type_filter": 2, "resource_name_filter": "unused", "pattern_type_filter": 3, "operation": 1, "permission_type": 1}
    yield Request(k.DELETE_ACLS, 1, {"filters": [matching]})
    for kind, name in ((2, "T"), (4, "1"), (32, "G")):
        yield Request(k.DESCRIBE_CONFIGS, 4, {"resources": [{"resource_type": kind, "resource_name": name}]}, f"type{kind}")
    for kind, name, setting, value in ((2, "T", "retention.ms", "1000000"), (32, "G", "consumer.session.timeout.ms", "50000")):
        altered = {"resource_type": kind, "resource_name": name, "configs": [{"name": setting, "config_operation": 0, "value": value}]}
        yield Request(k.INCREMENTAL_ALTER_CONFIGS, 1, {"resources": [altered], "validate_only": True}, f"type{kind}")
    old = {"resource_type": 2, "resource_name": "T", "configs": [{"name": "retention.ms", "value": "1000000"}]}
    yield Request(k.ALTER_CONFIGS, 1, {"resources": [old], "validate_only": True})
    yield Request(k.INCREMENTAL_ALTER_CONFIGS, 1, {"resources": [{"resource_type": 4, "resource_name": "1", "configs": []}]}, "broker")
    yield Request(k.LIST_CONFIG_RESOURCES, 1, {"resource_types": []})
    yield Request(k.DESCRIBE_LOG_DIRS, 4, {"topics": [{"topic": "T", "partitions": [0]}]})
    yield Request(k.ALTER_REPLICA_LOG_DIRS, 2, {"dirs": [{"path": "/none", "topics": [{"name": "T", "partitions": [0]}]}]})
    yield Request(k.ELECT_LEADERS, 2, {"topic_partitions": [{"topic": "T", "partitions": [0]}], "timeout_ms": 5000})
    reassigned = {"topics": [{"name": "T", "partitions": [{"partition_index": 0, "replicas": None}]}], "timeout_ms": 5000}
    yield Request(k.ALTER_PARTITION_REASSIGNMENTS, 0, reassigned)
    yield Request(k.LIST_PARTITION_REASSIGNMENTS, 0, {"topics": None, "timeout_ms": 5000})
    yield Request(k.DESCRIBE_CLIENT_QUOTAS, 1, {"components": []})
    yield Request(k.ALTER_CLIENT_QUOTAS, 1, {"entries": [], "validate_only": True}, "none")
    quota = {"entity": [{"entity_type": "user", "entity_name": "u"}], "ops": [{"key": "producer_byte_rate", "value": 1.0}]}
    yield Request(k.ALTER_CLIENT_QUOTAS, 1, {"entries": [quota], "validate_only": True})
    yield Request(k.DESCRIBE_USER_SCRAM_CREDENTIALS, 0, {"users": [{"name": "unused"}]})
    yield Request(k.ALTER_USER_SCRAM_CREDENTIALS, 0, {"deletions": [{"name": "unused", "mechanism": 1}]})
    yield Request(k.DESCRIBE_QUORUM, 1, {"topics": [{"topic_name": "__cluster_metadata", "partitions": [{"partition_index": 0}]}]})
    yield Request(k.UPDATE_FEATURES, 1, {"timeout_ms": 5000, "feature_updates": [], "validate_only": True})
    yield Request(k.UNREGISTER_BROKER, 0, {"broker_id": 77})
    yield Request(k.CREATE_PARTITIONS, 3, {"topics": [{"name": "T", "count": 2}], "timeout_ms": 5000, "validate_only": True})
    created = {"name": "N", "num_partitions": 1, "replication_factor": 1}
    yield Request(k.CREATE_TOPICS, 7, {"topics": [created], "timeout_ms": 5000, "validate_only": True})
    yield Request(k.CREATE_TOPICS, 7, {"topics": [{**created, "name": "T"}], "timeout_ms": 5000}, "there")
    yield Request(k.CREATE_DELEGATION_TOKEN, 3, {"owner_principal_type": "User", "owner_principal_name": "nobody", "renewers": []})
    yield Request(k.DESCRIBE_DELEGATION_TOKEN, 3, {"owners": []})
    yield Request(k.OFFSET_DELETE, 0, {"group_id": "G", "topics": [{"name": "T", "partitions": [{"partition_index": 0}]}]})
    yield Request(k.DELETE_RECORDS, 2, {"topics": [{"name": "T", "partitions": [{"partition_index": 0, "offset": 0}]}], "timeout_ms": 5000})
    yield Request(k.DELETE_GROUPS, 2, {"groups_names": ["G"]})
    yield Request(k.DELETE_TOPICS, 5, {"topic_names": ["absent"], "timeout_ms": 5000}, "absent")
    yield Request(k.DELETE_TOPICS, 5, {"topic_names": ["T"], "timeout_ms": 5000})


REQUESTS = tuple(_requests())


def codes(answer: Any) -> str:
    """The error codes and authorized operations of an answer, in order: `error_code=0 topics.error_code=29`."""
    found: list[str] = []

    def walk(part: Any, path: str) -> None:
        if isinstance(part, list):
            for each in part:
                walk(each, path)
        elif isinstance(part, dict):
            for name in sorted(part):
                inner = f"{path}.{name}" if path else name
                if name.endswith(("error_code", "authorized_operations")):
                    found.append(f"{inner}={part[name]}")
                elif isinstance(part[name], (dict, list)):
                    walk(part[name], inner)

    walk(answer, "")
    return " ".join(found)


def prepare(bootstrap: str) -> None:
    """Topics, groups and rules of all users."""
    everybody = users()
    with log_in(bootstrap, SUPER_USER) as root:
        for kind in (0, 1):
            asked = {"key": "any", "key_type": kind}
            wait_until(lambda asked=asked: root.request(ApiKey.FIND_COORDINATOR, 3, asked).error_code == 0, 60, "a coordinator")
        for transactional_id in (None, "warm"):
            asked = {"transactional_id": transactional_id, "transaction_timeout_ms": 1000}
            wait_until(lambda asked=asked: root.request(ApiKey.INIT_PRODUCER_ID, 4, asked).error_code == 0, 60, "a producer id")
        topics = [{"name": f"t-{user}", "num_partitions": 1, "replication_factor": 1} for user in everybody]
        made = root.request(ApiKey.CREATE_TOPICS, 7, {"topics": topics, "timeout_ms": 30_000})
        assert {topic.error_code for topic in made.topics} == {0}
        creations = [entry for user, rules in everybody.items() for entry in rules_of(user, rules)]
        assert {result.error_code for result in root.request(ApiKey.CREATE_ACLS, 1, {"creations": creations}).results} == {0}
        for user in everybody:
            committed = {"name": f"t-{user}", "partitions": [{"partition_index": 0, "committed_offset": 0, "committed_metadata": ""}]}
            fields = {"group_id": f"g-{user}", "generation_id_or_member_epoch": -1, "topics": [committed]}

            def answered(fields: dict[str, Any] = fields) -> bool:
                return {p.error_code for t in root.request(ApiKey.OFFSET_COMMIT, 8, fields).topics for p in t.partitions} == {0}

            wait_until(answered, 60, "the first commit")

            def led(user: str = user) -> bool:
                asked = {"name": f"t-{user}", "partitions": [{"partition_index": 0, "timestamp": -1}]}
                answer = root.request(ApiKey.LIST_OFFSETS, 7, {"replica_id": -1, "topics": [asked]})
                return bool(answer.topics[0].partitions[0].error_code == 0)

            wait_until(led, 60, "the leader")


def sweep(bootstrap: str) -> dict[str, dict[str, str]]:
    """Request -> user -> codes of the answer, or "closed"."""
    found: dict[str, dict[str, str]] = {request.name: {} for request in REQUESTS}
    assert len(found) == len(REQUESTS), "two requests have one name"
    for user in users():
        connection = log_in(bootstrap, user)
        for request in REQUESTS:
            try:
                answer = connection.request(request.key, request.version, request.of(user))
                found[request.name][user] = codes(plain(answer))
            except AssertionError:  # the connection was closed instead
                found[request.name][user] = "closed"
                connection = log_in(bootstrap, user)
        connection.close()
    return found
