"""Who may do what: Kafka's `StandardAuthorizer` over a durable list of entries.

The decision for (principal, host, operation, resource), in this order:

    super user                                   allowed
    a DENY entry that names the operation or ALL denied
    an ALLOW entry that names or implies it      allowed
    no entry at all about the resource           `allow.everyone.if.no.acl.found`
    else                                         denied

Literal, prefixed and wildcard patterns count alike; deny wins over allow whatever the order they were added in.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from oncelog.broker.answers import Ended
from oncelog.broker.auth.acls import (
    WILDCARD,
    AclEntry,
    AclFilter,
    AclOperation,
    PatternType,
    PermissionType,
    ResourcePattern,
    ResourceType,
)
from oncelog.protocol.errors import KafkaError

SECTION = "acls"
# decisions remembered until an entry changes; a guard against unbounded memory, not a tuning knob
_REMEMBERED_MAX = 20_000
_ANY_NAME = "hardcode"


class Store(Protocol):
    """What rules and credentials need of `MetadataStore`."""

    def section(self, name: str) -> dict[str, Any]: ...

    def get(self, section: str, key: str) -> Any | None: ...

    def wanted(self, section: str, key: str) -> Any | None: ...

    def begin_update(self, section: str, changes: Mapping[str, Any | None], done: Ended) -> None: ...


class Authorizer:
    """Entries, kept in the metadata store section "acls", and decisions over them.

    `super_users` are principals ("User:admin") to whom everything is allowed.
    """

    def __init__(self, store: Store, super_users: Iterable[str] = (), *, allow_everyone_if_no_acl_found: bool = False) -> None:
        self._store = store
        self._super_users = frozenset(super_users)
        self._allow_if_none = allow_everyone_if_no_acl_found
        self._entries: dict[str, AclEntry] = {key: _entry_of(value) for key, value in store.section(SECTION).items()}
        self._literal: dict[tuple[ResourceType, str], list[AclEntry]] = defaultdict(list)
        self._prefixed: dict[ResourceType, list[AclEntry]] = defaultdict(list)
        self._decisions: dict[tuple[str, str, int, int, str], bool] = {}
        self._index()

    def authorize(self, principal: str, host: str, operation: AclOperation, resource_type: ResourceType, name: str) -> bool:
        """Whether `principal` ("User:alice") at `host` (an address) may do `operation` on the resource."""
        asked = (principal, host, operation, resource_type, name)
        decision = self._decisions.get(asked)
        if decision is None:
            decision = principal in self._super_users or self._decide(principal, host, operation, resource_type, name)
            if len(self._decisions) >= _REMEMBERED_MAX:
                self._decisions.clear()
            self._decisions[asked] = decision
        return decision

    def authorize_any(self, principal: str, host: str, operation: AclOperation, resource_type: ResourceType) -> bool:
        """Whether some resource of the type exists on which `operation` is allowed (`Authorizer.authorizeByResourceType`).

        An idempotent producer may take a producer id when it may write to any topic at all.
        """
        if self.authorize(principal, host, operation, resource_type, _ANY_NAME):
            return True
        meant = [e for e in self._entries.values() if e.pattern.resource_type is resource_type and e.is_for(principal, host)]
        denied = [e.pattern for e in meant if e.permission is PermissionType.DENY and e.names(operation)]
        allowed = [e.pattern for e in meant if e.permission is PermissionType.ALLOW and e.names(operation)]
        return any(not any(_dominates(deny, allow) for deny in denied) for allow in allowed)

    @property
    def count(self) -> int:
        """How many entries there are."""
        return len(self._entries)

    def new(self, entries: Iterable[AclEntry]) -> dict[str, AclEntry]:
        """Those that are not there yet, each once, as `begin_create` takes them."""
        found = {key_of(entry): entry for entry in entries}
        return {key: entry for key, entry in found.items() if key not in self._entries}

    def begin_create(self, new: Mapping[str, AclEntry], done: Ended) -> None:
        """Add them; `done` once they are on disk and count."""

        def ended(error: KafkaError | None) -> None:
            if error is None:
                for key, entry in new.items():
                    if key not in self._entries:
                        self._entries[key] = entry
                        self._add(entry)
                self._decisions.clear()
            done(error)

        self._store.begin_update(SECTION, {key: _value_of(entry) for key, entry in new.items()}, ended)

    def matching(self, wanted: AclFilter) -> dict[str, AclEntry]:
        """The entries that `wanted` matches, as `begin_delete` takes them."""
        return {key: entry for key, entry in self._entries.items() if wanted.matches(entry)}

    def begin_delete(self, gone: Iterable[str], done: Ended) -> None:
        """Remove entries by their keys; `done` once that is on disk and they do not count any more."""
        keys = list(gone)

        def ended(error: KafkaError | None) -> None:
            if error is None:
                for key in keys:
                    self._entries.pop(key, None)
                self._index()
            done(error)

        self._store.begin_update(SECTION, dict.fromkeys(keys), ended)

    def describe(self, wanted: AclFilter) -> list[AclEntry]:
        """The entries that `wanted` matches."""
        return [entry for entry in self._entries.values() if wanted.matches(entry)]

    def _decide(self, principal: str, host: str, operation: AclOperation, resource_type: ResourceType, name: str) -> bool:
        about_resource = allowed = False
        for entry in self._about(resource_type, name):
            about_resource = True
            if not entry.is_for(principal, host):
                continue
            if entry.permission is PermissionType.DENY:
                if entry.names(operation):
                    return False
            elif entry.implies(operation):
                allowed = True
        return allowed or (not about_resource and self._allow_if_none)

    def _about(self, resource_type: ResourceType, name: str) -> Iterator[AclEntry]:
        yield from self._literal.get((resource_type, name), ())
        if name != WILDCARD:
            yield from self._literal.get((resource_type, WILDCARD), ())
        for entry in self._prefixed.get(resource_type, ()):
            if entry.pattern.covers(name):
                yield entry

    def _index(self) -> None:
        self._literal.clear()
        self._prefixed.clear()
        self._decisions.clear()
        for entry in self._entries.values():
            self._add(entry)

    def _add(self, entry: AclEntry) -> None:
        pattern = entry.pattern
        if pattern.pattern_type is PatternType.PREFIXED:
            self._prefixed[pattern.resource_type].append(entry)
        else:
            self._literal[pattern.resource_type, pattern.name].append(entry)


def parse_super_users(text: str) -> frozenset[str]:
    """`super.users`: principals separated by semicolons, because a name of TLS holds commas."""
    return frozenset(part.strip() for part in text.split(";") if part.strip())


def _dominates(deny: ResourcePattern, allow: ResourcePattern) -> bool:
    """Whether `deny` covers every resource that `allow` covers."""
    if deny.pattern_type is PatternType.PREFIXED:
        return allow.name != WILDCARD and allow.name.startswith(deny.name)
    return deny.name == WILDCARD or (allow.pattern_type is PatternType.LITERAL and deny.name == allow.name)


def key_of(entry: AclEntry) -> str:
    pattern = entry.pattern
    numbers = f"{pattern.resource_type:d}:{pattern.pattern_type:d}:{entry.operation:d}:{entry.permission:d}"
    return "\x1f".join((numbers, pattern.name, entry.principal, entry.host))


def _value_of(entry: AclEntry) -> dict[str, str]:
    return {
        "resource_type": entry.pattern.resource_type.name,
        "resource_name": entry.pattern.name,
        "pattern_type": entry.pattern.pattern_type.name,
        "principal": entry.principal,
        "host": entry.host,
        "operation": entry.operation.name,
        "permission": entry.permission.name,
    }


def _entry_of(value: dict[str, str]) -> AclEntry:
    pattern = ResourcePattern(ResourceType[value["resource_type"]], value["resource_name"], PatternType[value["pattern_type"]])
    return AclEntry(pattern, value["principal"], value["host"], AclOperation[value["operation"]], PermissionType[value["permission"]])


__all__ = ["AclOperation", "Authorizer", "PatternType", "PermissionType", "ResourceType", "Store", "parse_super_users"]
