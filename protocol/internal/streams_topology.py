"""What a Kafka Streams application is made of, as record type 23 of `__consumer_offsets` holds it (`StreamsGroupTopologyValue`)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from oncelog.protocol.internal.fields import FieldReader, FieldWriter, record_fields, record_value
from oncelog.protocol.primitives import Buffer


class KeyValue(NamedTuple):
    """A config of a topic, a tag of a client."""

    key: str
    value: str


class TopicInfo(NamedTuple):
    """An internal topic of the application. `partitions` 0: to be derived; `replication_factor` 0: the broker's default."""

    name: str
    partitions: int = 0
    replication_factor: int = 0
    topic_configs: tuple[KeyValue, ...] = ()


class CopartitionGroup(NamedTuple):
    """Topics that must have equally many partitions, as positions in the lists of their subtopology."""

    source_topics: tuple[int, ...] = ()
    source_topic_regex: tuple[int, ...] = ()
    repartition_source_topics: tuple[int, ...] = ()


class Subtopology(NamedTuple):
    """A part of the application that runs by itself: what it reads, writes and keeps."""

    subtopology_id: str
    source_topics: tuple[str, ...] = ()
    source_topic_regex: tuple[str, ...] = ()
    state_changelog_topics: tuple[TopicInfo, ...] = ()
    repartition_sink_topics: tuple[str, ...] = ()
    repartition_source_topics: tuple[TopicInfo, ...] = ()
    copartition_groups: tuple[CopartitionGroup, ...] = ()


@dataclass(frozen=True, slots=True)
class StreamsGroupTopologyValue:
    """What the application is made of."""

    epoch: int
    subtopologies: tuple[Subtopology, ...] = ()

    def encode(self) -> bytes:
        out = record_value()
        out.int32(self.epoch)
        out.array(self.subtopologies, lambda each: _write_subtopology(out, each))
        out.tags()
        return out.result()

    @classmethod
    def decode(cls, data: Buffer) -> StreamsGroupTopologyValue:
        fields = record_fields(cls.__name__, data)
        return cls(fields.int32(), tuple(fields.array(lambda: _read_subtopology(fields))))


def _write_subtopology(out: FieldWriter, subtopology: Subtopology) -> None:
    def topic(info: TopicInfo) -> None:
        out.string(info.name)
        out.int32(info.partitions)
        out.int16(info.replication_factor)
        write_pairs(out, info.topic_configs)
        out.tags()

    def group(copartitioned: CopartitionGroup) -> None:
        for positions in copartitioned:
            out.array(positions, out.int16)
        out.tags()

    out.string(subtopology.subtopology_id)
    out.array(subtopology.source_topics, out.string)
    out.array(subtopology.source_topic_regex, out.string)
    out.array(subtopology.state_changelog_topics, topic)
    out.array(subtopology.repartition_sink_topics, out.string)
    out.array(subtopology.repartition_source_topics, topic)
    out.array(subtopology.copartition_groups, group)
    out.tags()


def _read_subtopology(fields: FieldReader) -> Subtopology:
    def topic() -> TopicInfo:
        info = TopicInfo(fields.string(), fields.int32(), fields.int16(), tuple(fields.array(lambda: read_pair(fields))))
        fields.tags()
        return info

    def group() -> CopartitionGroup:
        copartitioned = CopartitionGroup(*[tuple(fields.array(fields.int16)) for _ in range(3)])
        fields.tags()
        return copartitioned

    subtopology = Subtopology(
        fields.string(),
        tuple(fields.array(fields.string)),
        tuple(fields.array(fields.string)),
        tuple(fields.array(topic)),
        tuple(fields.array(fields.string)),
        tuple(fields.array(topic)),
        tuple(fields.array(group)),
    )
    fields.tags()
    return subtopology


def write_pairs(out: FieldWriter, pairs: Iterable[KeyValue]) -> None:
    """An array of pairs."""

    def pair(entry: KeyValue) -> None:
        out.string(entry.key)
        out.string(entry.value)
        out.tags()

    out.array(pairs, pair)


def read_pair(fields: FieldReader) -> KeyValue:
    """One element of such an array."""
    pair = KeyValue(fields.string(), fields.string())
    fields.tags()
    return pair
