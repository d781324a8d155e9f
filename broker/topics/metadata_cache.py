"""Encoded Metadata answers, and the encoded topics they are made of, kept until a topic changes."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from oncelog.protocol import messages
from oncelog.protocol.hot.metadata import pack_metadata_topic
from oncelog.protocol.names import INTERNAL_TOPICS

if TYPE_CHECKING:
    from oncelog.broker.context import RequestContext
    from oncelog.storage.directory.topic import Topic, Topics

NOT_REQUESTED = -(2**31)  # the authorized operations of a topic
MAX_ENTRIES = 256
MAX_TOPICS = 20_000
MAX_BYTES = 16 << 20
Key = tuple[int, bytes, tuple[str, int]]  # version, request body, endpoint


class MetadataCache:
    """Answers by `Key`, for as long as the registry's generation stays."""

    def __init__(self, topics: Topics) -> None:
        self._topics = topics
        self._generation = -1
        self._bytes = 0
        self._answers: OrderedDict[Key, bytes] = OrderedDict()
        self._packed: dict[tuple[int, str], tuple[Topic, bytes]] = {}

    def topic(self, ctx: RequestContext, topic: Topic, operations: int) -> bytes:
        """A topic as an answer tells it, its partitions all led by this broker."""
        version = ctx.api_version
        if operations != NOT_REQUESTED:
            return _packed(ctx, topic, operations)
        kept = self._packed.get((version, topic.name))
        if kept is not None and kept[0] is topic:
            return kept[1]
        packed = _packed(ctx, topic, operations)
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

    def brokers(self, ctx: RequestContext) -> list[messages.MetadataResponse.MetadataResponseBroker]:
        """This broker, at the address that the client can dial."""
        host, port = ctx.broker.endpoint_for(ctx.connection)
        return [messages.MetadataResponse.MetadataResponseBroker(node_id=ctx.broker.node_id, host=host, port=port, rack=None)]


def _packed(ctx: RequestContext, topic: Topic, operations: int) -> bytes:
    return pack_metadata_topic(
        ctx.api_version,
        0,
        topic.name,
        topic.topic_id.bytes,
        topic.name in INTERNAL_TOPICS,
        topic.partitions,
        ctx.broker.node_id,
        operations,
        ctx.broker.logs.leader_epochs(topic.name),
    )
