"""What this broker serves beside what Apache Kafka serves: the rows of the README's API table and of its settings table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from oncelog.broker.net.dispatch import Api, ApiRegistry
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.config_def import options_of

REFERENCE = "4.3.0"
# what cannot be read off the versions
NOTES = {
    ApiKey.PRODUCE: "v0-2 advertised as Kafka does (KAFKA-18659), not served",
    ApiKey.ALTER_REPLICA_LOG_DIRS: "one log directory",
    ApiKey.CREATE_DELEGATION_TOKEN: "refused: tokens are not served",
    ApiKey.RENEW_DELEGATION_TOKEN: "refused",
    ApiKey.EXPIRE_DELEGATION_TOKEN: "refused",
    ApiKey.DESCRIBE_DELEGATION_TOKEN: "refused",
    ApiKey.ELECT_LEADERS: "one replica: nothing to elect",
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: "to this broker only",
    ApiKey.LIST_PARTITION_REASSIGNMENTS: "always none",
    ApiKey.DESCRIBE_CLIENT_QUOTAS: "kept, not enforced",
    ApiKey.ALTER_CLIENT_QUOTAS: "kept, not enforced",
    ApiKey.DESCRIBE_QUORUM: "one voter",
    ApiKey.UNREGISTER_BROKER: "always refused",
    ApiKey.ADD_RAFT_VOTER: "refused while kraft.version is 0, as Kafka does",
    ApiKey.REMOVE_RAFT_VOTER: "refused while kraft.version is 0, as Kafka does",
}


class ApiRow(NamedTuple):
    """One API: our versions and Kafka's as text, "" where there is none."""

    key: int
    name: str
    ours: str
    kafkas: str
    note: str


class SettingRow(NamedTuple):
    """One setting."""

    name: str
    type: str
    default: str
    when: str
    doc: str


def api_rows(reference: Mapping[int, tuple[str, int, int]]) -> list[ApiRow]:
    """A row for every API that we or Kafka serve. `reference`: key -> (name, lowest, highest) of Apache Kafka."""
    declared = {one.key: one for one in ApiRegistry().declared()}
    rows: list[ApiRow] = []
    for key in sorted({*declared, *reference}):
        ours = declared.get(ApiKey(key))
        name, lowest, highest = reference.get(key, (ApiKey(key).schema_name, None, None))
        kafkas = "" if lowest is None else _range(lowest, highest)
        rows.append(ApiRow(key, name, _range(ours.min_version, ours.max_version) if ours else "", kafkas, _note(ours, key in reference)))
    return rows


def setting_rows(classes: Iterable[Any]) -> list[SettingRow]:
    """A row for every option, by name."""
    rows: dict[str, SettingRow] = {}
    for cls in classes:
        for declared in options_of(cls).values():
            if not declared.kafka_name or declared.kafka_name.startswith("internal."):
                continue
            name = declared.kafka_name
            if declared.topic_name not in (None, name):
                name = f"{name} (topic: {declared.topic_name})"
            when = "any time" if declared.dynamic or declared.topic_name else "start"
            doc = f"{'oncelog only. ' if declared.ours else ''}{declared.doc}"
            rows[declared.kafka_name] = SettingRow(name, declared.type.name.lower(), declared.format(declared.default) or "", when, doc)
    return [rows[name] for name in sorted(rows)]


def read_reference(path: Path) -> dict[int, tuple[str, int, int]]:
    """key -> (name, lowest, highest) of a recorded ApiVersions answer. Raises OSError."""
    recorded = json.loads(path.read_text())[REFERENCE]["v0"]["api_keys"]
    return {entry["api_key"]: (entry["name"], entry["min_version"], entry["max_version"]) for entry in recorded}


def _range(lowest: int, highest: int | None) -> str:
    return str(lowest) if lowest == highest else f"{lowest}-{highest}"


def _note(ours: Api | None, kafka_has_it: bool) -> str:
    if ours is None:
        return "not served"
    notes = [NOTES[ours.key]] if ours.key in NOTES else []
    if ours.unstable_max is not None:
        notes.append(f"v{ours.unstable_max} with unstable.api.versions.enable")
    if ours.hidden:
        notes.append("answered, not advertised" + ("" if kafka_has_it else ", as Kafka does"))
    return "; ".join(notes)
