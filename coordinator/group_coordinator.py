"""The group coordinator: what request handlers call. It parks joins and syncs, writes records, and answers when they are durable.

The decisions are in `classic_*` and `offsets`; this module turns their effects into answers and their deadlines into timers.
"""

from __future__ import annotations

import logging
import uuid
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from oncelog.coordinator.classic_group import (
    ClassicGroup,
    ClassicGroupState,
    JoinAnswer,
    JoinGroupResult,
    SyncGroupResult,
)
from oncelog.coordinator.classic_join import JoinGroup, join
from oncelog.coordinator.classic_join import refuse as refuse_join
from oncelog.coordinator.classic_rebalance import expire, fail_assignment, prepare, touch
from oncelog.coordinator.classic_requests import (
    Heartbeat,
    LeavingMember,
    SyncGroup,
    heartbeat,
    leave,
    sync,
    validate_offset_commit,
)
from oncelog.coordinator.group_config import GroupConfig
from oncelog.coordinator.group_shard import GroupShard, group_record, group_tombstone
from oncelog.coordinator.offsets import CommittedOffset, OffsetToCommit, commit_record, tombstone
from oncelog.coordinator.result import CoordinatorRecord, Result
from oncelog.coordinator.runtime import CoordinatorRuntime, Deferred, LogPosition, Reply, coordinator_error
from oncelog.coordinator.timers import Timer
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.names import CONSUMER_OFFSETS, TopicPartition
from oncelog.protocol.primitives import uuid_to_kafka
from oncelog.storage.env import Env
from oncelog.storage.log_manager import LogManager

if TYPE_CHECKING:
    from oncelog.coordinator.consumer_group import ConsumerGroup
    from oncelog.coordinator.consumer_heartbeat import ConsumerHeartbeat, HeartbeatAnswer
    from oncelog.coordinator.consumer_service import ConsumerGroups, DescribedConsumerGroup, Visible

_log = logging.getLogger(__name__)
_S = ClassicGroupState
_E = ErrorCode
_MINUTE_MS = 60_000


class FetchedOffset(NamedTuple):
    """One partition of an OffsetFetch answer."""

    offset: int = -1
    leader_epoch: int = -1
    metadata: str = ""
    error: ErrorCode = ErrorCode.NONE


class DescribedMember(NamedTuple):
    """One member of a DescribeGroups answer."""

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    metadata: bytes
    assignment: bytes


class DescribedGroup(NamedTuple):
    """One group of a DescribeGroups answer."""

    group_id: str
    error: ErrorCode
    state: str
    protocol_type: str = ""
    protocol_name: str = ""
    members: tuple[DescribedMember, ...] = ()


class ListedGroup(NamedTuple):
    """One group of a ListGroups answer."""

    group_id: str
    protocol_type: str
    state: str
    kind: str


class GroupCoordinator:
    """Until `start()` returned every request is told that the coordinator is loading."""

    def __init__(self, env: Env, logs: LogManager, config: GroupConfig) -> None:
        self.config = config
        self.runtime: CoordinatorRuntime[GroupShard] = CoordinatorRuntime(
            env, logs, CONSUMER_OFFSETS, config.offsets_topic_num_partitions, config.topic_configs(), GroupShard
        )
        self._env = env
        self._joins: dict[tuple[str, str], deque[Deferred[JoinGroupResult]]] = {}
        self._syncs: dict[tuple[str, str], deque[Deferred[SyncGroupResult]]] = {}
        self._timers: dict[str, Timer] = {}
        self._topics = logs.topics
        self.overrides: Callable[[str], Mapping[str, str]] = lambda _group_id: {}

    # -- life

    @cached_property
    def consumer(self) -> ConsumerGroups:
        """Groups of the consumer protocol (KIP-848); made when the first one is met, because a start without any must not wait for them."""
        from oncelog.coordinator.consumer_service import ConsumerGroups

        made = ConsumerGroups(self.runtime, self.config, self._topics, self._dissolve, self._revive)
        made.overrides = lambda group_id: self.overrides(group_id)
        made.start()
        return made

    def start(self) -> None:
        """Load; members that were there get a full session to come back."""
        self.runtime.load()
        now_ms = self.runtime.now_ms()
        for shard in self.runtime.shards():
            for group in shard.groups.values():
                for member in group.members.values():
                    touch(member, now_ms)
                self._watch(group)
        if any(shard.consumer_groups for shard in self.runtime.shards()):
            assert self.consumer is not None
        self._schedule_retention()

    def tick(self, now_ms: float) -> None:
        """Carry out what is due."""
        self.runtime.tick(now_ms)

    def next_deadline_ms(self) -> float | None:
        return self.runtime.next_deadline_ms()

    def replay_marker(self, partition: int, producer_id: int, producer_epoch: int, commit: bool, offset: int) -> None:
        """A marker was written to a partition of `__consumer_offsets`."""
        self.runtime.replay_marker(partition, producer_id, producer_epoch, commit, offset)

    def partition_for(self, group_id: str) -> int:
        """The partition of `__consumer_offsets` that a group lives in."""
        return self.runtime.partition_for(group_id)

    # -- classic groups

    def join_group(self, request: JoinGroup) -> Reply[JoinGroupResult]:
        """Become a member, or join the next generation."""
        if self.runtime.loading:
            return JoinGroupResult(_E.COORDINATOR_LOAD_IN_PROGRESS, request.member_id)
        error = refuse_join(request, self.config)
        if error is not _E.NONE:
            return JoinGroupResult(error, request.member_id)
        shard = self.runtime.shard_of(request.group_id)
        consumer = shard.consumer_groups.get(request.group_id)
        if consumer is not None and consumer.members:
            return self.consumer.join(request, uuid_to_kafka(self._env.random.uuid()))
        group = shard.groups.get(request.group_id)
        if group is None:
            if request.member_id:
                return JoinGroupResult(_E.UNKNOWN_MEMBER_ID, request.member_id)
            if consumer is not None and (error := self._drop_empty(consumer)) is not _E.NONE:
                return JoinGroupResult(error, request.member_id)
            group = shard.groups[request.group_id] = ClassicGroup(request.group_id)
        result = join(group, request, self.config, self.runtime.now_ms())
        if result is not None:
            position = self._settle(group)
            return self.runtime.reply_when_durable(result, position, lambda code: JoinGroupResult(code, result.member_id))
        parked: Deferred[JoinGroupResult] = Deferred()
        self._joins.setdefault((group.group_id, request.member_id or request.new_member_id), deque()).append(parked)
        self._settle(group)
        return parked.reply()

    def sync_group(self, request: SyncGroup) -> Reply[SyncGroupResult]:
        """Give (the leader) or ask for the assignment."""
        consumer = self._consumer_group(request.group_id)
        if consumer is not None:
            return self.consumer.sync(consumer, request)
        group, error = self._group(request.group_id)
        if group is None:
            return SyncGroupResult(error)
        result = sync(group, request, self.runtime.now_ms())
        if result is not None:
            self._settle(group)
            return result
        parked: Deferred[SyncGroupResult] = Deferred()
        self._syncs.setdefault((group.group_id, request.member_id), deque()).append(parked)
        self._settle(group, request.assignments)
        return parked.reply()

    def heartbeat(self, request: Heartbeat) -> ErrorCode:
        """A sign of life."""
        consumer = self._consumer_group(request.group_id)
        if consumer is not None:
            return self.consumer.classic_heartbeat(consumer, request)
        group, error = self._group(request.group_id)
        if group is None:
            return error
        error = heartbeat(group, request, self.runtime.now_ms())
        self._watch(group)
        return error

    def leave_group(self, group_id: str, members: list[LeavingMember]) -> tuple[ErrorCode, list[ErrorCode]]:
        """(error of the whole request, one verdict a member)."""
        consumer = self._consumer_group(group_id)
        if consumer is not None:
            try:
                return _E.NONE, self.consumer.leave(consumer, members)
            except KafkaError as refused:
                return refused.code, []
        group, error = self._group(group_id)
        if group is None:
            whole = _E.NONE if error is _E.UNKNOWN_MEMBER_ID else error
            return whole, [_E.UNKNOWN_MEMBER_ID] * len(members)
        verdicts = leave(group, members, self.runtime.now_ms())
        self._settle(group)
        return _E.NONE, verdicts

    def _consumer_group(self, group_id: str) -> ConsumerGroup | None:
        return None if self.runtime.loading else self.runtime.shard_of(group_id).consumer_groups.get(group_id)

    def _drop_empty(self, group: ConsumerGroup) -> ErrorCode:
        """An empty consumer group makes way for a classic one; its offsets stay."""
        try:
            self.runtime.write(group.group_id, lambda _shard, _now: Result(None, self.consumer.tombstones(group)))
        except KafkaError as error:
            return error.code
        self.consumer.forget(group.group_id)
        return _E.NONE

    def _dissolve(self, group: ClassicGroup) -> None:
        """A classic group became a consumer group: whoever waits joins again, and is then a member of that."""
        for member in group.members.values():
            group.refuse(member, _E.REBALANCE_IN_PROGRESS)
        self._forget(group.group_id)
        self._answer_waiting(group, None)

    def _revive(self, written: ClassicGroup) -> None:
        """A consumer group became a classic one: its members join again and elect a leader."""
        group = self.runtime.shard_of(written.group_id).groups[written.group_id]
        now_ms = self.runtime.now_ms()
        for member in group.members.values():
            touch(member, now_ms)
        prepare(group, now_ms)
        self._settle(group)

    # -- consumer groups

    def consumer_group_heartbeat(self, request: ConsumerHeartbeat, visible: Visible) -> Reply[HeartbeatAnswer]:
        """Join, stay or leave. `visible`: may the member see a topic that its regular expression matches? Raises KafkaError."""
        if self.runtime.loading:
            raise KafkaError(_E.COORDINATOR_LOAD_IN_PROGRESS)
        if not request.member_id and request.api_version == 0 and request.member_epoch == 0:
            request = replace(request, member_id=uuid_to_kafka(self._env.random.uuid()))
        return self.consumer.heartbeat(request, visible)

    def consumer_group_describe(self, group_id: str) -> DescribedConsumerGroup:
        """Raises KafkaError 14, 24, 69."""
        group = self._shard(group_id).consumer_groups.get(group_id)
        if group is None:
            classic = group_id in self._shard(group_id).groups
            text = f"Group {group_id} is not a consumer group." if classic else f"Group {group_id} not found."
            raise KafkaError(_E.GROUP_ID_NOT_FOUND, text)
        return self.consumer.describe(group)

    def _group(self, group_id: str) -> tuple[ClassicGroup | None, ErrorCode]:
        if not group_id:
            return None, _E.INVALID_GROUP_ID
        if self.runtime.loading:
            return None, _E.COORDINATOR_LOAD_IN_PROGRESS
        group = self.runtime.shard_of(group_id).groups.get(group_id)
        return group, _E.NONE if group is not None else _E.UNKNOWN_MEMBER_ID

    def _settle(self, group: ClassicGroup, assignments: Mapping[str, bytes] | None = None) -> LogPosition | None:
        """Write the group's record if it is due, answer who can be answered, set the next deadline; what the record's answer waits for."""
        position = None
        if group.record_due:
            group.record_due = False
            position = self._write_group(group, dict(assignments) if assignments is not None else None)
        self._answer_waiting(group, position)
        self._watch(group)
        return position

    def _answer_waiting(self, group: ClassicGroup, position: LogPosition | None) -> None:
        for answer in group.take():
            waiting: dict[tuple[str, str], deque[Deferred[JoinGroupResult]]] | dict[tuple[str, str], deque[Deferred[SyncGroupResult]]]
            waiting = self._joins if isinstance(answer, JoinAnswer) else self._syncs
            queue = waiting.get((answer.group_id, answer.member_id))
            if not queue:
                continue
            parked = queue.popleft()
            if not queue:
                del waiting[(answer.group_id, answer.member_id)]
            self._resolve(parked, answer.result, position)

    def _resolve(
        self,
        parked: Deferred[JoinGroupResult] | Deferred[SyncGroupResult],
        result: JoinGroupResult | SyncGroupResult,
        position: LogPosition | None,
    ) -> None:
        """Answer now, or when the group's record is on disk; with the error when it never will be."""

        def settle(error: KafkaError | None) -> None:
            told = result if error is None else replace(result, error=coordinator_error(error).code)
            parked.resolve(told)  # type: ignore[arg-type]

        if position is None or result.error is not _E.NONE:
            settle(None)
        else:
            self.runtime.when_durable(position, settle)

    def _write_group(self, group: ClassicGroup, assignments: dict[str, bytes] | None) -> LogPosition | None:
        completing = group.state is _S.COMPLETING_REBALANCE
        try:
            written = self.runtime.write(
                group.group_id, lambda _shard, _now: Result(None, (group_record(group, assignments if completing else None),))
            )
        except KafkaError as error:
            _log.error("group record not written group=%s error=%s", group.group_id, error)
            fail_assignment(group, error.code, self.runtime.now_ms())
            return None
        return written.position

    def _watch(self, group: ClassicGroup) -> None:
        """Have the group looked at when its next deadline comes. A later deadline needs no new timer: the old one looks again."""
        deadline = group.next_deadline_ms()
        timer = self._timers.get(group.group_id)
        if deadline is None:
            if timer is not None:
                timer.cancel()
                del self._timers[group.group_id]
            return
        if timer is not None and timer.active and timer.deadline_ms <= deadline:
            return
        if timer is not None:
            timer.cancel()
        self._timers[group.group_id] = self.runtime.schedule(deadline, lambda now_ms: self._expire(group, int(now_ms)))

    def _expire(self, group: ClassicGroup, now_ms: int) -> None:
        before = set(group.members)
        expire(group, now_ms)
        for member_id in before - set(group.members):
            _log.info("member removed, it was silent too long group=%s member=%s", group.group_id, member_id)
        self._settle(group)

    # -- offsets

    def commit_offsets(
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

    def txn_commit_offsets(
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
        if self.runtime.loading:
            return dict.fromkeys(offsets, _E.COORDINATOR_LOAD_IN_PROGRESS)
        error = self._may_commit(
            group_id, member_id, generation_id, group_instance_id, transactional=producer is not None, api_version=api_version
        )
        if error is not _E.NONE:
            return dict.fromkeys(offsets, error)
        limit = self.config.offset_metadata_max_bytes
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

        return self.runtime.submit(group_id, decide, producer=producer, refused=lambda code: dict.fromkeys(offsets, code))

    def _may_commit(
        self, group_id: str, member_id: str, generation_id: int, group_instance_id: str | None, *, transactional: bool, api_version: int
    ) -> ErrorCode:
        shard = self.runtime.shard_of(group_id)
        consumer = shard.consumer_groups.get(group_id)
        if consumer is not None:
            return self.consumer.validate_commit(
                consumer, member_id, generation_id, group_instance_id, transactional=transactional, api_version=api_version
            )
        group = shard.groups.get(group_id)
        if group is None:  # replaying the first commit makes one
            return _E.ILLEGAL_GENERATION if generation_id >= 0 else _E.NONE
        error = validate_offset_commit(group, member_id, group_instance_id, generation_id, transactional=transactional)
        member = group.members.get(member_id)
        if error is _E.NONE and member is not None and member.deadline_ms is not None:
            touch(member, self.runtime.now_ms())
        return error

    def fetch_offsets(
        self,
        group_id: str,
        places: Collection[TopicPartition] | None,
        *,
        require_stable: bool,
        member_id: str | None = None,
        member_epoch: int = -1,
    ) -> Reply[dict[TopicPartition, FetchedOffset]]:
        """Committed offsets of `places`, of all partitions that have one when None. Raises KafkaError 14, 25, 113."""
        consumer = self._consumer_group(group_id)
        if consumer is not None:
            self.consumer.validate_fetch(consumer, member_id, member_epoch)

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
            return self.runtime.submit(group_id, decide)
        return self.runtime.submit(group_id, decide, refused=lambda code: dict.fromkeys(places, FetchedOffset(error=code)))

    def delete_offsets(self, group_id: str, places: Iterable[TopicPartition]) -> Reply[dict[TopicPartition, ErrorCode]]:
        """Forget committed offsets of topics that nobody in the group subscribes to. Raises KafkaError for the whole request."""
        shard = self._shard(group_id)
        group, consumer = shard.groups.get(group_id), shard.consumer_groups.get(group_id)
        if group is None and consumer is None and not shard.offsets.places_of(group_id):
            raise KafkaError(_E.GROUP_ID_NOT_FOUND)
        subscribed: Collection[str] | None = ()
        if consumer is not None:
            subscribed = consumer.all_subscribed_names()
        elif group is not None:
            subscribed = self._subscribed(group)
        verdicts = {}
        for place in places:
            taken = subscribed is None or place.topic in subscribed
            verdicts[place] = _E.GROUP_SUBSCRIBED_TO_TOPIC if taken else _E.NONE

        def decide(shard: GroupShard, _now_ms: int) -> Result[dict[TopicPartition, ErrorCode]]:
            known = shard.offsets.places_of(group_id)
            return Result(verdicts, tuple(tombstone(group_id, p) for p, code in verdicts.items() if code is _E.NONE and p in known))

        return self.runtime.submit(group_id, decide, refused=lambda code: dict.fromkeys(verdicts, code))

    def _subscribed(self, group: ClassicGroup) -> set[str] | None:
        """Topics that members subscribe to; None: it cannot be told, so all count."""
        if group.state is _S.EMPTY:
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

    def on_topic_deleted(self, name: str) -> None:
        """The offsets of a topic go with it."""
        for partition, shard in enumerate(self.runtime.shards()):
            doomed = tuple(tombstone(group, place) for group, place in shard.offsets.groups_with(name))
            if doomed:
                self._write_sweep(partition, doomed)

    # -- administration

    def delete_groups(self, group_ids: Iterable[str]) -> dict[str, Reply[ErrorCode]]:
        """Remove groups without members, with their offsets."""
        return {group_id: self._delete(group_id) for group_id in group_ids}

    def _delete(self, group_id: str) -> Reply[ErrorCode]:
        if self.runtime.loading:
            return _E.COORDINATOR_LOAD_IN_PROGRESS
        shard = self.runtime.shard_of(group_id)
        group, consumer = shard.groups.get(group_id), shard.consumer_groups.get(group_id)
        if group is None and consumer is None and not shard.offsets.places_of(group_id):
            return _E.GROUP_ID_NOT_FOUND
        if consumer is not None and consumer.members:
            return _E.NON_EMPTY_GROUP
        if group is not None and group.state is not _S.EMPTY:
            return _E.NON_EMPTY_GROUP

        def decide(shard: GroupShard, _now_ms: int) -> Result[ErrorCode]:
            return Result(_E.NONE, self._removal(shard, group_id))

        reply = self.runtime.submit(group_id, decide, refused=lambda code: code)
        if reply is not _E.NONE and isinstance(reply, ErrorCode):
            return reply
        self._forget(group_id)
        return reply

    def _removal(self, shard: GroupShard, group_id: str) -> tuple[CoordinatorRecord, ...]:
        offsets = tuple(tombstone(group_id, place) for place in sorted(shard.offsets.places_of(group_id)))
        return (*offsets, *self._group_removal(shard, group_id))

    def _group_removal(self, shard: GroupShard, group_id: str) -> tuple[CoordinatorRecord, ...]:
        """Tombstones of the group itself; none for one that is known by its offsets only."""
        consumer = shard.consumer_groups.get(group_id)
        if consumer is not None:
            return self.consumer.tombstones(consumer)
        return (group_tombstone(group_id),) if group_id in shard.groups else ()

    def _forget(self, group_id: str) -> None:
        timer = self._timers.pop(group_id, None)
        if timer is not None:
            timer.cancel()
        if "consumer" in self.__dict__:
            self.consumer.forget(group_id)

    def describe(self, group_id: str) -> DescribedGroup:
        """A classic group; Dead when there is none."""
        if self.runtime.loading:
            return DescribedGroup(group_id, _E.COORDINATOR_LOAD_IN_PROGRESS, "")
        shard = self.runtime.shard_of(group_id)
        group = shard.groups.get(group_id)
        if group is None:
            if group_id not in shard.consumer_groups and shard.offsets.places_of(group_id):
                return DescribedGroup(group_id, _E.NONE, _S.EMPTY.value)
            return DescribedGroup(group_id, _E.GROUP_ID_NOT_FOUND, _S.DEAD.value)
        agreed = group.state is _S.STABLE
        name = group.protocol_name or "" if agreed else ""
        members = tuple(
            DescribedMember(m.member_id, m.group_instance_id, m.client_id, m.client_host, m.metadata(name) if agreed else b"", m.assignment)
            for m in group.members.values()
        )
        return DescribedGroup(group_id, _E.NONE, group.state.value, group.protocol_type or "", name, members)

    def list(self, states: Collection[str] = (), kinds: Collection[str] = ()) -> list[ListedGroup]:
        """All groups, filtered; filters ignore case. Raises KafkaError 14."""
        if self.runtime.loading:
            raise KafkaError(_E.COORDINATOR_LOAD_IN_PROGRESS)
        wanted_states, wanted_kinds = {s.lower() for s in states}, {k.lower() for k in kinds}
        found = []
        for shard in self.runtime.shards():
            for group in shard.groups.values():
                found.append(ListedGroup(group.group_id, group.protocol_type or "", group.state.value, "classic"))
            for consumer in shard.consumer_groups.values():
                found.append(ListedGroup(consumer.group_id, "consumer", consumer.state.value, "consumer"))
            for group_id in shard.offsets.groups():
                if group_id not in shard.groups and group_id not in shard.consumer_groups:
                    found.append(ListedGroup(group_id, "", _S.EMPTY.value, "classic"))
        return [
            group
            for group in found
            if (not wanted_states or group.state.lower() in wanted_states) and (not wanted_kinds or group.kind in wanted_kinds)
        ]

    def _shard(self, group_id: str) -> GroupShard:
        if not group_id:
            raise KafkaError(_E.INVALID_GROUP_ID)
        if self.runtime.loading:
            raise KafkaError(_E.COORDINATOR_LOAD_IN_PROGRESS)
        return self.runtime.shard_of(group_id)

    # -- retention

    def _schedule_retention(self) -> None:
        self.runtime.schedule(self.runtime.now_ms() + self.config.offsets_retention_check_interval_ms, self._retain)

    def _retain(self, now_ms: float) -> None:
        """Offsets of groups that have been empty for offsets.retention.minutes, and groups without any, go."""
        self._schedule_retention()
        for partition, shard in enumerate(self.runtime.shards()):
            doomed: list[CoordinatorRecord] = []
            for group_id in {*shard.groups, *shard.consumer_groups, *shard.offsets.groups()}:
                doomed += self._expired(shard, group_id, int(now_ms))
            if doomed:
                self._write_sweep(partition, tuple(doomed))

    def _expired(self, shard: GroupShard, group_id: str, now_ms: int) -> Iterable[CoordinatorRecord]:
        group, consumer = shard.groups.get(group_id), shard.consumer_groups.get(group_id)
        if (group is not None and group.state is not _S.EMPTY) or (consumer is not None and consumer.members):
            return
        retention_ms = self.config.offsets_retention_minutes * _MINUTE_MS
        empty_since = group.state_timestamp_ms if group is not None and group.protocol_type else -1
        left = False
        for place, offset in shard.offsets.of(group_id).items():
            due = (
                offset.expire_timestamp_ms
                if offset.expire_timestamp_ms >= 0
                else max(offset.commit_timestamp_ms, empty_since) + retention_ms
            )
            if now_ms >= due and not shard.offsets.is_pending(group_id, place):
                yield tombstone(group_id, place)
            else:
                left = True
        if not left and not shard.offsets.has_pending(group_id):
            yield from self._group_removal(shard, group_id)

    def _write_sweep(self, partition: int, doomed: tuple[CoordinatorRecord, ...]) -> None:
        try:
            self.runtime.write_to(partition, lambda _shard, _now: Result(None, doomed))
        except KafkaError as error:
            _log.warning("offsets not removed, tried again later partition=%d error=%s", partition, error)


def _fetched(offset: CommittedOffset | None) -> FetchedOffset:
    return FetchedOffset() if offset is None else FetchedOffset(offset.offset, offset.leader_epoch, offset.metadata)


def _utf16_length(text: str) -> int:
    """Length as Java counts it: the limit is on characters, not on bytes."""
    return len(text) + sum(ord(char) > 0xFFFF for char in text)
