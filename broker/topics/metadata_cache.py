"""Encoded Metadata answers, and the encoded topics they are made of, kept until a topic changes."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from oncelog.protocol.hot.metadata import pack_metadata_topic
from oncelog.protocol.names import INTERNAL_TOPICS

if TYPE_CHECKING:
    from oncelog.protocol.topics import Topic, Topics

NOT_REQUESTED = -(2**31)  # the authorized operations of a topic
MAX_ENTRIES = 256
MAX_TOPICS = 20_000
MAX_BYTES = 16 << 20
Key = tuple[int, bytes, tuple[str, int]]  # version, request body, endpoint


class MetadataCache:
    """Answers by `Key`, for as long as the registry's generation stays."""

    def __init__(self, topics: Topics, node_id: int) -> None:
        self._topics = topics
        self._node_id = node_id
        self._generation = -1
        self._bytes = 0
        self._answers: OrderedDict[Key, bytes] = OrderedDict()
        self._packed: dict[tuple[int, str], tuple[Topic, bytes]] = {}

    def topic(self, version: int, topic: Topic, operations: int) -> bytes:
        """A topic as an answer of that version tells it, its partitions all led by this broker."""
        if operations != NOT_REQUESTED:
            return self._pack(version, topic, operations)
        kept = self._packed.get((version, topic.name))
        if kept is not None and kept[0] is topic:
            return kept[1]
        packed = self._pack(version, topic, operations)
        if len(self._packed) >= MAX_TOPICS:
            self._packed.clear()
        self._packed[version, topic.name] = (topic, packed)
        return packed

    def get(self, key: Key) -> bytes | None:
        """The answer, if nothing has changed since it was given."""
        if self._generation != self._topics.generation:
            self._answers.clear()
            self._bytes = 0
            self._generation = self._topics.generation
            return None
        return self._answers.get(key)

    def put(self, key: Key, answer: bytes) -> None:
        """Keep an answer made since the last `get`."""
        if self._generation != self._topics.generation or len(answer) > MAX_BYTES:
            return
        self._answers[key] = answer
        self._bytes += len(answer)
        while len(self._answers) > MAX_ENTRIES or self._bytes > MAX_BYTES:
            _key, dropped = self._answers.popitem(last=False)
            self._bytes -= len(dropped)

    def _pack(self, version: int, topic: Topic, operations: int) -> bytes:
        internal, epochs = topic.name in INTERNAL_TOPICS, self._topics.leader_epochs(topic.name)
        return pack_metadata_topic(
            version, 0, topic.name, topic.topic_id.bytes, internal, topic.partitions, self._node_id, operations, epochs
        )
