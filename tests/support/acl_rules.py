"""Short names for access rules, and an authorizer with some."""

from __future__ import annotations

from oncelog.broker.auth.acls import AclEntry, AclOperation, PatternType, PermissionType, ResourcePattern, ResourceType
from oncelog.broker.auth.authorizer import Authorizer

from support.memory_store import MemoryStore, written

ALICE, BOB, HERE = "User:alice", "User:bob", "10.0.0.1"
READ, WRITE, DESCRIBE, ALL = AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE, AclOperation.ALL
ALLOW, DENY = PermissionType.ALLOW, PermissionType.DENY
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED


def entry(
    name: str = "orders",
    operation: AclOperation = READ,
    permission: PermissionType = ALLOW,
    *,
    pattern: PatternType = LITERAL,
    principal: str = ALICE,
    host: str = "*",
    kind: ResourceType = ResourceType.TOPIC,
) -> AclEntry:
    return AclEntry(ResourcePattern(kind, name, pattern), principal, host, operation, permission)


def authorizer(*entries: AclEntry, super_users: tuple[str, ...] = (), open_to_all: bool = False) -> Authorizer:
    made = Authorizer(MemoryStore(), super_users, allow_everyone_if_no_acl_found=open_to_all)
    made.begin_create(made.new(entries), written)
    return made
