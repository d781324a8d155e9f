"""Encoded Metadata answers, kept until a topic changes; and how one topic is told."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from oncelog.protocol import messages
from oncelog.protocol.names import INTERNAL_TOPICS, TopicPartition

if TYPE_CHECKING:
    from oncelog.broker.context import RequestContext
    from oncelog.storage.topics import Topic, TopicRegistry

MAX_ENTRIES = 256
MAX_BYTES = 16 << 20


class MetadataCache:
    """Answers by (version, request body, endpoint), for as long as the registry's generation stays."""

    def __init__(self, topics: TopicRegistry) -> None:
        self._topics = topics
        self._generation = -1
        self._bytes = 0
        self._answers: OrderedDict[Any, bytes] = OrderedDict()

    def get(self, key: Any) -> bytes | None:
        """The answer, if nothing has changed since it was given."""
        if self._generation != self._topics.generation:
            self._answers.clear()
            self._bytes = 0
            self._generation = self._topics.generation
            return None
        return self._answers.get(key)

    def put(self, key: Any, answer: bytes) -> None:
        """Keep an answer made since the last `get`."""
        if self._generation != self._topics.generation or len(answer) > MAX_BYTES:
            return
        self._answers[key] = answer
        self._bytes += len(answer)
        while len(self._answers) > MAX_ENTRIES or self._bytes > MAX_BYTES:
            _key, dropped = self._answers.popitem(last=False)
            self._bytes -= len(dropped)

    def brokers(self, ctx: RequestContext) -> list[Any]:
        """This broker, at the address that the client can dial."""
        host, port = ctx.broker.endpoint_for(ctx.connection)
        return [messages.MetadataResponse.MetadataResponseBroker(node_id=ctx.broker.node_id, host=host, port=port, rack=None)]


def topic_entry(topic: Topic, ctx: RequestContext, operations: int) -> Any:
    """A topic with its partitions, all led by this broker."""
    kind = messages.MetadataResponse.MetadataResponseTopic
    node = ctx.broker.node_id
    partitions = [
        kind.MetadataResponsePartition(
            partition_index=index,
            leader_id=node,
            leader_epoch=leader_epoch(ctx, TopicPartition(topic.name, index)),
            replica_nodes=[node],
            isr_nodes=[node],
            offline_replicas=[],
        )
        for index in range(topic.partitions)
    ]
    return kind(
        name=topic.name,
        topic_id=topic.topic_id,
        is_internal=topic.name in INTERNAL_TOPICS,
        partitions=partitions,
        topic_authorized_operations=operations,
    )


def leader_epoch(ctx: RequestContext, place: TopicPartition) -> int:
    """What the partition itself compares with: 0, unless it was brought from a Kafka cluster, whose leaders have counted."""
    log = ctx.broker.logs.log(place)
    return 0 if log is None else log.leader_epoch
