"""Share partitions of a group: which have a state, which are to get one, which may be assigned."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping

from oncelog.coordinator.groups.share.state import Places, ShareGroup, ShareTopic
from oncelog.coordinator.share.state import SharePartitionKey
from oncelog.protocol.topics import Topic, Topics


def _subscribed(group: ShareGroup, topics: Topics) -> Iterable[Topic]:
    return (topic for name in sorted(group.all_subscribed_names()) if (topic := topics.get(name)) is not None)


def assignable(group: ShareGroup, topics: Topics) -> dict[uuid.UUID, frozenset[int]]:
    """Those with a state, of subscribed topics that are there."""
    found = ((topic.topic_id, group.initialized.get(topic.topic_id)) for topic in _subscribed(group, topics))
    return {topic_id: known.partitions for topic_id, known in found if known is not None and known.partitions}


def missing(group: ShareGroup, topics: Topics) -> dict[uuid.UUID, ShareTopic]:
    """Those of subscribed topics that have no state and are neither about to get one nor to lose it."""
    found: dict[uuid.UUID, ShareTopic] = {}
    for topic in _subscribed(group, topics):
        known = partitions_of(group.initialized, topic.topic_id) | partitions_of(group.initializing, topic.topic_id)
        if len(known) < topic.partitions and topic.topic_id not in group.deleting:
            found[topic.topic_id] = ShareTopic(topic.name, frozenset(range(topic.partitions)) - known)
    return found


def partitions_of(places: Places, topic_id: uuid.UUID) -> frozenset[int]:
    known = places.get(topic_id)
    return known.partitions if known is not None else frozenset()


def with_more(places: Places, more: Mapping[uuid.UUID, ShareTopic]) -> dict[uuid.UUID, ShareTopic]:
    """Those of either."""
    found = dict(places)
    for topic_id, topic in more.items():
        found[topic_id] = ShareTopic(topic.name, partitions_of(places, topic_id) | topic.partitions)
    return found


def without(places: Places, less: Mapping[uuid.UUID, ShareTopic]) -> dict[uuid.UUID, ShareTopic]:
    """Those of `places` that are not in `less`."""
    left = {topic_id: ShareTopic(topic.name, topic.partitions - partitions_of(less, topic_id)) for topic_id, topic in places.items()}
    return {topic_id: topic for topic_id, topic in left.items() if topic.partitions}


def common(places: Places, others: Places) -> dict[uuid.UUID, ShareTopic]:
    """Those of both."""
    found = {topic_id: ShareTopic(topic.name, topic.partitions & partitions_of(others, topic_id)) for topic_id, topic in places.items()}
    return {topic_id: topic for topic_id, topic in found.items() if topic.partitions}


def existing(places: Places, topics: Topics) -> dict[uuid.UUID, ShareTopic]:
    """Those of topics that are there."""
    return {topic_id: topic for topic_id, topic in places.items() if topics.by_id(topic_id) is not None}


def keys_of(group_id: str, places: Places) -> list[SharePartitionKey]:
    """As the share coordinator knows them, in order."""
    return [SharePartitionKey(group_id, topic_id, p) for topic_id, topic in sorted(places.items()) for p in sorted(topic.partitions)]


def of_keys(keys: Iterable[SharePartitionKey], names: Places) -> dict[uuid.UUID, ShareTopic]:
    """Back again; topics are called as in `names`."""
    found: dict[uuid.UUID, set[int]] = {}
    for key in keys:
        found.setdefault(key.topic_id, set()).add(key.partition)
    return {topic_id: ShareTopic(names[topic_id].name, frozenset(partitions)) for topic_id, partitions in found.items()}
