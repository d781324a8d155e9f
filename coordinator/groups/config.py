"""Configs of the group coordinator (GroupCoordinatorConfig, OffsetConfig)."""

from __future__ import annotations

from oncelog.coordinator.groups.streams.config import StreamsGroupConfig
from oncelog.protocol.config_def import BOOLEAN, INT, LIST, LONG, STRING, config_class, option

_INT_MAX = 2**31 - 1


@config_class
class GroupConfig(StreamsGroupConfig):
    """Names, defaults and bounds are Apache Kafka's, except where a single node makes another default the only sensible one."""

    # -- classic groups

    group_min_session_timeout_ms: int = option(
        "group.min.session.timeout.ms", INT, 6_000, "The shortest session timeout a member of a classic group may ask for.", at_least=1
    )
    group_max_session_timeout_ms: int = option(
        "group.max.session.timeout.ms", INT, 1_800_000, "The longest session timeout a member of a classic group may ask for.", at_least=1
    )
    group_initial_rebalance_delay_ms: int = option(
        "group.initial.rebalance.delay.ms",
        INT,
        200,
        "How long the first rebalance of an empty classic group waits for more members; Apache Kafka's default is 3000. Below 200 "
        "kafka-python 3.0, which knows the partitions of its topics only after 100 ms, may be left without an assignment.",
        at_least=0,
    )
    group_max_size: int = option("group.max.size", INT, _INT_MAX, "The most members a classic group can have.", at_least=1)
    new_member_join_timeout_ms: int = option(
        "group.coordinator.new.member.join.timeout.ms",
        INT,
        300_000,
        "How long a member that joins for the first time may be kept waiting for the rebalance to complete.",
        at_least=1,
        ours=True,
    )

    # -- consumer groups (KIP-848)

    group_consumer_session_timeout_ms: int = option(
        "group.consumer.session.timeout.ms", INT, 45_000, "A member of a consumer group that is silent for so long is removed.", at_least=1
    )
    group_consumer_heartbeat_interval_ms: int = option(
        "group.consumer.heartbeat.interval.ms", INT, 5_000, "How often members of consumer groups are told to send heartbeats.", at_least=1
    )
    group_consumer_max_size: int = option(
        "group.consumer.max.size", INT, _INT_MAX, "The most members a consumer group can have.", at_least=1
    )
    group_consumer_assignors: tuple[str, ...] = option(
        "group.consumer.assignors",
        LIST,
        ("uniform", "range"),
        "Server side assignors, the default one first.",
        one_of=("uniform", "range"),
        not_empty=True,
    )
    group_consumer_migration_policy: str = option(
        "group.consumer.migration.policy",
        STRING,
        "bidirectional",
        "Which conversions between classic and consumer groups take place while they have members.",
        one_of=("bidirectional", "upgrade", "downgrade", "disabled"),
    )
    group_consumer_assignment_interval_ms: int = option(
        "group.consumer.assignment.interval.ms",
        INT,
        1_000,
        "A consumer group gets a new target assignment at most once in this time (KIP-1263).",
        at_least=0,
    )
    group_consumer_min_session_timeout_ms: int = option(
        "group.consumer.min.session.timeout.ms",
        INT,
        45_000,
        "The shortest session timeout a consumer group may be given of its own.",
        at_least=1,
    )
    group_consumer_max_session_timeout_ms: int = option(
        "group.consumer.max.session.timeout.ms",
        INT,
        60_000,
        "The longest session timeout a consumer group may be given of its own.",
        at_least=1,
    )
    group_consumer_min_heartbeat_interval_ms: int = option(
        "group.consumer.min.heartbeat.interval.ms",
        INT,
        5_000,
        "The shortest heartbeat interval a consumer group may be given of its own.",
        at_least=1,
    )
    group_consumer_max_heartbeat_interval_ms: int = option(
        "group.consumer.max.heartbeat.interval.ms",
        INT,
        15_000,
        "The longest heartbeat interval a consumer group may be given of its own.",
        at_least=1,
    )
    group_consumer_min_assignment_interval_ms: int = option(
        "group.consumer.min.assignment.interval.ms",
        INT,
        0,
        "The shortest assignment interval a consumer group may be given of its own.",
        at_least=0,
    )
    group_consumer_max_assignment_interval_ms: int = option(
        "group.consumer.max.assignment.interval.ms",
        INT,
        15_000,
        "The longest assignment interval a consumer group may be given of its own.",
        at_least=0,
    )
    group_consumer_regex_refresh_interval_ms: int = option(
        "group.consumer.regex.refresh.interval.ms",
        INT,
        600_000,
        "How long a resolved regular expression is used at most; new topics are noticed sooner.",
        at_least=1,
    )

    # -- offsets

    offset_metadata_max_bytes: int = option(
        "offset.metadata.max.bytes",
        INT,
        4_096,
        "The longest metadata of a committed offset, in characters as Apache Kafka counts.",
        at_least=0,
    )
    offsets_retention_minutes: int = option(
        "offsets.retention.minutes",
        INT,
        10_080,
        "How long committed offsets are kept after their group became empty.",
        at_least=1,
    )
    offsets_retention_check_interval_ms: int = option(
        "offsets.retention.check.interval.ms", LONG, 600_000, "How often expired offsets are looked for.", at_least=1
    )
    offsets_topic_num_partitions: int = option(
        "offsets.topic.num.partitions",
        INT,
        50,
        "Partitions of __consumer_offsets. Must not change once the topic exists; an existing topic keeps its own number.",
        at_least=1,
    )
    offsets_topic_segment_bytes: int = option(
        "offsets.topic.segment.bytes", INT, 104_857_600, "Segment size of __consumer_offsets.", at_least=1
    )
    group_consumer_enabled: bool = option(
        "group.consumer.enable",
        BOOLEAN,
        True,
        "Serve the consumer group protocol (KIP-848); false serves to test how clients behave with older clusters.",
        ours=True,
    )

    @property
    def offsets_retention_ms(self) -> int:
        return self.offsets_retention_minutes * 60_000

    @property
    def allows_upgrade(self) -> bool:
        """A classic group with members may become a consumer group."""
        return self.group_consumer_migration_policy in ("bidirectional", "upgrade")

    @property
    def allows_downgrade(self) -> bool:
        """A consumer group whose last member of the new protocol left may become a classic group."""
        return self.group_consumer_migration_policy in ("bidirectional", "downgrade")

    def topic_configs(self) -> dict[str, str]:
        """What `__consumer_offsets` is created with (GroupCoordinatorService.groupMetadataTopicConfigs)."""
        return {
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": str(self.offsets_topic_segment_bytes),
        }
