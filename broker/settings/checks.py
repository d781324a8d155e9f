"""Settings that each are fine and cannot be together, or promise what one node does not have (Kafka's `KafkaConfig.validateValues`)."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from oncelog.broker.settings.control import control_endpoint
from oncelog.broker.settings.listeners import parse_endpoints, refusal
from oncelog.protocol.config_def import LONG, options_of, parse_type

if TYPE_CHECKING:
    from oncelog.broker.settings.broker import BrokerConfig

_log = logging.getLogger(__name__)
_HOST = re.compile(r"[0-9a-zA-Z\-%._:]+")  # Kafka's Utils.validHostPattern
_VOTER = re.compile(r"(\d+)@(?:\[[^\]]+\]|[^:@\s]+):\d+")


def check_together(config: BrokerConfig) -> None:
    """Raises KafkaError(INVALID_CONFIG) that says what is wrong and what to do."""
    values = config.values
    _check_node(values)
    _check_roles(values)
    _check_voters(values, config.server.node_id)
    _check_directories(config)
    _check_connections(config)
    _check_groups(config)
    _check_super_users(config.auth.super_users)
    control_endpoint(config.server.control_listener, config.server.control_token)
    _warn_of_settings_for_nobody(config)


def _check_node(values: Mapping[str, str]) -> None:
    node, broker = values.get("node.id"), values.get("broker.id")
    if node is not None and broker is not None and int(node) != int(broker):
        raise refusal(f"node.id={node} and broker.id={broker} name one node: give both the same value, or leave one out")


def _check_roles(values: Mapping[str, str]) -> None:
    if "process.roles" not in values:
        return
    roles = _parts(values["process.roles"])
    if not roles or not set(roles) <= {"broker", "controller"}:
        raise refusal(f"process.roles: {values['process.roles']!r} is not made of broker and controller")
    if len(set(roles)) == 1:
        raise refusal(f"process.roles={roles[0]}: oncelog is broker and controller in one; set process.roles=broker,controller")


def _check_voters(values: Mapping[str, str], node_id: int) -> None:
    entries = _parts(values.get("controller.quorum.voters", ""))
    voters = []
    for entry in entries:
        found = _VOTER.fullmatch(entry)
        if found is None:
            raise refusal(f"controller.quorum.voters: {entry!r} is not ID@HOST:PORT")
        voters.append(int(found[1]))
    if voters and node_id not in voters:
        raise refusal(f"controller.quorum.voters={','.join(entries)} does not name node {node_id}: set node.id to a voter, or leave it out")
    if len(voters) > 1:
        _log.warning("controller.quorum.voters names %d nodes: this broker is a cluster of its own and joins no other", len(voters))


def _check_directories(config: BrokerConfig) -> None:
    named = config.server.log_dirs
    if len(named) > 1:
        raise refusal(f"log.dirs={','.join(named)}: oncelog keeps everything in one directory; name one")


def _check_groups(config: BrokerConfig) -> None:
    """What groups get of the broker lies within what each may set for itself."""
    known: dict[str, Any] = {}
    for section in (config.group, config.share_group):
        cls: Any = type(section)
        known.update((declared.kafka_name, getattr(section, attribute)) for attribute, declared in options_of(cls).items())
    for name, value in known.items():
        kind, _, rest = name.removeprefix("group.").partition(".")
        session = known.get(f"group.{kind}.session.timeout.ms")
        if rest == "heartbeat.interval.ms" and session is not None and value >= session:
            raise refusal(f"{name}={value} must be less than group.{kind}.session.timeout.ms={session}")
        for bound, word in (("min", "greater"), ("max", "less")):
            limit_name = f"group.{kind}.{bound}.{rest.removeprefix('num.')}"
            limit = known.get(limit_name)
            if limit is not None and (value < limit if bound == "min" else value > limit):
                raise refusal(f"{name}={value} must be {word} than or equal to {limit_name}={limit}")
    share = config.share_group
    if share.max_share_sessions < share.max_size:
        sessions = f"group.share.max.share.sessions={share.max_share_sessions}"
        raise refusal(f"{sessions} must be greater than or equal to group.share.max.size={share.max_size}")


def _check_connections(config: BrokerConfig) -> None:
    values, server = config.values, config.server
    idle_ms, delay_ms = server.connections_max_idle_ms, config.auth.connection_failed_authentication_delay_ms
    if 0 <= idle_ms <= delay_ms:
        raise refusal(f"connections.max.idle.ms={idle_ms} must be more than connection.failed.authentication.delay.ms={delay_ms}")
    queued = values.get("queued.max.request.bytes")
    if queued is not None and 0 < _number("queued.max.request.bytes", queued, -1) < server.max_frame_bytes:
        raise refusal(f"queued.max.request.bytes={queued} must be at least socket.request.max.bytes={server.max_frame_bytes}")
    if "max.connection.creation.rate" in values:
        _number("max.connection.creation.rate", values["max.connection.creation.rate"], 0)
    overrides = parse_overrides(server.max_connections_per_ip_overrides)
    if server.max_connections_per_ip == 0 and not overrides:
        raise refusal("max.connections.per.ip=0 keeps everybody out: name in max.connections.per.ip.overrides who may come")
    known = {endpoint.name for endpoint in parse_endpoints(server.listeners, "listeners")} | set(server.controller_listener_names)
    for name in _parts(values.get("early.start.listeners", "")):
        if name.upper() not in known:
            raise refusal(f"early.start.listeners: {name} is none of the listeners ({', '.join(sorted(known))})")


def parse_overrides(text: str) -> dict[str, int]:
    """`max.connections.per.ip.overrides`: the most connections by host. Raises KafkaError(INVALID_CONFIG)."""
    found: dict[str, int] = {}
    for entry in _parts(text):
        host, separator, number = entry.rpartition(":")
        host = host.strip().strip("[]")
        if not (separator and _HOST.fullmatch(host) and number.strip().isdecimal()):
            raise refusal(f"max.connections.per.ip.overrides: {entry!r} is not HOST:NUMBER")
        found[host] = int(number)
    return found


def _check_super_users(text: str) -> None:
    for principal in filter(None, (part.strip() for part in text.split(";"))):
        kind, separator, name = principal.partition(":")
        if not (kind and separator and name):
            raise refusal(f"super.users: {principal!r} is no principal; write User:{name or ('NAME' if separator else kind)}")


def _warn_of_settings_for_nobody(config: BrokerConfig) -> None:
    """Kafka takes `listener.name.NAME.…` of any NAME; a misspelt one would leave the listener that was meant unguarded."""
    bound = {listener.name.lower() for listener in config.listeners} | {name.lower() for name in config.server.controller_listener_names}
    for setting in config.values:
        found = re.match(r"listener\.name\.([^.]+)\.", setting)
        if found and found[1] not in bound:
            _log.warning("%s has no effect: there is no listener %s, only %s", setting, found[1], ", ".join(sorted(bound)))


def _number(setting: str, text: str, at_least: int) -> int:
    try:
        number: int = parse_type(LONG, text)
    except ValueError:
        raise refusal(f"{setting}: {text!r} is not a number") from None
    if number < at_least:
        raise refusal(f"{setting}={number} must be at least {at_least}")
    return number


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
