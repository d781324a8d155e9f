"""Features of the cluster as ApiVersions tells them (KIP-584): what the broker could speak, and what is switched on."""

from __future__ import annotations

from typing import NamedTuple

METADATA_VERSION = "metadata.version"
METADATA_VERSION_LEVEL = 30  # what Apache Kafka 4.3.0 finalizes; tools read the release from it


class Feature(NamedTuple):
    """A feature's supported range and the level that is switched on (0: off)."""

    name: str
    min_version: int
    max_version: int
    level: int


def features(*, transaction_version: int, group_version: int, share_version: int, streams_version: int) -> list[Feature]:
    """All features. transaction.version 2 makes clients use the second transaction protocol (KIP-890), group.version 1 KIP-848,
    share.version 1 KIP-932, streams.version 1 KIP-1071.

    kraft.version 0 is a quorum whose voters are fixed, as the one voter here is (KIP-853).
    """
    return [
        Feature("group.version", 0, 1, group_version),
        Feature("kraft.version", 0, 1, 0),
        Feature(METADATA_VERSION, 7, METADATA_VERSION_LEVEL, METADATA_VERSION_LEVEL),
        Feature("share.version", 0, 1, share_version),
        Feature("streams.version", 0, 1, streams_version),
        Feature("transaction.version", 0, 2, transaction_version),
        Feature("eligible.leader.replicas.version", 0, 1, 1),
    ]


def supported(all_features: list[Feature], api_version: int) -> list[Feature]:
    """v0-3 clients cannot read a minimum of 0 (KAFKA-17011): features that have it are left out for them."""
    return [feature for feature in all_features if feature.min_version > 0 or api_version >= 4]
