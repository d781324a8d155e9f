"""Small value types that every layer names the same way."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple


class TopicPartition(NamedTuple):
    """A partition of a topic; printed as Kafka names its folder."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class IsolationLevel(IntEnum):
    """`isolation_level` of Fetch and ListOffsets; any value above 1 acts like 1 (as Apache Kafka 4.3.0 does)."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1


CONSUMER_OFFSETS = "__consumer_offsets"
TRANSACTION_STATE = "__transaction_state"
SHARE_GROUP_STATE = "__share_group_state"
INTERNAL_TOPICS = frozenset({CONSUMER_OFFSETS, TRANSACTION_STATE, SHARE_GROUP_STATE})
