"""Configs of share groups (Kafka's `ShareGroupConfig` and the `group.share.` part of `GroupCoordinatorConfig`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from oncelog.protocol.config_def import BOOLEAN, INT, LIST, config_class, option


@config_class
class ShareGroupConfig:
    """Names, defaults and bounds are Apache Kafka's."""

    assignment_interval_ms: int = option(
        "group.share.assignment.interval.ms",
        INT,
        1_000,
        "A share group gets a new target assignment at most once in this time (KIP-1263).",
        at_least=0,
    )
    min_assignment_interval_ms: int = option(
        "group.share.min.assignment.interval.ms",
        INT,
        0,
        "The shortest assignment interval that a share group may be given of its own.",
        at_least=0,
    )
    max_assignment_interval_ms: int = option(
        "group.share.max.assignment.interval.ms",
        INT,
        15_000,
        "The longest assignment interval that a share group may be given of its own.",
        at_least=0,
    )
    heartbeat_interval_ms: int = option(
        "group.share.heartbeat.interval.ms", INT, 5_000, "How often members of share groups are told to send heartbeats.", at_least=1
    )
    min_heartbeat_interval_ms: int = option(
        "group.share.min.heartbeat.interval.ms",
        INT,
        5_000,
        "The shortest heartbeat interval that a share group may be given of its own.",
        at_least=1,
    )
    max_heartbeat_interval_ms: int = option(
        "group.share.max.heartbeat.interval.ms",
        INT,
        15_000,
        "The longest heartbeat interval that a share group may be given of its own.",
        at_least=1,
    )
    session_timeout_ms: int = option(
        "group.share.session.timeout.ms", INT, 45_000, "A member of a share group that is silent for so long is removed.", at_least=1
    )
    min_session_timeout_ms: int = option(
        "group.share.min.session.timeout.ms",
        INT,
        45_000,
        "The shortest session timeout that a share group may be given of its own.",
        at_least=1,
    )
    max_session_timeout_ms: int = option(
        "group.share.max.session.timeout.ms",
        INT,
        60_000,
        "The longest session timeout that a share group may be given of its own.",
        at_least=1,
    )
    record_lock_duration_ms: int = option(
        "group.share.record.lock.duration.ms",
        INT,
        30_000,
        "How long a record stays with the member of a share group that acquired it, unless it says what became of it.",
        at_least=1_000,
        at_most=3_600_000,
    )
    min_record_lock_duration_ms: int = option(
        "group.share.min.record.lock.duration.ms",
        INT,
        15_000,
        "The shortest lock duration that a share group may be given of its own.",
        at_least=1_000,
        at_most=30_000,
    )
    max_record_lock_duration_ms: int = option(
        "group.share.max.record.lock.duration.ms",
        INT,
        60_000,
        "The longest lock duration that a share group may be given of its own.",
        at_least=30_000,
        at_most=3_600_000,
    )
    delivery_count_limit: int = option(
        "group.share.delivery.count.limit",
        INT,
        5,
        "A record that a share group was given so often and that nobody accepted is given out no more.",
        at_least=2,
        at_most=10,
    )
    min_delivery_count_limit: int = option(
        "group.share.min.delivery.count.limit",
        INT,
        2,
        "The lowest delivery count that a share group may be given of its own.",
        at_least=2,
        at_most=5,
    )
    max_delivery_count_limit: int = option(
        "group.share.max.delivery.count.limit",
        INT,
        10,
        "The highest delivery count that a share group may be given of its own.",
        at_least=5,
        at_most=25,
    )
    partition_max_record_locks: int = option(
        "group.share.partition.max.record.locks",
        INT,
        2_000,
        "The most records of a partition that a share group may have acquired at a time.",
        at_least=100,
        at_most=10_000,
    )
    min_partition_max_record_locks: int = option(
        "group.share.min.partition.max.record.locks",
        INT,
        100,
        "The lowest number of record locks of a partition that a share group may be given of its own.",
        at_least=100,
        at_most=2_000,
    )
    max_partition_max_record_locks: int = option(
        "group.share.max.partition.max.record.locks",
        INT,
        4_000,
        "The highest number of record locks of a partition that a share group may be given of its own.",
        at_least=2_000,
        at_most=10_000,
    )
    max_size: int = option("group.share.max.size", INT, 200, "The most members a share group can have.", at_least=1, at_most=1_000)
    assignors: tuple[str, ...] = option(
        "group.share.assignors", LIST, ("simple",), "Accepted; there is one, simple.", one_of=("simple",), not_empty=True
    )
    max_share_sessions: int = option(
        "group.share.max.share.sessions", INT, 2_000, "The most share sessions that are kept at a time.", at_least=1
    )
    initialize_retry_interval_ms: int = option(
        "group.share.initialize.retry.interval.ms",
        INT,
        30_000,
        "A share partition whose state was asked for and did not come is asked for again after so long.",
        at_least=1,
    )
    enabled: bool = option(
        "group.share.enable",
        BOOLEAN,
        True,
        "Serve share groups (KIP-932); false serves to test how clients behave with older clusters.",
        ours=True,
    )


class ShareLimits(NamedTuple):
    """The settings of one share group, after its own have overridden the broker's."""

    session_timeout_ms: int
    heartbeat_interval_ms: int
    assignment_interval_ms: int
    record_lock_duration_ms: int
    delivery_count_limit: int
    partition_max_record_locks: int
    auto_offset_reset: str
    isolation_level: str
    renew_acknowledge: bool


def limits_of(config: ShareGroupConfig, own: Mapping[str, str]) -> ShareLimits:
    """`own`: what the group has set for itself, by group level name."""
    return ShareLimits(
        int(own.get("share.session.timeout.ms", config.session_timeout_ms)),
        int(own.get("share.heartbeat.interval.ms", config.heartbeat_interval_ms)),
        int(own.get("share.assignment.interval.ms", config.assignment_interval_ms)),
        int(own.get("share.record.lock.duration.ms", config.record_lock_duration_ms)),
        int(own.get("share.delivery.count.limit", config.delivery_count_limit)),
        int(own.get("share.partition.max.record.locks", config.partition_max_record_locks)),
        own.get("share.auto.offset.reset", "latest"),
        own.get("share.isolation.level", "read_uncommitted"),
        own.get("share.renew.acknowledge.enable", "true").lower() == "true",
    )
