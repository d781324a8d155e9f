"""Whether a topic may be made under a name, for CreateTopics and for topics made on demand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from oncelog.broker.topics.names import topic_name_problem
from oncelog.protocol.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from oncelog.storage.directory.manager import LogManager


def check_new_topic(name: str, logs: LogManager) -> None:
    """Raises KafkaError 17 or 36. Names that differ only in `.` and `_` would share a metric's name, so they collide."""
    problem = topic_name_problem(name)
    if problem is not None:
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {problem}")
    if logs.has_name(name):
        raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
    alike = logs.registry.alike(name)
    if alike is not None:
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic '{name}' collides with existing topic: {alike}")
