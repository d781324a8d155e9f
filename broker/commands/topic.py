"""`oncelog topic`: list, create, describe, alter, delete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter
from oncelog.broker.commands.client.cluster import Cluster, check
from oncelog.broker.commands.client.numbers import Int16OrDefault, Int32, Int32OrDefault
from oncelog.broker.commands.client.options import DEFAULT, Connection
from oncelog.broker.commands.client.output import USAGE, done, fail, show, show_json
from oncelog.broker.commands.client.settings import Settings, alter_settings, describe_settings, parse_settings_given
from oncelog.protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from oncelog.protocol import messages

app = App(name="topic", help="Topics: list, create, describe, alter, delete.")
TOPIC_RESOURCE = 2
EARLIEST, LATEST = -2, -1


@app.command(name="list")
def list_topics(*, internal: Annotated[bool, Parameter(negative=())] = False, connection: Connection = DEFAULT) -> None:
    """List topics.

    Parameters
    ----------
    internal
        Show Kafka's own topics too.
    """
    with connection.open() as cluster:
        topics = [topic for topic in cluster.metadata().topics if internal or not topic.is_internal]
    rows = [_topic_row(topic) for topic in sorted(topics, key=lambda topic: topic.name or "")]
    show(rows, ["name", "partitions", "replicas", "topic_id"], connection.format, nothing="no topics")


@app.command
def create(
    *names: str,
    partitions: Int32OrDefault = -1,
    replication_factor: Int16OrDefault = -1,
    config: Settings = (),
    if_not_exists: Annotated[bool, Parameter(negative=())] = False,
    connection: Connection = DEFAULT,
) -> None:
    """Create topics.

    Parameters
    ----------
    partitions
        Number of partitions; the broker's default if not given.
    replication_factor
        Number of replicas; the broker's default if not given.
    config
        A setting, NAME=VALUE; may be given several times.
    if_not_exists
        Do not fail over a topic that is there already.
    """
    from oncelog.protocol import messages
    from oncelog.protocol.errors import ErrorCode

    if not names:
        fail("name at least one topic", USAGE)
    creatable = messages.CreateTopicsRequest.CreatableTopic
    configs = [creatable.CreatableTopicConfig(name=name, value=value) for name, value in parse_settings_given(config).items()]
    asked = [creatable(name=name, num_partitions=partitions, replication_factor=replication_factor, configs=configs) for name in names]
    with connection.open() as cluster:
        request = messages.CreateTopicsRequest(topics=asked, timeout_ms=_milliseconds(connection), validate_only=False)
        answer = cluster.controller().send(ApiKey.CREATE_TOPICS, request)
        for topic in answer.topics:
            if not (if_not_exists and topic.error_code == ErrorCode.TOPIC_ALREADY_EXISTS):
                check(topic.error_code, topic.error_message, about=f"topic {topic.name}")
    done(f"created {', '.join(names)}", connection.format, created=list(names))


@app.command
def describe(*names: str, connection: Connection = DEFAULT) -> None:
    """Show partitions with their offsets, and the settings that differ from the defaults.

    Parameters
    ----------
    names
        Topics; all that are not internal if none is named.
    """
    with connection.open() as cluster:
        topics = cluster.metadata(list(names) or None).topics
        for topic in topics:
            check(topic.error_code, about=f"topic {topic.name}")
        wanted = [topic for topic in topics if names or not topic.is_internal]
        found = [_description(cluster, topic) for topic in sorted(wanted, key=lambda topic: topic.name or "")]
    if connection.format.value == "json":
        show_json(found)
        return
    for shown in found:
        done(f"{shown['name']}  id {shown['topic_id']}  {_settings_text(shown['settings'])}".rstrip(), connection.format)
        columns = ["partition", "leader", "replicas", "in_sync", "earliest", "latest"]
        show(shown["partitions"], columns, connection.format)


@app.command
def alter(
    name: str, *, partitions: Int32 | None = None, config: Settings = (), unset: Settings = (), connection: Connection = DEFAULT
) -> None:
    """Add partitions, change settings.

    Parameters
    ----------
    partitions
        New number of partitions; it can only grow.
    config
        A setting to set, NAME=VALUE; may be given several times.
    unset
        A setting to return to its default; may be given several times.
    """
    if partitions is None and not config and not unset:
        fail("nothing to alter: give --partitions, --config or --unset", USAGE)
    with connection.open() as cluster:
        if config or unset:
            alter_settings(cluster, TOPIC_RESOURCE, name, parse_settings_given(config), unset)
        if partitions is not None:
            _add_partitions(cluster, name, partitions, _milliseconds(connection))
    done(f"altered {name}", connection.format, altered=name)


@app.command
def delete(*names: str, if_exists: Annotated[bool, Parameter(negative=())] = False, connection: Connection = DEFAULT) -> None:
    """Delete topics and all their records.

    Parameters
    ----------
    if_exists
        Do not fail over a topic that is not there.
    """
    from oncelog.protocol import messages
    from oncelog.protocol.errors import ErrorCode

    if not names:
        fail("name at least one topic", USAGE)
    request = messages.DeleteTopicsRequest(
        topics=[messages.DeleteTopicsRequest.DeleteTopicState(name=name) for name in names],
        topic_names=list(names),
        timeout_ms=_milliseconds(connection),
    )
    with connection.open() as cluster:
        for topic in cluster.controller().send(ApiKey.DELETE_TOPICS, request).responses:
            if not (if_exists and topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION):
                check(topic.error_code, topic.error_message, about=f"topic {topic.name}")
    done(f"deleted {', '.join(names)}", connection.format, deleted=list(names))


def offsets(cluster: Cluster, partitions: list[tuple[str, int]], timestamp: int) -> dict[tuple[str, int], int]:
    """(topic, partition) -> offset at `timestamp` (EARLIEST, LATEST or milliseconds since 1970; -1 if no record is that young)."""
    from oncelog.protocol import messages

    topic_class = messages.ListOffsetsRequest.ListOffsetsTopic
    leaders = cluster.leaders(sorted({topic for topic, _ in partitions}))
    found: dict[tuple[str, int], int] = {}
    for node_id in sorted({leaders[partition] for partition in partitions}):
        of_node = [partition for partition in partitions if leaders[partition] == node_id]
        asked = [
            topic_class(
                name=name,
                partitions=[
                    topic_class.ListOffsetsPartition(partition_index=number, current_leader_epoch=-1, timestamp=timestamp)
                    for topic, number in of_node
                    if topic == name
                ],
            )
            for name in sorted({topic for topic, _ in of_node})
        ]
        answer = cluster.node(node_id).send(
            ApiKey.LIST_OFFSETS, messages.ListOffsetsRequest(replica_id=-1, isolation_level=0, topics=asked)
        )
        for topic in answer.topics:
            for partition in topic.partitions:
                check(partition.error_code, about=f"{topic.name}-{partition.partition_index}")
                found[topic.name, partition.partition_index] = partition.offset
    return found


def _description(cluster: Cluster, topic: messages.MetadataResponse.MetadataResponseTopic) -> dict[str, Any]:
    name = topic.name or ""  # null only in an answer about an id
    numbers = sorted(partition.partition_index for partition in topic.partitions)
    partitions = [(name, number) for number in numbers]
    first, last = offsets(cluster, partitions, EARLIEST), offsets(cluster, partitions, LATEST)
    settings = describe_settings(cluster, TOPIC_RESOURCE, name)
    rows = [
        {
            "partition": partition.partition_index,
            "leader": partition.leader_id,
            "replicas": partition.replica_nodes,
            "in_sync": partition.isr_nodes,
            "earliest": first[name, partition.partition_index],
            "latest": last[name, partition.partition_index],
        }
        for partition in sorted(topic.partitions, key=lambda partition: partition.partition_index)
    ]
    own = {setting["name"]: setting["value"] for setting in settings if setting["source"] == "topic"}
    return {**_topic_row(topic), "settings": own, "partitions": rows}


def _topic_row(topic: messages.MetadataResponse.MetadataResponseTopic) -> dict[str, Any]:
    from oncelog.protocol.primitives import uuid_to_kafka

    replicas = max((len(partition.replica_nodes) for partition in topic.partitions), default=0)
    topic_id = uuid_to_kafka(topic.topic_id) if topic.topic_id is not None else None
    return {
        "name": topic.name,
        "topic_id": topic_id,
        "partitions": len(topic.partitions),
        "replicas": replicas,
        "internal": topic.is_internal,
    }


def _settings_text(settings: dict[str, str]) -> str:
    return " ".join(f"{name}={value}" for name, value in settings.items())


def _add_partitions(cluster: Cluster, name: str, count: int, timeout_ms: int) -> None:
    from oncelog.protocol import messages

    topic = messages.CreatePartitionsRequest.CreatePartitionsTopic(name=name, count=count, assignments=None)
    request = messages.CreatePartitionsRequest(topics=[topic], timeout_ms=timeout_ms, validate_only=False)
    for result in cluster.controller().send(ApiKey.CREATE_PARTITIONS, request).results:
        check(result.error_code, result.error_message, about=f"topic {result.name}")


def _milliseconds(connection: Connection) -> int:
    return int(connection.timeout_s * 1000)
