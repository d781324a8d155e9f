"""Manual partition assignments: on one node they can say only one thing, but they can be wrong in many ways."""

from __future__ import annotations

from collections.abc import Sequence

from oncelog.protocol.errors import ErrorCode, KafkaError

MAX_NEW_PARTITIONS = 10_000


def check_new_partitions(count: int) -> None:
    """Raises KafkaError(POLICY_VIOLATION) for more partitions than one request may make
    (`ReplicationControlManager.MAX_PARTITIONS_PER_BATCH`)."""
    if count > MAX_NEW_PARTITIONS:
        raise KafkaError(ErrorCode.POLICY_VIOLATION, "Excessively large number of partitions per request.")


def check_replicas(broker_ids: Sequence[int], node_id: int) -> None:
    """Raises KafkaError(INVALID_REPLICA_ASSIGNMENT) unless this broker is the only replica
    (`ReplicationControlManager.validateManualPartitionAssignment`)."""
    if not broker_ids:
        raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "The manual partition assignment includes an empty replica list.")
    previous: int | None = None
    for broker_id in sorted(broker_ids):
        if broker_id != node_id:
            message = f"The manual partition assignment includes broker {broker_id}, but no such broker is registered."
            raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
        if broker_id == previous:
            message = f"The manual partition assignment includes the broker {broker_id} more than once."
            raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
        previous = broker_id
