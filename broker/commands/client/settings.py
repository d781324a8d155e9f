"""Settings of topics, brokers and groups over the wire: shared by `topic` and `config`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from cyclopts import Parameter
from oncelog.broker.commands.client.cluster import Cluster, check
from oncelog.broker.commands.client.numbers import MAX_INT32, whole_number
from oncelog.broker.commands.client.output import USAGE, fail
from oncelog.broker.commands.client.wire import WireClient
from oncelog.protocol.api_keys import ApiKey

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE = 0, 1
SOURCES = {
    1: "topic",
    2: "broker, dynamic",
    3: "all brokers, dynamic",
    4: "server.properties",
    5: "default",
    6: "logger, dynamic",
    7: "client metrics",
    8: "group",
}

Settings = Annotated[tuple[str, ...], Parameter(negative=(), consume_multiple=False)]


def parse_settings_given(given: Iterable[str]) -> dict[str, str]:
    """NAME=VALUE arguments; ends the command over anything else."""
    found: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name:
            fail(f"{text!r} is not NAME=VALUE", USAGE)
        found[name] = value
    return found


def describe_settings(cluster: Cluster, resource_type: int, name: str, *, documentation: bool = False) -> list[dict[str, Any]]:
    """name, value, source, read_only (and documentation) of each setting, by name. Raises KafkaError."""
    from oncelog.protocol import messages

    resource = messages.DescribeConfigsRequest.DescribeConfigsResource(
        resource_type=resource_type, resource_name=name, configuration_keys=None
    )
    request = messages.DescribeConfigsRequest(resources=[resource], include_synonyms=False, include_documentation=documentation)
    result = _node_for(cluster, resource_type, name).send(ApiKey.DESCRIBE_CONFIGS, request).results[0]
    check(result.error_code, result.error_message, about=f"settings of {name}")
    rows = [
        {
            "name": entry.name,
            "value": entry.value if not entry.is_sensitive else None,
            "source": SOURCES.get(entry.config_source, str(entry.config_source)),
            "read_only": entry.read_only,
            **({"documentation": entry.documentation} if documentation else {}),
        }
        for entry in result.configs
    ]
    return sorted(rows, key=lambda row: str(row["name"]))


def alter_settings(cluster: Cluster, resource_type: int, name: str, to_set: Mapping[str, str], to_unset: Iterable[str]) -> None:
    """Set some settings and return others to their defaults. Raises KafkaError."""
    from oncelog.protocol import messages

    resource = messages.IncrementalAlterConfigsRequest.AlterConfigsResource
    changes = [resource.AlterableConfig(name=key, config_operation=SET, value=value) for key, value in to_set.items()]
    changes += [resource.AlterableConfig(name=key, config_operation=DELETE, value=None) for key in to_unset]
    request = messages.IncrementalAlterConfigsRequest(
        resources=[resource(resource_type=resource_type, resource_name=name, configs=changes)], validate_only=False
    )
    result = _node_for(cluster, resource_type, name).send(ApiKey.INCREMENTAL_ALTER_CONFIGS, request).responses[0]
    check(result.error_code, result.error_message, about=f"settings of {name}")


def _node_for(cluster: Cluster, resource_type: int, name: str) -> WireClient:
    """Settings of one broker are asked of that broker."""
    node_id = whole_number(name, MAX_INT32)
    if resource_type in (BROKER, BROKER_LOGGER) and node_id is not None:
        return cluster.node(node_id)
    return cluster.any()
