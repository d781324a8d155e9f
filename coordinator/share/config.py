"""Configs of the share coordinator (ShareCoordinatorConfig)."""

from __future__ import annotations

from oncelog.protocol.config_def import INT, SHORT, config_class, option

_FIVE_MINUTES_MS = 300_000


@config_class
class ShareCoordinatorConfig:
    """Names, defaults and bounds are Apache Kafka's, except where a single node makes another default the only possible one."""

    state_topic_num_partitions: int = option(
        "share.coordinator.state.topic.num.partitions",
        INT,
        50,
        "Partitions of __share_group_state. Must not change once the topic exists; an existing topic keeps its own number.",
        at_least=1,
    )
    state_topic_segment_bytes: int = option(
        "share.coordinator.state.topic.segment.bytes", INT, 104_857_600, "Segment size of __share_group_state.", at_least=1
    )
    state_topic_min_isr: int = option(
        "share.coordinator.state.topic.min.isr", SHORT, 1, "Accepted for compatibility; there is one replica.", at_least=1
    )
    snapshot_update_records_per_snapshot: int = option(
        "share.coordinator.snapshot.update.records.per.snapshot",
        INT,
        500,
        "How many updates of a share partition are written before all that is known of it is written anew.",
        at_least=0,
        at_most=500,
    )
    state_topic_prune_interval_ms: int = option(
        "share.coordinator.state.topic.prune.interval.ms",
        INT,
        _FIVE_MINUTES_MS,
        "How often what later snapshots say anew is cut off __share_group_state.",
        at_least=1,
    )
    cold_partition_snapshot_interval_ms: int = option(
        "share.coordinator.cold.partition.snapshot.interval.ms",
        INT,
        _FIVE_MINUTES_MS,
        "What is known of a share partition is written anew after so long, so that the log below can be cut off.",
        at_least=1,
    )

    def topic_configs(self) -> dict[str, str]:
        """What `__share_group_state` is created with (ShareCoordinatorService.shareGroupStateTopicConfigs).

        Nothing in it is old or too much until a snapshot replaces it, whatever the broker's defaults say of other topics.
        """
        return {
            "cleanup.policy": "delete",
            "compression.type": "producer",
            "min.insync.replicas": str(self.state_topic_min_isr),
            "retention.bytes": "-1",
            "retention.ms": "-1",
            "segment.bytes": str(self.state_topic_segment_bytes),
        }
