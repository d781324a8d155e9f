"""Client quotas: kept durably and shown to tools, not enforced.

An entity is one of the combinations Kafka knows: user, client-id, user + client-id, or ip; a name None is the default of its type.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from oncelog.broker.answers import Ended
from oncelog.protocol.errors import ErrorCode, KafkaError

SECTION = "client_quotas"
EXACT, DEFAULT, SPECIFIED = 0, 1, 2
USER, CLIENT_ID, IP = "user", "client-id", "ip"
_OF_CLIENTS = {"producer_byte_rate": int, "consumer_byte_rate": int, "request_percentage": float, "controller_mutation_rate": float}
_OF_ADDRESSES = {"connection_creation_rate": int}

Entity = tuple[tuple[str, str | None], ...]


class Component(NamedTuple):
    """One condition of DescribeClientQuotas: the entity's part of that type is `match` (EXACT), the default, or there at all."""

    entity_type: str
    match_type: int
    match: str | None


_ADDRESS = re.compile(r"[0-9A-Fa-f:.%]+|[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?")  # names are not looked up


class Store(Protocol):
    """What is needed of `MetadataStore`."""

    def section(self, name: str) -> dict[str, Any]: ...

    def wanted(self, section: str, key: str) -> Any | None: ...

    def begin_update(self, section: str, changes: Mapping[str, Any | None], done: Ended) -> None: ...


class ClientQuotas:
    """Quotas by entity, in the metadata store section "client_quotas"."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def begin_alter(
        self, entity: Sequence[tuple[str, str | None]], changes: Mapping[str, float | None], done: Ended, *, validate_only: bool = False
    ) -> None:
        """Set quotas; None removes one; `done` once that is on disk. Raises KafkaError(INVALID_REQUEST) as `ClientQuotaControlManager`."""
        known = _keys_of(entity)
        for key, value in changes.items():
            if key not in known:
                raise _invalid(f"Invalid configuration key {key}")
            if value is not None:
                _check_value(key, value, known[key])
        if validate_only:
            done(None)
            return
        key = json.dumps(sorted(dict(entity).items()))
        values = {**(self._store.wanted(SECTION, key) or {}), **changes}
        left = {name: value for name, value in values.items() if value is not None}
        self._store.begin_update(SECTION, {key: left or None}, done)

    def describe(self, wanted: Sequence[Component], strict: bool) -> list[tuple[Entity, dict[str, float]]]:
        """(entity, quotas) of each entity that meets every condition. Raises KafkaError 42 or 35."""
        _check_components(wanted)
        types = {component.entity_type for component in wanted}
        found: list[tuple[Entity, dict[str, float]]] = []
        for key, values in self._store.section(SECTION).items():
            entity: dict[str, str | None] = dict(json.loads(key))
            if all(_meets(component, entity) for component in wanted) and (not strict or entity.keys() == types):
                found.append((tuple(entity.items()), dict(values)))
        return found


def _keys_of(entity: Sequence[tuple[str, str | None]]) -> Mapping[str, type]:
    if not entity:
        raise _invalid("Invalid empty client quota entity")
    types = [kind for kind, _ in entity]
    for kind, name in entity:
        if kind not in (USER, CLIENT_ID, IP):
            raise _invalid(f"Unhandled client quota entity type: {kind}")
        if name == "":
            raise _invalid(f"Empty {kind} not supported")
        if kind == IP and name is not None and not _ADDRESS.fullmatch(name):
            raise _invalid(f"{name} is not a valid IP or resolvable host.")
    if IP in types and len(types) > 1:
        raise _invalid("Invalid quota entity combination, IP entity should not be combined with User or ClientId")
    return _OF_ADDRESSES if IP in types else _OF_CLIENTS


def _check_value(key: str, value: float, kind: type) -> None:
    if value <= 0:
        raise _invalid(f"Quota {key} must be greater than 0")
    # byte rates are whole numbers; Kafka takes what is within a rounding error of one
    if kind is int and abs(value - round(value)) > 1e-6:
        raise _invalid(f"{key} cannot be a fractional value.")


def _check_components(wanted: Sequence[Component]) -> None:
    types = [component.entity_type for component in wanted]
    for component in wanted:
        if not component.entity_type:
            raise _invalid("Invalid empty entity type.")
        if component.entity_type not in (USER, CLIENT_ID, IP):
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"Unsupported entity type {component.entity_type}")
        if types.count(component.entity_type) > 1:
            raise _invalid(f"Entity type {component.entity_type} cannot appear more than once in the filter.")
        if component.match_type not in (EXACT, DEFAULT, SPECIFIED):
            raise _invalid(f"Unknown match type {component.match_type}")
        if (component.match_type == EXACT) == (component.match is None):
            raise _invalid("Request specified MATCH_TYPE_EXACT without a match, or a match without MATCH_TYPE_EXACT")
    if IP in types and len(types) > 1:
        raise _invalid("Invalid entity filter component combination, IP filter component should not be used with user or clientId")


def _meets(component: Component, entity: Mapping[str, str | None]) -> bool:
    if component.entity_type not in entity:
        return False
    name = entity[component.entity_type]
    match component.match_type:
        case 0:
            return name == component.match
        case 1:
            return name is None
        case _:
            return True


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)
