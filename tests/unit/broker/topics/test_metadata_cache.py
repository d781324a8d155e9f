"""Encoded Metadata answers: for how long they are kept, and how many."""

from __future__ import annotations

import uuid
from collections.abc import Mapping

import pytest
from oncelog.broker.topics import metadata_cache
from oncelog.broker.topics.metadata_cache import NOT_REQUESTED, MetadataCache
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.hot.metadata import splice_metadata_topics
from oncelog.protocol.names import TopicPartition
from oncelog.protocol.topics import Topic

pytestmark = pytest.mark.unit
HERE = ("127.0.0.1", 9092)


class Topics:
    """A registry whose generation a test moves."""

    def __init__(self) -> None:
        self.generation = 0
        self.epochs: dict[str, dict[int, int]] = {}

    def leader_epochs(self, name: str) -> Mapping[int, int]:
        return self.epochs.get(name, {})

    def get(self, name: str) -> Topic | None: ...

    def by_id(self, topic_id: uuid.UUID) -> Topic | None: ...

    def all(self) -> list[Topic]: ...

    def has_partition(self, topic_partition: TopicPartition) -> bool: ...


@pytest.fixture
def topics() -> Topics:
    return Topics()


@pytest.fixture
def cache(topics: Topics) -> MetadataCache:
    made = MetadataCache(topics, 7)
    assert made.get((0, b"", HERE)) is None  # from here on, of this generation
    return made


def topic(name: str, partitions: int = 2) -> Topic:
    return Topic(name, uuid.UUID(int=5), partitions)


def read(packed: bytes, version: int = 12) -> messages.MetadataResponse.MetadataResponseTopic:
    whole = splice_metadata_topics(
        version, bytes(messages.encode_response(ApiKey.METADATA, version, messages.MetadataResponse())), [packed]
    )
    (found,) = messages.decode_response(ApiKey.METADATA, version, memoryview(whole)).topics
    return found


def test_an_answer_is_kept_for_its_request_and_endpoint(cache: MetadataCache) -> None:
    cache.put((12, b"body", HERE), b"answer")
    assert cache.get((12, b"body", HERE)) == b"answer"
    for other in ((11, b"body", HERE), (12, b"other", HERE), (12, b"body", ("127.0.0.1", 9093))):
        assert cache.get(other) is None


def test_a_change_of_topics_forgets_all(cache: MetadataCache, topics: Topics) -> None:
    cache.put((12, b"body", HERE), b"answer")
    topics.generation += 1
    assert cache.get((12, b"body", HERE)) is None
    topics.generation -= 1  # whatever the number is then
    assert cache.get((12, b"body", HERE)) is None


def test_an_answer_from_before_a_change_is_not_kept(cache: MetadataCache, topics: Topics) -> None:
    topics.generation += 1
    cache.put((12, b"body", HERE), b"old")
    assert cache.get((12, b"body", HERE)) is None
    assert cache.get((12, b"body", HERE)) is None


def test_the_oldest_go_when_there_are_too_many(cache: MetadataCache, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata_cache, "MAX_ENTRIES", 2)
    for number in range(3):
        cache.put((number, b"", HERE), b"%d" % number)
    assert [cache.get((number, b"", HERE)) for number in range(3)] == [None, b"1", b"2"]


def test_or_when_they_are_too_long(cache: MetadataCache, topics: Topics, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata_cache, "MAX_BYTES", 10)
    cache.put((0, b"", HERE), b"x" * 11)
    assert cache.get((0, b"", HERE)) is None
    for number in range(3):
        cache.put((number, b"", HERE), b"x" * 5)
    assert [cache.get((number, b"", HERE)) is not None for number in range(3)] == [False, True, True]
    topics.generation += 1
    cache.get((0, b"", HERE))
    cache.put((0, b"", HERE), b"x" * 10)  # what was forgotten takes no room
    assert cache.get((0, b"", HERE)) is not None


@pytest.mark.parametrize("version", [0, 1, 5, 7, 8, 9, 12, 13])
def test_a_topic_as_a_version_tells_it(cache: MetadataCache, version: int) -> None:
    found = read(cache.topic(version, topic("t"), NOT_REQUESTED), version)
    assert (found.error_code, found.name) == (0, "t")
    assert [(p.partition_index, p.leader_id, p.replica_nodes, p.isr_nodes) for p in found.partitions] == [
        (0, 7, [7], [7]),
        (1, 7, [7], [7]),
    ]
    if version >= 10:
        assert found.topic_id == uuid.UUID(int=5)


@pytest.mark.parametrize(("name", "internal"), [("t", False), ("__consumer_offsets", True), ("__transaction_state", True), ("__t", False)])
def test_internal_topics_are_told_to_be_so(cache: MetadataCache, name: str, internal: bool) -> None:
    assert read(cache.topic(12, topic(name), NOT_REQUESTED)).is_internal is internal


def test_leader_epochs_that_were_brought_along(cache: MetadataCache, topics: Topics) -> None:
    topics.epochs["t"] = {1: 4}
    assert [p.leader_epoch for p in read(cache.topic(12, topic("t"), NOT_REQUESTED)).partitions] == [0, 4]


def test_a_packed_topic_is_kept_while_it_is_the_same(cache: MetadataCache, topics: Topics) -> None:
    first = topic("t")
    packed = cache.topic(12, first, NOT_REQUESTED)
    topics.epochs["t"] = {0: 9}  # would be seen if it were packed again
    assert cache.topic(12, first, NOT_REQUESTED) is packed
    assert read(cache.topic(11, first, NOT_REQUESTED), 11).partitions[0].leader_epoch == 9
    grown = read(cache.topic(12, topic("t", 3), NOT_REQUESTED))
    assert (len(grown.partitions), grown.partitions[0].leader_epoch) == (3, 9)


def test_operations_are_of_one_client_and_not_kept(cache: MetadataCache) -> None:
    known = topic("t")
    assert read(cache.topic(12, known, 264)).topic_authorized_operations == 264
    assert read(cache.topic(12, known, 8)).topic_authorized_operations == 8
    assert read(cache.topic(12, known, NOT_REQUESTED)).topic_authorized_operations == NOT_REQUESTED


def test_packed_topics_have_a_limit(cache: MetadataCache, topics: Topics, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata_cache, "MAX_TOPICS", 2)
    known = [topic(name) for name in "abc"]
    kept = [cache.topic(12, each, NOT_REQUESTED) for each in known]
    assert cache.topic(12, known[2], NOT_REQUESTED) is kept[2]
    assert cache.topic(12, known[0], NOT_REQUESTED) is not kept[0]
