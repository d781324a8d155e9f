"""Access control entries: resource patterns, entries and filters, with Kafka's numbers (`org.apache.kafka.common.acl`, `…resource`)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

WILDCARD = "*"
WILDCARD_PRINCIPAL = "User:*"
CLUSTER_NAME = "kafka-cluster"


class ResourceType(IntEnum):
    """What an entry protects. ANY only in filters."""

    UNKNOWN = 0
    ANY = 1
    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


class PatternType(IntEnum):
    """How the name of a resource pattern is read. ANY and MATCH only in filters; LITERAL `*` stands for every name."""

    UNKNOWN = 0
    ANY = 1
    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class AclOperation(IntEnum):
    """What is allowed or denied. ANY only in filters; ALL stands for every operation."""

    UNKNOWN = 0
    ANY = 1
    ALL = 2
    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


class PermissionType(IntEnum):
    """ANY only in filters."""

    UNKNOWN = 0
    ANY = 1
    DENY = 2
    ALLOW = 3


_OF_TOPIC = frozenset(
    {
        AclOperation.READ,
        AclOperation.WRITE,
        AclOperation.CREATE,
        AclOperation.DESCRIBE,
        AclOperation.DELETE,
        AclOperation.ALTER,
        AclOperation.DESCRIBE_CONFIGS,
        AclOperation.ALTER_CONFIGS,
    }
)
_OF_GROUP = frozenset(
    {AclOperation.READ, AclOperation.DESCRIBE, AclOperation.DELETE, AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS}
)
_OF_CLUSTER = frozenset(
    {
        AclOperation.CREATE,
        AclOperation.ALTER,
        AclOperation.DESCRIBE,
        AclOperation.CLUSTER_ACTION,
        AclOperation.DESCRIBE_CONFIGS,
        AclOperation.ALTER_CONFIGS,
        AclOperation.IDEMPOTENT_WRITE,
    }
)
# Kafka's AclEntry.supportedOperations; the sums of 1 << operation are 3576 for a topic and 8096 for the cluster
SUPPORTED_OPERATIONS: dict[ResourceType, frozenset[AclOperation]] = {
    ResourceType.TOPIC: _OF_TOPIC,
    ResourceType.GROUP: _OF_GROUP,
    ResourceType.CLUSTER: _OF_CLUSTER,
    ResourceType.TRANSACTIONAL_ID: frozenset({AclOperation.DESCRIBE, AclOperation.WRITE, AclOperation.TWO_PHASE_COMMIT}),
    ResourceType.DELEGATION_TOKEN: frozenset({AclOperation.DESCRIBE}),
    ResourceType.USER: frozenset({AclOperation.CREATE_TOKENS, AclOperation.DESCRIBE_TOKENS}),
}

# an ALLOW for one of these allows the key too; a DENY implies nothing (StandardAuthorizerData)
IMPLIED_BY: dict[AclOperation, frozenset[AclOperation]] = {
    AclOperation.DESCRIBE: frozenset({AclOperation.READ, AclOperation.WRITE, AclOperation.DELETE, AclOperation.ALTER}),
    AclOperation.DESCRIBE_CONFIGS: frozenset({AclOperation.ALTER_CONFIGS}),
}


class ResourcePattern(NamedTuple):
    """The resources an entry is about."""

    resource_type: ResourceType
    name: str
    pattern_type: PatternType

    def covers(self, name: str) -> bool:
        """Whether a resource of this type called `name` is meant."""
        if self.pattern_type is PatternType.PREFIXED:
            return name.startswith(self.name)
        return self.name in (name, WILDCARD)


class AclEntry(NamedTuple):
    """One rule: `principal` ("User:alice", "User:*") from `host` (an address, "*") may or may not do `operation` on `pattern`."""

    pattern: ResourcePattern
    principal: str
    host: str
    operation: AclOperation
    permission: PermissionType

    def is_for(self, principal: str, host: str) -> bool:
        """Whether the rule speaks of a request of `principal` from `host`."""
        return self.principal in (principal, WILDCARD_PRINCIPAL) and self.host in (host, WILDCARD)

    def names(self, operation: AclOperation) -> bool:
        """Whether the rule names `operation` (or ALL)."""
        return self.operation in (operation, AclOperation.ALL)

    def implies(self, operation: AclOperation) -> bool:
        """Whether an allowing rule grants `operation`, also by implication."""
        return self.names(operation) or self.operation in IMPLIED_BY.get(operation, ())


@dataclass(frozen=True, slots=True)
class AclFilter:
    """Which entries DescribeAcls and DeleteAcls mean; None and ANY match everything."""

    resource_type: ResourceType = ResourceType.ANY
    name: str | None = None
    pattern_type: PatternType = PatternType.ANY
    principal: str | None = None
    host: str | None = None
    operation: AclOperation = AclOperation.ANY
    permission: PermissionType = PermissionType.ANY

    def matches(self, entry: AclEntry) -> bool:
        """Whether `entry` is meant (`AclBindingFilter.matches`)."""
        return (
            self.resource_type in (ResourceType.ANY, entry.pattern.resource_type)
            and self._means(entry.pattern)
            and self.principal in (None, entry.principal)
            and self.host in (None, entry.host)
            and self.operation in (AclOperation.ANY, entry.operation)
            and self.permission in (PermissionType.ANY, entry.permission)
        )

    def has_unknown(self) -> bool:
        """Whether a part carries a number that Kafka does not know either."""
        return 0 in (self.resource_type, self.pattern_type, self.operation, self.permission)

    def _means(self, pattern: ResourcePattern) -> bool:
        match self.pattern_type:
            case PatternType.ANY:
                return self.name in (None, pattern.name)
            case PatternType.MATCH:
                # every pattern that would decide about a resource of that name
                return self.name is None or pattern.covers(self.name)
            case _:
                return pattern.pattern_type is self.pattern_type and self.name in (None, pattern.name)
