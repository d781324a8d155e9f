"""What a decision returns: it changes nothing itself (Kafka's `CoordinatorResult`)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

T = TypeVar("T")


class CoordinatorRecord(NamedTuple):
    """Key and value as they stand in the internal topic; value None is a tombstone."""

    key: bytes
    value: bytes | None


@dataclass(frozen=True, slots=True)
class Result(Generic[T]):
    """The answer to give once `records` are durable, and `effects` to carry out after they were replayed."""

    response: T
    records: tuple[CoordinatorRecord, ...] = ()
    effects: tuple[Any, ...] = field(default=())
