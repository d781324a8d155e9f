"""Configs of streams groups (GroupCoordinatorConfig)."""

from __future__ import annotations

from oncelog.protocol.config_def import BOOLEAN, INT, config_class, option


@config_class
class StreamsGroupConfig:
    """Names, defaults and bounds are Apache Kafka's."""

    group_streams_assignment_interval_ms: int = option(
        "group.streams.assignment.interval.ms",
        INT,
        1_000,
        "A streams group gets a new target assignment at most once in this time (KIP-1263).",
        at_least=0,
    )
    group_streams_heartbeat_interval_ms: int = option(
        "group.streams.heartbeat.interval.ms", INT, 5_000, "How often members of streams groups are told to send heartbeats.", at_least=1
    )
    group_streams_session_timeout_ms: int = option(
        "group.streams.session.timeout.ms", INT, 45_000, "A member of a streams group that is silent for so long is removed.", at_least=1
    )
    group_streams_initial_rebalance_delay_ms: int = option(
        "group.streams.initial.rebalance.delay.ms",
        INT,
        3_000,
        "How long the first assignment of an empty streams group waits for more members.",
        at_least=0,
    )
    group_streams_num_standby_replicas: int = option(
        "group.streams.num.standby.replicas", INT, 0, "How many processes follow each task with state, ready to take it over.", at_least=0
    )
    group_streams_max_standby_replicas: int = option(
        "group.streams.max.standby.replicas", INT, 2, "The most standbys a streams group may be given of its own.", at_least=0
    )
    group_streams_max_size: int = option(
        "group.streams.max.size", INT, 2_147_483_647, "The most members a streams group can have.", at_least=1
    )
    group_streams_min_session_timeout_ms: int = option(
        "group.streams.min.session.timeout.ms",
        INT,
        45_000,
        "The shortest session timeout a streams group may be given of its own.",
        at_least=1,
    )
    group_streams_max_session_timeout_ms: int = option(
        "group.streams.max.session.timeout.ms",
        INT,
        60_000,
        "The longest session timeout a streams group may be given of its own.",
        at_least=1,
    )
    group_streams_min_heartbeat_interval_ms: int = option(
        "group.streams.min.heartbeat.interval.ms",
        INT,
        5_000,
        "The shortest heartbeat interval a streams group may be given of its own.",
        at_least=1,
    )
    group_streams_max_heartbeat_interval_ms: int = option(
        "group.streams.max.heartbeat.interval.ms",
        INT,
        15_000,
        "The longest heartbeat interval a streams group may be given of its own.",
        at_least=1,
    )
    group_streams_min_assignment_interval_ms: int = option(
        "group.streams.min.assignment.interval.ms",
        INT,
        0,
        "The shortest assignment interval a streams group may be given of its own.",
        at_least=0,
    )
    group_streams_max_assignment_interval_ms: int = option(
        "group.streams.max.assignment.interval.ms",
        INT,
        15_000,
        "The longest assignment interval a streams group may be given of its own.",
        at_least=0,
    )
    group_streams_enabled: bool = option(
        "group.streams.enable",
        BOOLEAN,
        True,
        "Serve the streams group protocol (KIP-1071); false serves to test how clients behave with older clusters.",
        ours=True,
    )
