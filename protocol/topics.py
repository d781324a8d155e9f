"""A topic, and the one interface through which the broker reads which topics there are."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from oncelog.protocol.names import TopicPartition


@dataclass(frozen=True, slots=True)
class Topic:
    """`configs` holds overrides only, as text. `configs_known` False: they were lost, so nothing may be deleted by them."""

    name: str
    topic_id: uuid.UUID
    partitions: int
    configs: dict[str, str] = field(default_factory=dict)
    configs_known: bool = True


class Topics(Protocol):
    """The topics as handlers and coordinators read them: today from the registry (`storage/directory/topics.py`), which only those see who
    change topics; a member of a cluster would read them from an image of its metadata log, of which `generation` would be the offset."""

    @property
    def generation(self) -> int:
        """Rises with every change."""

    def get(self, name: str) -> Topic | None: ...

    def by_id(self, topic_id: uuid.UUID) -> Topic | None: ...

    def all(self) -> list[Topic]:
        """By name."""

    def has_partition(self, topic_partition: TopicPartition) -> bool: ...

    def leader_epochs(self, name: str) -> Mapping[int, int]:
        """Of the partitions whose leader epoch is not 0: those that were brought from a Kafka cluster, whose leaders have counted."""
