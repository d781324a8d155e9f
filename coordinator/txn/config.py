"""Configs of the transaction coordinator (TransactionStateManagerConfig, TransactionLogConfig)."""

from __future__ import annotations

from oncelog.protocol.config_def import BOOLEAN, INT, SHORT, config_class, option

_SWEEP_MS = 10_000


@config_class
class TxnConfig:
    """Names, defaults and bounds are Apache Kafka's, except where a single node makes another default the only possible one."""

    transaction_max_timeout_ms: int = option(
        "transaction.max.timeout.ms", INT, 900_000, "The longest transaction timeout a client may ask for.", at_least=1
    )
    transactional_id_expiration_ms: int = option(
        "transactional.id.expiration.ms",
        INT,
        604_800_000,
        "How long a transactional id without an open transaction is remembered after its last use.",
        at_least=1,
    )
    abort_timed_out_interval_ms: int = option(
        "transaction.abort.timed.out.transaction.cleanup.interval.ms",
        INT,
        _SWEEP_MS,
        "With another value than the default, timed out transactions are looked for in this interval, as Kafka does. "
        "By default each transaction is aborted at its own deadline.",
        at_least=1,
    )
    remove_expired_interval_ms: int = option(
        "transaction.remove.expired.transaction.cleanup.interval.ms",
        INT,
        3_600_000,
        "How often expired transactional ids are removed.",
        at_least=1,
    )
    state_log_num_partitions: int = option(
        "transaction.state.log.num.partitions",
        INT,
        50,
        "Partitions of __transaction_state. Must not change once the topic exists; an existing topic keeps its own number.",
        at_least=1,
    )
    state_log_segment_bytes: int = option(
        "transaction.state.log.segment.bytes", INT, 104_857_600, "Segment size of __transaction_state.", at_least=1
    )
    state_log_min_isr: int = option(
        "transaction.state.log.min.isr", INT, 1, "Accepted for compatibility; there is one replica.", at_least=1
    )
    partition_verification_enable: bool = option(
        "transaction.partition.verification.enable",
        BOOLEAN,
        True,
        "Check that a partition was added to the transaction before accepting transactional records for it.",
        dynamic=True,
    )
    two_phase_commit_enable: bool = option(
        "transaction.two.phase.commit.enable",
        BOOLEAN,
        False,
        "Allow two-phase commit (KIP-939): transactions that only their own coordinator ends. Offers InitProducerId v6.",
    )
    transaction_version: int = option(
        "transaction.version",
        SHORT,
        2,
        "Finalized level of the feature transaction.version: 2 raises the producer epoch with every transaction (KIP-890), "
        "0 and 1 serve to test how clients behave with older clusters.",
        at_least=0,
        at_most=2,
        ours=True,
    )

    @property
    def timeout_sweep_ms(self) -> int | None:
        """Interval of looking for timed out transactions, if one was asked for."""
        return None if self.abort_timed_out_interval_ms == _SWEEP_MS else self.abort_timed_out_interval_ms

    def topic_configs(self) -> dict[str, str]:
        """What `__transaction_state` is created with (TransactionStateManager)."""
        return {
            "cleanup.policy": "compact",
            "compression.type": "uncompressed",
            "min.insync.replicas": str(self.state_log_min_isr),
            "segment.bytes": str(self.state_log_segment_bytes),
            "unclean.leader.election.enable": "false",
        }
