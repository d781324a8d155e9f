"""The broker's settings: one namespace of Kafka's names over all rooms, from defaults, file, environment and command line.

Later wins: defaults < `server.properties` < environment (`KAFKA_` prefix; `_` is `.`, `__` is `_`, `___` is `-`) < `--override`.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oncelog.broker.auth.settings import AuthConfig
from oncelog.broker.settings.checks import check_together
from oncelog.broker.settings.environment import settings_in
from oncelog.broker.settings.listeners import ListenerConfig, advertised_endpoints, bound_listeners
from oncelog.broker.settings.without_effect import KNOWN_UNUSED, accepted_options
from oncelog.coordinator.groups.config import GroupConfig
from oncelog.coordinator.txn.config import TxnConfig
from oncelog.protocol.config_def import BOOLEAN, INT, LIST, LONG, STRING, Option, option, options_of, parse_settings, settings
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.storage.config import LogConfig

_log = logging.getLogger(__name__)


@settings
class ServerConfig:
    """What belongs to the server itself: identity, listeners, limits, topics."""

    node_id: int = option("node.id", INT, 1, "The node id of this broker.", at_least=0, aliases=("broker.id",))
    listeners: tuple[str, ...] = option(
        "listeners", LIST, ("PLAINTEXT://127.0.0.1:9092",), "Where to listen: NAME://host:port, separated by commas."
    )
    advertised_listeners: tuple[str, ...] = option(
        "advertised.listeners",
        LIST,
        (),
        "What clients are told to dial: of `listeners`; one that is not named, an empty host and port 0 tell what was dialled.",
    )
    listener_security_protocol_map: tuple[str, ...] = option(
        "listener.security.protocol.map",
        LIST,
        ("PLAINTEXT:PLAINTEXT", "SSL:SSL", "SASL_PLAINTEXT:SASL_PLAINTEXT", "SASL_SSL:SASL_SSL"),
        "Security protocol by listener name.",
    )
    controller_listener_names: tuple[str, ...] = option(
        "controller.listener.names", LIST, ("CONTROLLER",), "Listeners that are not bound here: there is no separate controller."
    )
    log_dirs: tuple[str, ...] = option("log.dirs", LIST, (), "The data directory, exactly one; --data-dir wins.", aliases=("log.dir",))
    max_frame_bytes: int = option("socket.request.max.bytes", INT, 104_857_600, "The largest request, in bytes.", at_least=1)
    queued_max_request_bytes: int = option(
        "queued.max.request.bytes",
        LONG,
        -1,
        "The most bytes in memory of requests that arrive or wait, of all connections; -1: as many as the largest request.",
    )
    queued_max_answer_bytes: int = option(
        "oncelog.queued.max.answer.bytes",
        LONG,
        64 << 20,
        "The most bytes in memory of answers that clients do not read, of all connections; above it the longest unread one is closed.",
        at_least=1,
        ours=True,
    )
    connections_max_idle_ms: int = option("connections.max.idle.ms", LONG, 600_000, "Idle connections are closed after this many ms.")
    max_connections: int = option("max.connections", INT, 2**31 - 1, "The most connections at a time.", at_least=0)
    max_connections_per_ip: int = option(
        "max.connections.per.ip", INT, 2**31 - 1, "The most connections at a time from one address; more are closed.", at_least=0
    )
    max_connections_per_ip_overrides: str = option(
        "max.connections.per.ip.overrides", STRING, "", "The same for some addresses or host names: `host1:100,127.0.0.1:200`."
    )
    auto_create_topics: bool = option("auto.create.topics.enable", BOOLEAN, True, "Make a topic when a client asks for its metadata.")
    delete_topics: bool = option("delete.topic.enable", BOOLEAN, True, "Allow topics to be deleted.")
    num_partitions: int = option("num.partitions", INT, 1, "Partitions of a topic that is made without a number.", at_least=1)
    default_replication_factor: int = option("default.replication.factor", INT, 1, "Replicas of such a topic.", at_least=1)
    strict_replication_factor: bool = option(
        "oncelog.strict.replication.factor",
        BOOLEAN,
        True,
        "Refuse a replication factor above the number of brokers as Kafka does; false takes any and keeps one replica.",
        ours=True,
    )
    fetch_max_bytes: int = option("fetch.max.bytes", INT, 57_671_680, "The most bytes a Fetch answers with.", at_least=1024)
    fetch_session_slots: int = option(
        "max.incremental.fetch.session.cache.slots", INT, 1000, "The most incremental fetch sessions.", at_least=0
    )
    unstable_api_versions: bool = option("unstable.api.versions.enable", BOOLEAN, False, "Serve API versions that Kafka calls unstable.")
    partition_page_limit: int = option(
        "max.request.partition.size.limit", INT, 2000, "The most partitions of one answer of DescribeTopicPartitions.", at_least=1
    )
    cluster_id: str = option("cluster.id", STRING, "", "The cluster id of a new data directory; empty: a random one.", ours=True)


SECTIONS: tuple[Any, ...] = (ServerConfig, LogConfig, TxnConfig, GroupConfig, AuthConfig)


@dataclass(frozen=True, slots=True)
class BrokerConfig:
    """All settings of one broker. `values`: what was given, by Kafka's names; `advertised`: listener name -> (host, port) (see there)."""

    server: ServerConfig
    log: LogConfig
    txn: TxnConfig
    group: GroupConfig
    auth: AuthConfig
    values: Mapping[str, str]
    listeners: tuple[ListenerConfig, ...]
    advertised: dict[str, tuple[str, int]] = field(default_factory=dict)


def load(values: Mapping[str, str]) -> BrokerConfig:
    """Settings from merged `values`. Raises KafkaError(INVALID_CONFIG) that says what is wrong and what would be right."""
    check_names(values)
    server = parse_settings(ServerConfig, values)
    from oncelog.broker.settings.catalogue import with_coarse_units

    listeners = bound_listeners(server, values)
    config = BrokerConfig(
        server,
        parse_settings(LogConfig, with_coarse_units(values)),
        parse_settings(TxnConfig, values),
        parse_settings(GroupConfig, values),
        parse_settings(AuthConfig, values),
        dict(values),
        listeners,
        advertised_endpoints(server, values, listeners),
    )
    check_together(config)
    return config


def known_options() -> dict[str, Option]:
    """Every setting that we act on, by each of its broker level names."""
    from oncelog.broker.settings.catalogue import broker_options

    found = {name: declared for name, declared in broker_options(SECTIONS).items() if name not in accepted_options()}
    for section in SECTIONS:
        for declared in options_of(section).values():
            for name in (declared.kafka_name, *declared.aliases):
                found[name] = declared
    return found


def check_names(values: Mapping[str, str]) -> None:
    """Accept what Kafka knows, refuse what nobody knows, with the nearest name."""
    known = known_options()
    unused = []
    for name in values:
        plain = re.sub(r"^listener\.name\.[^.]+\.(?:(?:plain|scram-sha-256|scram-sha-512)\.)?", "", name)
        if plain in KNOWN_UNUSED or plain.startswith(("metric.reporters", "confluent.")):
            unused.append(name)
            continue
        if plain in known:
            continue
        import difflib

        near = difflib.get_close_matches(name, [*known, *KNOWN_UNUSED], n=1, cutoff=0.6)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"Unknown setting {name}{hint}")
    if unused:
        _log.info("settings without effect on one node: %s", ", ".join(sorted(unused)))


def merge(
    config_file: Path | None, environment: Mapping[str, str], overrides: Iterable[str], defaults: Mapping[str, str] | None = None
) -> dict[str, str]:
    """One mapping of all sources. Raises KafkaError(INVALID_CONFIG) for a line or an override without `=`; OSError for the file."""
    merged = dict(defaults or {})
    if config_file is not None:
        merged.update(read_properties(config_file.read_text(encoding="utf-8")))
    merged.update(settings_in(environment, {*known_options(), *KNOWN_UNUSED}))
    for text in overrides:
        name, separator, value = text.partition("=")
        if not separator:
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"--override takes key=value, not {text!r}")
        merged[name.strip()] = value.strip()
    return merged


def read_properties(text: str) -> dict[str, str]:
    """Java's properties, as far as server.properties uses them: comments, `=` or `:`, lines continued by a backslash."""
    values: dict[str, str] = {}
    for number, line in enumerate(re.sub(r"\\\r?\n[ \t]*", "", text).splitlines(), 1):
        line = line.strip()
        if not line or line[0] in "#!":
            continue
        found = re.match(r"([^=:\s]+)\s*[=:\s]\s*(.*)$", line)
        if found is None:
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"line {number} is not key=value: {line!r}")
        values[found[1]] = found[2].strip()
    return values
