"""Committed offsets of groups, classic and of the consumer protocol: who may commit, and what is told to whom."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from oncelog.coordinator.deferred import Reply
from oncelog.coordinator.groups.classic.rebalance import touch
from oncelog.coordinator.groups.classic.requests import validate_offset_commit
from oncelog.coordinator.groups.classic.state import ClassicGroup, ClassicGroupState
from oncelog.coordinator.groups.config import GroupConfig
from oncelog.coordinator.groups.group_type import Committer, GroupType, GroupWing
from oncelog.coordinator.groups.offsets.state import MEMBER_EPOCH_API, CommittedOffset, OffsetToCommit, commit_record, tombstone
from oncelog.coordinator.groups.shard import GroupShard, loaded_shard
from oncelog.coordinator.result import Result
from oncelog.coordinator.runtime import CoordinatorRuntime
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.names import TopicPartition

_E = ErrorCode


class FetchedOffset(NamedTuple):
    """One partition of an OffsetFetch answer."""

    offset: int = -1
    leader_epoch: int = -1
    metadata: str = ""
    error: ErrorCode = ErrorCode.NONE


class OffsetService:
    """`wing` gives the service of a type; it is asked only where there are groups of it."""

    def __init__(self, runtime: CoordinatorRuntime[GroupShard], config: GroupConfig, wing: Callable[[GroupType], GroupWing]) -> None:
        self._runtime = runtime
        self._config = config
        self._wing = wing

    def commit(
        self,
        group_id: str,
        member_id: str,
        generation_id: int,
        group_instance_id: str | None,
        offsets: Mapping[TopicPartition, OffsetToCommit],
        topic_ids: Mapping[str, uuid.UUID] | None = None,
        *,
        api_version: int = 9,
    ) -> Reply[dict[TopicPartition, ErrorCode]]:
        """Commit; one verdict a partition. `generation_id` is the member epoch for a consumer group."""
        return self._commit(group_id, member_id, generation_id, group_instance_id, offsets, topic_ids or {}, None, api_version)

    def commit_in_transaction(
        self,
        group_id: str,
        member_id: str,
        generation_id: int,
        group_instance_id: str | None,
        offsets: Mapping[TopicPartition, OffsetToCommit],
        *,
        producer_id: int,
        producer_epoch: int,
        topic_ids: Mapping[str, uuid.UUID] | None = None,
    ) -> Reply[dict[TopicPartition, ErrorCode]]:
        """Commit within a transaction, whose coordinator has been asked already."""
        producer = (producer_id, producer_epoch)
        return self._commit(group_id, member_id, generation_id, group_instance_id, offsets, topic_ids or {}, producer)

    def _commit(
        self,
        group_id: str,
        member_id: str,
        generation_id: int,
        group_instance_id: str | None,
        offsets: Mapping[TopicPartition, OffsetToCommit],
        topic_ids: Mapping[str, uuid.UUID],
        producer: tuple[int, int] | None,
        api_version: int = 9,
    ) -> Reply[dict[TopicPartition, ErrorCode]]:
        if self._runtime.loading:
            return dict.fromkeys(offsets, _E.COORDINATOR_LOAD_IN_PROGRESS)
        error = self._may_commit(
            group_id, Committer(member_id, generation_id, group_instance_id, producer is not None, api_version, offsets.keys())
        )
        if error is not _E.NONE:
            return dict.fromkeys(offsets, error)
        limit = self._config.offset_metadata_max_bytes
        verdicts = {
            place: _E.OFFSET_METADATA_TOO_LARGE if _utf16_length(wanted.metadata) > limit else _E.NONE for place, wanted in offsets.items()
        }

        def decide(_shard: GroupShard, now_ms: int) -> Result[dict[TopicPartition, ErrorCode]]:
            records = tuple(
                commit_record(group_id, place, wanted, topic_ids.get(place.topic), now_ms)
                for place, wanted in offsets.items()
                if verdicts[place] is _E.NONE
            )
            return Result(verdicts, records)

        return self._runtime.submit(group_id, decide, producer=producer, refused=lambda code: dict.fromkeys(offsets, code))

    def _may_commit(self, group_id: str, who: Committer) -> ErrorCode:
        shard = self._runtime.shard_of(group_id)
        typed = shard.heartbeat_group(group_id)
        if typed is not None:
            return self._wing(typed.type).validate_commit(group_id, who)
        group = shard.groups.get(group_id)
        if group is None:  # replaying the first commit makes one
            if who.epoch < 0:
                return _E.NONE
            return _E.ILLEGAL_GENERATION if who.transactional or who.api_version < MEMBER_EPOCH_API else _E.GROUP_ID_NOT_FOUND
        error = validate_offset_commit(group, who.member_id, who.instance_id, who.epoch, transactional=who.transactional)
        member = group.members.get(who.member_id)
        if error is _E.NONE and member is not None and member.deadline_ms is not None:
            touch(member, self._runtime.now_ms())
        return error

    def fetch(
        self,
        group_id: str,
        places: Collection[TopicPartition] | None,
        *,
        require_stable: bool,
        member_id: str | None = None,
        member_epoch: int = -1,
    ) -> Reply[dict[TopicPartition, FetchedOffset]]:
        """Committed offsets of `places`, of all partitions that have one when None. Raises KafkaError -1, 14, 25, 113."""
        typed = None if self._runtime.loading else self._runtime.shard_of(group_id).heartbeat_group(group_id)
        if typed is not None:
            self._wing(typed.type).validate_fetch(group_id, member_id, member_epoch)

        def decide(shard: GroupShard, _now_ms: int) -> Result[dict[TopicPartition, FetchedOffset]]:
            committed = shard.offsets.of(group_id)
            asked = places if places is not None else sorted(committed)
            found = {}
            for place in asked:
                if require_stable and shard.offsets.is_pending(group_id, place):
                    found[place] = FetchedOffset(error=_E.UNSTABLE_OFFSET_COMMIT)
                else:
                    found[place] = _fetched(committed.get(place))
            return Result(found)

        if places is None:
            return self._runtime.submit(group_id, decide)
        return self._runtime.submit(group_id, decide, refused=lambda code: dict.fromkeys(places, FetchedOffset(error=code)))

    def delete(self, group_id: str, places: Iterable[TopicPartition]) -> Reply[dict[TopicPartition, ErrorCode]]:
        """Forget committed offsets of topics that nobody in the group subscribes to. Raises KafkaError for the whole request."""
        shard = loaded_shard(self._runtime, group_id)
        group, typed = shard.groups.get(group_id), shard.heartbeat_group(group_id)
        if shard.type_of(group_id) in (None, GroupType.SHARE):  # a share group commits none
            raise KafkaError(_E.GROUP_ID_NOT_FOUND)
        subscribed: Collection[str] | None = ()
        if typed is not None:
            subscribed = typed.all_subscribed_names()
        elif group is not None:
            subscribed = self._subscribed(group)
        verdicts = {}
        for place in places:
            taken = subscribed is None or place.topic in subscribed
            verdicts[place] = _E.GROUP_SUBSCRIBED_TO_TOPIC if taken else _E.NONE

        def decide(shard: GroupShard, _now_ms: int) -> Result[dict[TopicPartition, ErrorCode]]:
            known = shard.offsets.places_of(group_id)
            return Result(verdicts, tuple(tombstone(group_id, p) for p, code in verdicts.items() if code is _E.NONE and p in known))

        return self._runtime.submit(group_id, decide, refused=lambda code: dict.fromkeys(verdicts, code))

    def _subscribed(self, group: ClassicGroup) -> set[str] | None:
        """Topics that members subscribe to; None: it cannot be told, so all count."""
        if group.state is ClassicGroupState.EMPTY:
            return set()
        if group.protocol_type != "consumer":
            raise KafkaError(_E.NON_EMPTY_GROUP)
        from oncelog.protocol import messages

        topics: set[str] = set()
        for member in group.members.values():
            try:
                topics.update(messages.decode_data("ConsumerProtocolSubscription", member.metadata(group.protocol_name or "")).topics)
            except messages.MalformedRequest:
                return None
        return topics


def _fetched(offset: CommittedOffset | None) -> FetchedOffset:
    return FetchedOffset() if offset is None else FetchedOffset(offset.offset, offset.leader_epoch, offset.metadata)


def _utf16_length(text: str) -> int:
    """Length as Java counts it: the limit is on characters, not on bytes."""
    return len(text) + sum(ord(char) > 0xFFFF for char in text)
