"""The group coordinator: what request handlers call.

Its parts do the work: `classic/service`, `consumer/service`, `share/service` and `streams/service` (the groups of each type; here is
decided whose a request is), `offsets/service`, `listing` and `removal`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from oncelog.coordinator.deferred import Reply
from oncelog.coordinator.groups.classic.join import JoinGroup
from oncelog.coordinator.groups.classic.join import refuse as refuse_join
from oncelog.coordinator.groups.classic.requests import Heartbeat, LeavingMember, SyncGroup
from oncelog.coordinator.groups.classic.service import ClassicGroupService, OnRebalance
from oncelog.coordinator.groups.classic.state import ClassicGroup, JoinGroupResult, SyncGroupResult
from oncelog.coordinator.groups.config import GroupConfig
from oncelog.coordinator.groups.group_type import GroupType, GroupWing, HeartbeatGroup
from oncelog.coordinator.groups.listing import GroupListing
from oncelog.coordinator.groups.offsets.service import OffsetService
from oncelog.coordinator.groups.removal import GroupRemoval
from oncelog.coordinator.groups.shard import GroupShard, loaded_shard
from oncelog.coordinator.result import Result
from oncelog.coordinator.runtime import CoordinatorRuntime
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.names import CONSUMER_OFFSETS
from oncelog.protocol.primitives import uuid_to_kafka
from oncelog.storage.directory.manager import LogManager
from oncelog.storage.env import Env

if TYPE_CHECKING:
    from oncelog.coordinator.groups.consumer.heartbeat import ConsumerHeartbeat, HeartbeatAnswer
    from oncelog.coordinator.groups.consumer.service import ConsumerGroupService, DescribedConsumerGroup, Visible
    from oncelog.coordinator.groups.consumer.state import ConsumerGroup
    from oncelog.coordinator.groups.share.config import ShareGroupConfig
    from oncelog.coordinator.groups.share.heartbeat import ShareAnswer, ShareHeartbeat
    from oncelog.coordinator.groups.share.service import DescribedShareGroup, ShareGroupService
    from oncelog.coordinator.groups.streams.checks import StreamsHeartbeat
    from oncelog.coordinator.groups.streams.heartbeat import HeartbeatAnswer as StreamsHeartbeatAnswer
    from oncelog.coordinator.groups.streams.service import DescribedStreamsGroup, StreamsGroupService
    from oncelog.coordinator.share.persister import SharePartitionKey, SharePersister

_E = ErrorCode
_WINGS = {GroupType.CONSUMER: "consumer", GroupType.SHARE: "share", GroupType.STREAMS: "streams"}
_OPEN_TO_CLASSIC = (GroupType.CONSUMER, GroupType.STREAMS)  # without members


class GroupService:
    """Until `start()` returned every request is told that the coordinator is loading."""

    def __init__(self, env: Env, logs: LogManager, config: GroupConfig, share_config: ShareGroupConfig, persister: SharePersister) -> None:
        self.config = config
        self._share_config, self._persister = share_config, persister
        self.runtime: CoordinatorRuntime[GroupShard] = CoordinatorRuntime(
            env, logs, CONSUMER_OFFSETS, config.offsets_topic_num_partitions, config.topic_configs(), GroupShard
        )
        self.overrides: Callable[[str], Mapping[str, str]] = lambda _group_id: {}
        self.on_share_reset: Callable[[SharePartitionKey], None] = lambda _key: None
        self.offsets = OffsetService(self.runtime, config, self._wing)
        self.listing = GroupListing(self.runtime)
        self.removal = GroupRemoval(self.runtime, config, self._wing, self._forget)
        self._classic = ClassicGroupService(self.runtime, config)
        self.on_rebalance: OnRebalance | None = None
        self._classic.on_rebalance = self._rebalanced
        self._env = env
        self._topics = logs.topics

    # -- life

    @cached_property
    def consumer(self) -> ConsumerGroupService:
        """Groups of the consumer protocol (KIP-848); made when the first one is met, because a start without any must not wait for them."""
        from oncelog.coordinator.groups.consumer.service import ConsumerGroupService

        made = ConsumerGroupService(self.runtime, self.config, self._topics, self._dissolve, self._classic.revive)
        made.overrides = lambda group_id: self.overrides(group_id)
        made.on_rebalance = self._rebalanced
        made.start()
        return made

    @cached_property
    def share(self) -> ShareGroupService:
        """Share groups (KIP-932); made as late."""
        from oncelog.coordinator.groups.share.service import ShareGroupService

        made = ShareGroupService(self.runtime, self._share_config, self._topics, self._persister, lambda key: self.on_share_reset(key))
        made.overrides = lambda group_id: self.overrides(group_id)
        made.start()
        return made

    @cached_property
    def streams(self) -> StreamsGroupService:
        """Groups of Kafka Streams (KIP-1071); made as late."""
        from oncelog.coordinator.groups.streams.service import StreamsGroupService

        made = StreamsGroupService(self.runtime, self.config, self._topics, self._dissolve)
        made.overrides = lambda group_id: self.overrides(group_id)
        made.start()
        return made

    def _wing(self, kind: GroupType) -> GroupWing:
        wing: GroupWing = getattr(self, _WINGS[kind])
        return wing

    def start(self) -> None:
        """Load; members that were there get a full session to come back."""
        self.runtime.load()
        self._classic.start()
        for kind in {group.type for shard in self.runtime.shards() for group in shard.heartbeat_groups()}:
            assert self._wing(kind) is not None
        self.removal.start()

    def tick(self, now_ms: float) -> None:
        """Carry out what is due."""
        self.runtime.tick(now_ms)

    def next_deadline_ms(self) -> float | None:
        return self.runtime.next_deadline_ms()

    def on_earlier(self, listener: Callable[[float], None]) -> None:
        """Have `listener(deadline_ms)` called when something is to be done before everything else that is scheduled."""
        self.runtime.timers.on_earlier = listener

    def replay_marker(self, partition: int, producer_id: int, producer_epoch: int, commit: bool, offset: int) -> None:
        """A marker was written to a partition of `__consumer_offsets`."""
        self.runtime.replay_marker(partition, producer_id, producer_epoch, commit, offset)

    def partition_for(self, group_id: str) -> int:
        """The partition of `__consumer_offsets` that a group lives in."""
        return self.runtime.partition_for(group_id)

    # -- members

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
        typed = shard.heartbeat_group(request.group_id)
        if typed is not None and (typed.members or typed.type not in _OPEN_TO_CLASSIC):
            return JoinGroupResult(_E.INCONSISTENT_GROUP_PROTOCOL)
        group = shard.groups.get(request.group_id)
        if group is None:
            if request.member_id:
                return JoinGroupResult(_E.UNKNOWN_MEMBER_ID, request.member_id)
            if typed is not None and (error := self._drop_empty(typed)) is not _E.NONE:
                return JoinGroupResult(error, request.member_id)
            group = shard.groups[request.group_id] = ClassicGroup(request.group_id)
        return self._classic.join(group, request)

    def sync_group(self, request: SyncGroup) -> Reply[SyncGroupResult]:
        """Give (the leader) or ask for the assignment."""
        consumer = self._consumer_group(request.group_id)
        if consumer is not None:
            return self.consumer.sync(consumer, request)
        group, error = self._group(request.group_id)
        return SyncGroupResult(error) if group is None else self._classic.sync(group, request)

    def heartbeat(self, request: Heartbeat) -> ErrorCode:
        """A sign of life."""
        consumer = self._consumer_group(request.group_id)
        if consumer is not None:
            return self.consumer.classic_heartbeat(consumer, request)
        group, error = self._group(request.group_id)
        return error if group is None else self._classic.heartbeat(group, request)

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
        return _E.NONE, self._classic.leave(group, members)

    def consumer_group_heartbeat(self, request: ConsumerHeartbeat, visible: Visible) -> Reply[HeartbeatAnswer]:
        """Join, stay or leave. `visible`: may the member see a topic that its regular expression matches? Raises KafkaError."""
        if self.runtime.loading:
            raise KafkaError(_E.COORDINATOR_LOAD_IN_PROGRESS)
        if not request.member_id and request.api_version == 0 and request.member_epoch == 0:
            request = replace(request, member_id=uuid_to_kafka(self._env.random.uuid()))
        return self.consumer.heartbeat(request, visible)

    def consumer_group_describe(self, group_id: str) -> DescribedConsumerGroup:
        """Raises KafkaError 14, 24, 69."""
        shard = loaded_shard(self.runtime, group_id)
        group = shard.consumer_groups.get(group_id)
        if group is None:
            raise shard.refusal(group_id, GroupType.CONSUMER)
        return self.consumer.describe(group)

    def streams_group_heartbeat(self, request: StreamsHeartbeat) -> Reply[StreamsHeartbeatAnswer]:
        """Join, stay or leave. Raises KafkaError."""
        if self.runtime.loading:
            raise KafkaError(_E.COORDINATOR_LOAD_IN_PROGRESS)
        return self.streams.heartbeat(request)

    def streams_group_describe(self, group_id: str) -> DescribedStreamsGroup:
        """Raises KafkaError 14, 24, 69."""
        shard = loaded_shard(self.runtime, group_id)
        group = shard.streams_groups.get(group_id)
        if group is None:
            raise shard.refusal(group_id, GroupType.STREAMS)
        return self.streams.describe(group)

    def share_group_heartbeat(self, request: ShareHeartbeat) -> Reply[ShareAnswer]:
        """Join, stay or leave. Raises KafkaError."""
        if self.runtime.loading:
            raise KafkaError(_E.COORDINATOR_LOAD_IN_PROGRESS)
        return self.share.heartbeat(request)

    def share_group_describe(self, group_id: str) -> DescribedShareGroup:
        """Raises KafkaError 14, 24, 69."""
        shard = loaded_shard(self.runtime, group_id)
        group = shard.share_groups.get(group_id)
        if group is None:
            raise shard.refusal(group_id, GroupType.SHARE)
        return self.share.describe(group)

    def on_topic_deleted(self, name: str) -> None:
        """What groups know of it goes."""
        self.removal.on_topic_deleted(name)
        if any(shard.share_groups for shard in self.runtime.shards()):
            self.share.on_topic_deleted()

    # -- whose group it is

    def _consumer_group(self, group_id: str) -> ConsumerGroup | None:
        return None if self.runtime.loading else self.runtime.shard_of(group_id).consumer_groups.get(group_id)

    def _group(self, group_id: str) -> tuple[ClassicGroup | None, ErrorCode]:
        if not group_id:
            return None, _E.INVALID_GROUP_ID
        if self.runtime.loading:
            return None, _E.COORDINATOR_LOAD_IN_PROGRESS
        group = self.runtime.shard_of(group_id).groups.get(group_id)
        return group, _E.NONE if group is not None else _E.UNKNOWN_MEMBER_ID

    def _drop_empty(self, group: HeartbeatGroup) -> ErrorCode:
        """An empty group makes way for a classic one; its offsets stay."""
        wing = self._wing(group.type)
        try:
            self.runtime.write(group.group_id, lambda _shard, _now: Result(None, wing.tombstones(group.group_id)))
        except KafkaError as error:
            return error.code
        wing.forget(group.group_id)
        return _E.NONE

    def _dissolve(self, group: ClassicGroup) -> None:
        self._forget(group.group_id)
        self._classic.dissolve(group)

    def _forget(self, group_id: str) -> None:
        """A group is gone."""
        self._classic.forget(group_id)
        for name in _WINGS.values():
            if name in self.__dict__:
                getattr(self, name).forget(group_id)

    def _rebalanced(self, group_id: str, epoch: int, member_id: str, client_id: str | None, client_host: str | None, why: str) -> None:
        if self.on_rebalance is not None:
            self.on_rebalance(group_id, epoch, member_id, client_id, client_host, why)
