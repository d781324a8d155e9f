"""Configs of the server itself, which no other layer declares (Kafka's `SocketServerConfigs`, `ServerConfigs`)."""

from __future__ import annotations

from oncelog.protocol.config_def import BOOLEAN, INT, LIST, LONG, PASSWORD, STRING, config_class, option


@config_class
class ServerConfig:
    """What belongs to the server itself: identity, listeners, limits, topics."""

    node_id: int = option("node.id", INT, 1, "The node id of this broker.", at_least=0, aliases=("broker.id",))
    listeners: tuple[str, ...] = option(
        "listeners", LIST, ("PLAINTEXT://127.0.0.1:9092",), "Where to listen: NAME://host:port, separated by commas.", not_empty=True
    )
    advertised_listeners: tuple[str, ...] = option(
        "advertised.listeners",
        LIST,
        (),
        "What clients are told to dial: of `listeners`; one that is not named, an empty host and port 0 tell what was dialled.",
        not_empty=True,
    )
    listener_security_protocol_map: str = option(
        "listener.security.protocol.map",
        STRING,
        "PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL",
        "Security protocol by listener name.",
    )
    controller_listener_names: tuple[str, ...] = option(
        "controller.listener.names",
        LIST,
        ("CONTROLLER",),
        "Listeners that are not bound here: there is no separate controller.",
        not_empty=True,
    )
    log_dirs: tuple[str, ...] = option(
        "log.dirs", LIST, (), "The data directory, exactly one; --data-dir wins.", not_empty=True, aliases=("log.dir",)
    )
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
    control_listener: str = option(
        "control.listener",
        STRING,
        "",
        "Where the control port listens, for tests: http://host:port, or nothing; without control.token on a loopback address only.",
        ours=True,
    )
    control_token: str | None = option(
        "control.token",
        PASSWORD,
        None,
        "What users of the control port must show: `Authorization: Bearer TOKEN`.",
        sensitive=True,
        ours=True,
    )
    control_reset: bool = option(
        "control.reset.enable",
        BOOLEAN,
        False,
        "Let a reset by the control port delete data that was there when the broker was started.",
        ours=True,
    )
    cluster_id: str = option("cluster.id", STRING, "", "The cluster id of a new data directory; empty: a random one.", ours=True)
