"""Where share groups begin: told, altered and forgotten by administrators (DescribeShareGroupOffsets and the two others).

Where a group is, is the share coordinator's; here is which share partitions it has. Nothing is altered while somebody is in the group.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from oncelog.coordinator.deferred import Reply, all_of, followed_by
from oncelog.coordinator.groups.group_type import GroupType
from oncelog.coordinator.groups.shard import GroupShard, loaded_shard
from oncelog.coordinator.groups.share.draft import Draft
from oncelog.coordinator.groups.share.initializing import find, note_initialized, rewrite
from oncelog.coordinator.groups.share.pieces import in_pieces
from oncelog.coordinator.groups.share.places import keys_of, of_keys, partitions_of, with_more
from oncelog.coordinator.groups.share.state import Places, ShareGroup, ShareTopic
from oncelog.coordinator.result import Result
from oncelog.coordinator.runtime import CoordinatorRuntime
from oncelog.coordinator.share.persister import SharePartitionKey, SharePersister, StateSummary
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.names import TopicPartition
from oncelog.protocol.topics import Topics

_log = logging.getLogger(__name__)
_E = ErrorCode


class ShareOffsets:
    """`on_reset` is called with each share partition that was set or forgotten: whoever serves it must look anew."""

    def __init__(
        self,
        runtime: CoordinatorRuntime[GroupShard],
        topics: Topics,
        persister: SharePersister,
        on_reset: Callable[[SharePartitionKey], None],
    ) -> None:
        self._on_reset = on_reset
        self._forgetting: set[str] = set()  # groups that a deletion is under way of
        self._runtime = runtime
        self._topics = topics
        self._persister = persister

    def known(self, group_id: str) -> list[TopicPartition]:
        """Every share partition that a group has a state of; none when there is no such group. Raises KafkaError 14."""
        if self._runtime.loading:
            raise KafkaError(_E.COORDINATOR_LOAD_IN_PROGRESS)
        group = find(self._runtime, group_id)
        topics = group.initialized.values() if group is not None else ()
        return sorted(TopicPartition(topic.name, p) for topic in topics for p in topic.partitions)

    def describe(self, group_id: str, places: Sequence[TopicPartition]) -> Reply[list[StateSummary | ErrorCode]]:
        """How far each is, in their order; one that there is not, or that has no state, is at -1."""
        nowhere = uuid.UUID(int=0)
        keys = []
        for place in places:
            topic = self._topics.get(place.topic)
            keys.append(SharePartitionKey(group_id, topic.topic_id if topic is not None else nowhere, place.partition))
        return in_pieces(self._runtime, keys, self._persister.summary)

    def alter(self, group_id: str, wanted: Mapping[TopicPartition, int]) -> Reply[dict[TopicPartition, ErrorCode]]:
        """Have the group begin there; counts and states of its records begin anew. One that there is not is made.

        One verdict a partition: 3, or what the share coordinator says. Raises KafkaError 14, 24, 68, 69.
        """
        verdicts = {place: _E.NONE if self._topics.has_partition(place) else _E.UNKNOWN_TOPIC_OR_PARTITION for place in wanted}
        found = self._places(place for place, code in verdicts.items() if code is _E.NONE)
        self._check(group_id, create=True)

        def decide(shard: GroupShard, _now_ms: int) -> Result[int]:
            draft = Draft(shard.share_groups.get(group_id) or ShareGroup(group_id))
            if found:
                draft.put_places(with_more(draft.group.initializing, found), draft.group.initialized, draft.group.deleting)
            return Result(draft.group.epoch, tuple(draft.records))

        epoch = self._runtime.write(group_id, decide).response
        keys = keys_of(group_id, found)

        def place_of(key: SharePartitionKey) -> TopicPartition:
            return TopicPartition(found[key.topic_id].name, key.partition)

        def ask(some: Sequence[SharePartitionKey]) -> Reply[list[ErrorCode]]:
            reply = all_of([self._persister.initialize(key, epoch, wanted[place_of(key)]) for key in some])
            self._tell(some)
            return reply

        def note(codes: list[ErrorCode]) -> dict[TopicPartition, ErrorCode]:
            done = [key for key, code in zip(keys, codes, strict=True) if code is _E.NONE]
            if keys:
                note_initialized(self._runtime, group_id, found, of_keys(done, found))
            return verdicts | {place_of(key): code for key, code in zip(keys, codes, strict=True)}

        return followed_by(in_pieces(self._runtime, keys, ask), note)

    def delete(self, group_id: str, names: Collection[str]) -> Reply[dict[str, ErrorCode | None]]:
        """Forget where the group is in these topics. One verdict each, None: there was nothing. Raises KafkaError 14, 24, 68, 69."""
        group = self._check(group_id, create=False)
        ids = {name: topic_id for topic_id, name in (group.names() if group is not None else {}).items()}
        verdicts = {name: self._verdict(name, ids) for name in names}
        doomed = {ids[name] for name, code in verdicts.items() if code is _E.NONE}
        return followed_by(
            self._forget(group_id, doomed, note=True),
            lambda codes: {name: codes.get(ids[name], code) if code is _E.NONE else code for name, code in verdicts.items()},
        )

    def _verdict(self, name: str, known: Collection[str]) -> ErrorCode | None:
        if self._topics.get(name) is None:
            return _E.UNKNOWN_TOPIC_OR_PARTITION
        return _E.NONE if name in known else None

    def forget_all(self, group_id: str) -> Reply[ErrorCode]:
        """Before the group goes."""
        group = find(self._runtime, group_id)
        ids = set(group.names()) if group is not None else set()
        try:
            reply = self._forget(group_id, ids, note=False)
        except KafkaError as error:
            return error.code
        return followed_by(reply, lambda codes: next((code for code in codes.values() if code is not _E.NONE), _E.NONE))

    def resume(self, group_id: str) -> None:
        """Go on with what a deletion did not finish: until then nobody is given those topics."""
        group = find(self._runtime, group_id)
        if group is None or not group.deleting or group_id in self._forgetting:
            return
        try:
            self._forget(group_id, set(group.deleting), note=True)
        except KafkaError as error:
            _log.warning("deleted share partitions not forgotten, tried again group=%s error=%s", group_id, error)

    # -- inside

    def _forget(self, group_id: str, ids: set[uuid.UUID], *, note: bool) -> Reply[dict[uuid.UUID, ErrorCode]]:
        """The worst code of each topic. `note`: the group stays, and shall know that they are gone. Raises KafkaError."""
        group = find(self._runtime, group_id)
        if group is None or not ids:
            return {}
        keys = keys_of(group_id, {topic_id: self._doomed(group, topic_id) for topic_id in ids})
        rewrite(self._runtime, group_id, lambda draft: _begin_to_forget(draft, ids))
        self._forgetting.add(group_id)

        def end(codes: list[ErrorCode]) -> dict[uuid.UUID, ErrorCode]:
            self._forgetting.discard(group_id)
            worst = dict.fromkeys(ids, _E.NONE)
            for key, code in zip(keys, codes, strict=True):
                worst[key.topic_id] = code if code is not _E.NONE else worst[key.topic_id]
            now = find(self._runtime, group_id)
            if note or (now is not None and now.members):
                done = {topic_id for topic_id, code in worst.items() if code is _E.NONE}
                rewrite(self._runtime, group_id, lambda draft: _forgotten(draft, done))
            return worst

        def ask(some: Sequence[SharePartitionKey]) -> Reply[list[ErrorCode]]:
            reply = self._persister.delete(some)
            self._tell(some)
            return reply

        return followed_by(in_pieces(self._runtime, keys, ask), end)

    def _doomed(self, group: ShareGroup, topic_id: uuid.UUID) -> ShareTopic:
        """Its share partitions; all of the topic, if a deletion was begun, which notes no partitions."""
        known = partitions_of(group.initialized, topic_id) | partitions_of(group.initializing, topic_id)
        topic = self._topics.by_id(topic_id)
        if topic_id in group.deleting and topic is not None:
            known |= frozenset(range(topic.partitions))
        return ShareTopic(group.names()[topic_id], known)

    def _check(self, group_id: str, *, create: bool) -> ShareGroup | None:
        """The group, which must be empty; None: there is none yet. Raises KafkaError 14, 24, 68, 69."""
        if not group_id:
            raise KafkaError(_E.INVALID_GROUP_ID, "The group id is invalid.")
        shard = loaded_shard(self._runtime, group_id)
        group = shard.share_groups.get(group_id)
        if group is None and not (create and shard.type_of(group_id) is None):
            raise shard.refusal(group_id, GroupType.SHARE)
        if group is not None and group.members:
            raise KafkaError(_E.NON_EMPTY_GROUP, "The group is not empty.")
        return group

    def _places(self, places: Iterable[TopicPartition]) -> dict[uuid.UUID, ShareTopic]:
        """By topic id; those must be there."""
        found: dict[str, set[int]] = {}
        for name, partition in places:
            found.setdefault(name, set()).add(partition)
        topics = ((self._topics.get(name), partitions) for name, partitions in found.items())
        return {topic.topic_id: ShareTopic(topic.name, frozenset(partitions)) for topic, partitions in topics if topic is not None}

    def _tell(self, keys: Sequence[SharePartitionKey]) -> None:
        """At once, not when it is on disk: who served them until now may write no more, with an epoch that may still be the same."""
        for key in keys:
            self._on_reset(key)


def _begin_to_forget(draft: Draft, ids: set[uuid.UUID]) -> None:
    group, names = draft.group, draft.group.names()
    deleting = {**group.deleting, **{topic_id: names[topic_id] for topic_id in ids}}
    draft.put_places(_others(group.initializing, ids), _others(group.initialized, ids), deleting)


def _forgotten(draft: Draft, ids: set[uuid.UUID]) -> None:
    group = draft.group
    draft.put_places(group.initializing, group.initialized, {each: name for each, name in group.deleting.items() if each not in ids})


def _others(places: Places, ids: set[uuid.UUID]) -> Places:
    return {topic_id: topic for topic_id, topic in places.items() if topic_id not in ids}
