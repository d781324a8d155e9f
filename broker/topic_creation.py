"""Whether a topic may be made under a name, for CreateTopics and for topics made on demand."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from oncelog.broker.topic_names import topic_name_problem
from oncelog.protocol.errors import ErrorCode, KafkaError


class Topics(Protocol):
    """What is needed of `TopicRegistry`."""

    def get(self, name: str) -> Any: ...

    def all(self) -> Iterable[Any]: ...


def check_new_topic(name: str, topics: Topics) -> None:
    """Raises KafkaError 17 or 36. Names that differ only in `.` and `_` would share a metric's name, so they collide."""
    problem = topic_name_problem(name)
    if problem is not None:
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {problem}")
    if topics.get(name) is not None:
        raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
    if "." in name or "_" in name:
        plain = name.replace(".", "_")
        for topic in topics.all():
            if topic.name.replace(".", "_") == plain:
                message = f"Topic '{name}' collides with existing topic: {topic.name}"
                raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, message)
