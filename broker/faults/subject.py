"""What of a request a rule may look at: its header, and by need what its body names."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.header import RequestHeader
from oncelog.protocol.primitives import Buffer, MalformedRequest


class Subject:
    """One request. `topic_name(id)` names topics that newer versions know by id only."""

    def __init__(self, header: RequestHeader, frame: Buffer, principal: str, topic_name: Any) -> None:
        self.header = header
        self.key = ApiKey(header.api_key)
        self.principal = principal
        self._frame = frame
        self._topic_name = topic_name

    @cached_property
    def body(self) -> Any:
        """The decoded request; None for one that cannot be read, which its handler will tell."""
        try:
            return messages.decode_request(self.key, self.header.api_version, memoryview(self._frame)[self.header.body_offset :])
        except MalformedRequest:
            return None

    def names(self, field: str, wanted: object) -> bool:
        """Does the request name this transactional id, group, topic or partition?"""
        return any(value == wanted for value in getattr(self, f"_{field}s")())

    def _transactional_ids(self) -> Iterator[object]:
        body = self.body
        yield getattr(body, "transactional_id", None)
        yield getattr(body, "v3_and_below_transactional_id", None) or None
        for each in getattr(body, "transactions", None) or ():
            yield getattr(each, "transactional_id", None)
        if self.key is ApiKey.FIND_COORDINATOR and getattr(body, "key_type", 0) == 1:
            yield from self._coordinator_keys()

    def _groups(self) -> Iterator[object]:
        body = self.body
        yield getattr(body, "group_id", None)
        for each in getattr(body, "groups", None) or ():
            yield getattr(each, "group_id", each)
        if self.key is ApiKey.FIND_COORDINATOR and getattr(body, "key_type", 0) == 0:
            yield from self._coordinator_keys()

    def _coordinator_keys(self) -> Iterator[object]:
        yield getattr(self.body, "key", None)
        yield from getattr(self.body, "coordinator_keys", None) or ()

    def _topics(self) -> Iterator[object]:
        for topic in _walk(self.body, _is_topic):
            name = getattr(topic, "topic", None) or getattr(topic, "name", None)
            yield name if isinstance(name, str) and name else self._topic_name(getattr(topic, "topic_id", None))

    def _partitions(self) -> Iterator[object]:
        for topic in _walk(self.body, _is_topic):
            for name in ("partitions", "partition_data", "partition_indexes"):
                for each in getattr(topic, name, None) or ():
                    yield each if isinstance(each, int) else _index(each)


def _index(partition: Any) -> object:
    for name in ("partition_index", "index", "partition"):
        found = getattr(partition, name, None)
        if found is not None:
            return found
    return None


def _is_topic(message: Any) -> bool:
    return hasattr(message, "topic_id") or hasattr(message, "topic") or hasattr(message, "name")


def _walk(message: Any, wanted: Any) -> Iterator[Any]:
    """The messages within `message` that are `wanted`, the outermost on each way."""
    for field in _fields(message):
        value = getattr(message, field)
        for each in value if isinstance(value, list | tuple) else ():
            if not hasattr(each, "_defaults"):
                continue
            if wanted(each):
                yield each
            else:
                yield from _walk(each, wanted)


def _fields(message: Any) -> tuple[str, ...]:
    return tuple(getattr(type(message), "_defaults", ()))
