"""Which settings there are, by resource: what DescribeConfigs lists and the alter requests accept.

Topics: the 33 names of Apache Kafka 4.3.0 (`TopicConfig`), those of LogConfig and the ones below that have no effect on one node.
Brokers: every option of the settings classes, and what is accepted without effect.
Groups: `group_overrides.py`. Client metrics: `client_metrics.py`.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from enum import IntEnum
from functools import cache
from typing import Any

from oncelog.broker.settings.without_effect import accepted_options
from oncelog.protocol.config_def import BOOLEAN, INT, LIST, LONG, LONG_MAX, Option, config_class, option, options_of
from oncelog.storage.config import LogConfig


class ConfigResource(IntEnum):
    """Resource types of the config requests; not those of ACLs."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigSource(IntEnum):
    """Where a value comes from, as DescribeConfigs numbers it."""

    DYNAMIC_TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    DYNAMIC_BROKER_LOGGER = 6
    CLIENT_METRICS = 7
    GROUP = 8


def _not_tiered(enabled: bool) -> str | None:
    return "Tiered storage is disabled in the broker" if enabled else None


def _throttled(replicas: tuple[str, ...]) -> str | None:
    """`ThrottledReplicaListValidator`."""
    if replicas == ("*",) or all(re.fullmatch(r"([0-9]+:[0-9]+)?", replica) for replica in replicas):
        return None
    return "Must be '*' or a list of PARTITION:BROKER"


@config_class
class ReplicationAndTieringConfig:
    """Topic settings about other brokers and remote storage: kept and shown, without effect here."""

    remote_storage_enable: bool = option(
        "", BOOLEAN, False, "Accepted as false; there is no tiered storage.", topic="remote.storage.enable", validate=_not_tiered
    )
    remote_log_copy_disable: bool = option("", BOOLEAN, False, "Accepted; there is no tiered storage.", topic="remote.log.copy.disable")
    remote_log_delete_on_disable: bool = option(
        "", BOOLEAN, False, "Accepted; there is no tiered storage.", topic="remote.log.delete.on.disable"
    )
    local_retention_ms: int = option(
        "log.local.retention.ms",
        LONG,
        -2,
        "Accepted; there is no tiered storage (-2: as retention.ms).",
        topic="local.retention.ms",
        at_least=-2,
    )
    local_retention_bytes: int = option(
        "log.local.retention.bytes",
        LONG,
        -2,
        "Accepted; there is no tiered storage (-2: as retention.bytes).",
        topic="local.retention.bytes",
        at_least=-2,
    )
    leader_throttled: tuple[str, ...] = option(
        "",
        LIST,
        (),
        "Accepted; there is no replication to throttle.",
        topic="leader.replication.throttled.replicas",
        validate=_throttled,
        any_parts=True,
    )
    follower_throttled: tuple[str, ...] = option(
        "",
        LIST,
        (),
        "Accepted; there is no replication to throttle.",
        topic="follower.replication.throttled.replicas",
        validate=_throttled,
        any_parts=True,
    )


@config_class
class TimeUnitConfig:
    """Broker settings in coarser units: each counts where the one in milliseconds is not set."""

    retention_hours: int = option("log.retention.hours", INT, 168, "Hours to keep a log file; see log.retention.ms.")
    retention_minutes: int | None = option("log.retention.minutes", INT, None, "Minutes to keep a log file; see log.retention.ms.")
    roll_hours: int = option("log.roll.hours", INT, 168, "Hours before a new segment is rolled; see log.roll.ms.", at_least=1)
    roll_jitter_hours: int = option("log.roll.jitter.hours", INT, 0, "Hours of jitter; see log.roll.jitter.ms.", at_least=0)
    flush_scheduler_interval_ms: int = option(
        "log.flush.scheduler.interval.ms",
        LONG,
        LONG_MAX,
        "Milliseconds between looks for logs to flush; see log.flush.interval.ms.",
    )


# broker names that stand for one another, first one first (`DynamicBrokerConfig.brokerConfigSynonyms`)
SYNONYMS = {
    "log.roll.ms": ("log.roll.ms", "log.roll.hours"),
    "log.roll.jitter.ms": ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    "log.retention.ms": ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
    "log.flush.interval.ms": ("log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
}
_UNIT_MS = {"minutes": 60_000, "hours": 3_600_000}


@config_class
class FormerNameConfig:
    """Settings under a name that `aliases` would hide from DescribeConfigs."""

    broker_id: int = option("broker.id", INT, -1, "The node id of this broker; node.id is its newer name.")
    log_dir: tuple[str, ...] = option(
        "log.dir", LIST, ("/tmp/kafka-logs",), "The data directory where log.dirs is not given.", not_empty=True
    )


_UNIT_OPTIONS = {declared.kafka_name: declared for declared in options_of(TimeUnitConfig).values()}

# rates of replication that are set at run time alone and listed where they are set (`QuotaConfig`)
THROTTLES = {
    name: Option(
        "",
        name,
        LONG,
        LONG_MAX,
        "Accepted; there is no replication to throttle.",
        validate=lambda rate: None if rate >= 0 else "Value must be at least 0",
        dynamic=True,
    )
    for name in (
        "leader.replication.throttled.rate",
        "follower.replication.throttled.rate",
        "replica.alter.log.dirs.io.max.bytes.per.second",
    )
}
# broker settings without a topic level name that Kafka alters at run time, and what is not one of them
_FIXED = "ssl.principal.mapping.rules"
_ALSO_DYNAMIC = (*(f"group.{kind}.assignment.interval.ms" for kind in ("consumer", "share", "streams")), "ssl.")
# where the file names none, Kafka has none: a setting in milliseconds where a coarser one has it, and what every file must name
_NO_DEFAULT = (*SYNONYMS, "node.id", "log.dirs", "advertised.listeners")


def is_kafkas(declared: Option) -> bool:
    """Whether Apache Kafka shows the topic setting; what is ours or internal shows only where it is set."""
    return not declared.ours and not (declared.topic_name or "").startswith("internal.")


def in_milliseconds(name: str, text: str) -> str:
    """The value of setting `name` in the unit of the first of its synonyms. Raises KafkaError(INVALID_CONFIG)."""
    factor = _UNIT_MS.get(name.rpartition(".")[2])
    return text if factor is None else str(_UNIT_OPTIONS[name].parse(text) * factor)


def with_coarse_units(values: Mapping[str, str]) -> dict[str, str]:
    """`values` in which every setting in milliseconds that is given in a coarser unit is there, so that LogConfig can be parsed of it."""
    found = dict(values)
    for name, names in SYNONYMS.items():
        given = next((each for each in names if each in values), None)
        if given is not None:
            found[name] = in_milliseconds(given, values[given])
    return found


def topic_options() -> dict[str, Option]:
    """Topic level name -> option; `kafka_name` is the broker's setting it falls back to ("" if there is none)."""
    found: dict[str, Option] = {}
    for cls in (ReplicationAndTieringConfig, LogConfig):
        found.update({o.topic_name: o for o in options_of(cls).values() if o.topic_name is not None})
    return found


def broker_options(classes: Iterable[Any]) -> dict[str, Option]:
    """Broker level name -> option. What has a topic level name can be altered while the broker runs (`DynamicLogConfig`)."""
    return dict(_broker_options(tuple(classes)))


@cache
def _broker_options(classes: tuple[Any, ...]) -> dict[str, Option]:
    found: dict[str, Option] = dict(accepted_options())
    for cls in (ReplicationAndTieringConfig, TimeUnitConfig, FormerNameConfig, *classes):
        for declared in options_of(cls).values():
            if not declared.kafka_name or declared.kafka_name.startswith("internal."):
                continue
            default = None if declared.kafka_name in _NO_DEFAULT else declared.default
            dynamic = declared.dynamic or declared.topic_name is not None or declared.kafka_name.startswith(_ALSO_DYNAMIC)
            found[declared.kafka_name] = dataclasses.replace(declared, dynamic=dynamic and declared.kafka_name != _FIXED, default=default)
    return found
