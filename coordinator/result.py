"""What a decision returns: it changes nothing itself (Kafka's `CoordinatorResult`)."""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, TypeVar

T = TypeVar("T")


class CoordinatorRecord(NamedTuple):
    """Key and value as they stand in the internal topic; value None is a tombstone.

    `content`: what the shard makes of them, from who has encoded it, so that replay need not decode it again; None: it does.
    """

    key: bytes
    value: bytes | None
    content: Any = None


class Result(NamedTuple, Generic[T]):
    """The answer to give once `records` are durable, and `effects` to carry out after they were replayed."""

    response: T
    records: tuple[CoordinatorRecord, ...] = ()
    effects: tuple[Any, ...] = ()
