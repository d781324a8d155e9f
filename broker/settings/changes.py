"""SET, DELETE, APPEND and SUBTRACT on the settings of one resource, and the checks of names and values (`ConfigAdminManager`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from oncelog.broker.settings.catalogue import ConfigResource
from oncelog.protocol.config_def import ConfigType, Option
from oncelog.protocol.errors import ErrorCode, KafkaError

SET, DELETE, APPEND, SUBTRACT = range(4)
_OPERATION_NAMES = ("SET", "DELETE", "APPEND", "SUBTRACT")


class Change(NamedTuple):
    """One operation on one setting; `value` None only where DELETE is asked for."""

    name: str
    operation: int
    value: str | None


def check_keys(changes: list[Change]) -> None:
    """Raises KafkaError(INVALID_REQUEST) for what no resource may ask: a name twice, a null value."""
    names = [change.name for change in changes]
    if len(set(names)) < len(names):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    missing = [change.name for change in changes if change.value is None and change.operation != DELETE]
    if missing:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {','.join(missing)}")


def check_operations(kind: int, changes: list[Change]) -> None:
    """Raises KafkaError for an unknown kind of resource (42) and an unknown operation: 42 of a broker, -1 of all else."""
    if kind not in set(ConfigResource):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown resource type {kind}")
    for change in changes:
        if change.operation not in (SET, DELETE, APPEND, SUBTRACT):
            if kind == ConfigResource.BROKER:
                raise KafkaError(ErrorCode.INVALID_REQUEST, f"Unknown operations type {change.operation}")
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)


def apply_changes(
    own: Mapping[str, str], changes: list[Change], options: Mapping[str, Option], fallback: Callable[[str], str]
) -> dict[str, str]:
    """`own` after the changes. `fallback(name)` is what a list starts from when it is not set. Raises KafkaError(INVALID_CONFIG)."""
    after = dict(own)
    for name, operation, value in changes:
        if operation == DELETE:
            after.pop(name, None)
        elif operation == SET:
            after[name] = value or ""
        else:
            declared = options.get(name)
            if declared is None or declared.type is not ConfigType.LIST:
                raise KafkaError(
                    ErrorCode.INVALID_CONFIG, f"Can't {_OPERATION_NAMES[operation]} to key {name} because its type is not LIST."
                )
            after[name] = _altered_list(_parts(after.get(name, fallback(name))), _parts(value or ""), operation)
    return after


def check_values(values: Mapping[str, str], options: Mapping[str, Option], kind: str) -> None:
    """Raises KafkaError(INVALID_CONFIG) for a name that the kind of resource does not have, or a value it does not take."""
    for name, text in values.items():
        if name not in options:
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"Unknown {kind} config name: {name}")
        options[name].parse(text)


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _altered_list(present: list[str], given: list[str], operation: int) -> str:
    if operation == APPEND:
        return ",".join([*present, *(part for part in given if part not in present)])
    return ",".join(part for part in present if part not in given)
