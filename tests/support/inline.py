"""What a directory of logs needs, without chance, threads or waiting."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable

from oncelog.protocol.errors import KafkaError
from oncelog.storage.directory.manager import LogManager
from oncelog.storage.log.flush import FlushTarget, flush_now


class SeededRandom:
    """The same values for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def uuid(self) -> uuid.UUID:
        return uuid.UUID(int=self._random.getrandbits(128))

    def below(self, bound: int) -> int:
        return self._random.randrange(bound)


class InlineFlusher:
    """Flushes before `request` returns."""

    def request(self, log: FlushTarget) -> None:
        flush_now(log)

    def aside(self, work: Callable[[], None], done: Callable[[], None]) -> None:
        work()
        done()

    def close(self) -> None:
        """Nothing is ever under way."""


def create_partitions(logs: LogManager, topic: str, total: int) -> None:
    """Grow a topic; durable when it returns. Raises KafkaError."""
    told: list[KafkaError | None] = []
    logs.begin_create_partitions(topic, total, told.append)
    _settle(logs, told)


def delete_topic(logs: LogManager, topic: str) -> None:
    """Nothing bears the name when it returns. Raises KafkaError."""
    told: list[KafkaError | None] = []
    logs.begin_delete_topic(topic, told.append)
    flush_now(logs.topics)
    logs.folders.rename_all()
    _settle(logs, told)


def _settle(logs: LogManager, told: list[KafkaError | None]) -> None:
    flush_now(logs.topics)
    (error,) = told
    if error is not None:
        raise error
