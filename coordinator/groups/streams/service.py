"""Streams groups at work: carries decisions out, keeps sessions, the delay of the first target, and what is told beside tasks.

What is only remembered (sessions, the delay, who asked for a shutdown, how often endpoints changed, topologies fitted to topics) starts
anew after a restart, as with Kafka.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from oncelog.coordinator.deferred import Reply
from oncelog.coordinator.groups.classic.state import ClassicGroup, ClassicGroupState
from oncelog.coordinator.groups.config import GroupConfig
from oncelog.coordinator.groups.group_type import Committer, GroupType
from oncelog.coordinator.groups.sessions import MemberSessions
from oncelog.coordinator.groups.shard import GroupShard, group_tombstone
from oncelog.coordinator.groups.streams import heartbeat
from oncelog.coordinator.groups.streams.checks import LEAVE_EPOCH, StreamsHeartbeat, check
from oncelog.coordinator.groups.streams.commits import may_commit
from oncelog.coordinator.groups.streams.draft import StreamsDraft, StreamsLimits, group_tombstones, metadata_hash, update_target
from oncelog.coordinator.groups.streams.endpoints import by_endpoint
from oncelog.coordinator.groups.streams.heartbeat import Fitting, HeartbeatAnswer
from oncelog.coordinator.groups.streams.state import StreamsGroup, StreamsMemberState
from oncelog.coordinator.groups.streams.topology import FittedTopology, Status, StatusCode, fit
from oncelog.coordinator.result import CoordinatorRecord, Result
from oncelog.coordinator.runtime import CoordinatorRuntime
from oncelog.coordinator.timers import Timer
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.internal.streams_topology import StreamsGroupTopologyValue
from oncelog.protocol.topics import Topics

_log = logging.getLogger(__name__)
_E = ErrorCode


class DescribedStreamsGroup(NamedTuple):
    """One group of a StreamsGroupDescribe answer. `fitted` None: topics do not fit."""

    group: StreamsGroup
    fitted: FittedTopology | None


@dataclass(slots=True)
class _Remembered:
    """`fitting` holds for `topology` and topics of `generation`."""

    endpoint_epoch: int = 0
    shutdown_by: str | None = None
    delay: Timer | None = None
    topology: StreamsGroupTopologyValue | None = None
    generation: int = -1
    fitting: Fitting | None = None


class StreamsGroupService:
    """`dissolve` is called with an empty classic group that has just become a streams group; `overrides` gives the settings of a group."""

    def __init__(
        self, runtime: CoordinatorRuntime[GroupShard], config: GroupConfig, topics: Topics, dissolve: Callable[[ClassicGroup], None]
    ) -> None:
        self.overrides: Callable[[str], Mapping[str, str]] = lambda _group_id: {}
        self._runtime = runtime
        self._config = config
        self._topics = topics
        self._dissolve = dissolve
        self._sessions = MemberSessions(runtime, self._remove)
        self._remembered: dict[str, _Remembered] = {}

    def start(self) -> None:
        """Loading is done."""
        for shard in self._runtime.shards():
            for group in shard.streams_groups.values():
                timeout_ms = self.limits(group.group_id).session_timeout_ms
                for member_id in group.members:
                    self._sessions.heard(group.group_id, member_id, timeout_ms)

    def find(self, group_id: str) -> StreamsGroup | None:
        return self._runtime.shard_of(group_id).streams_groups.get(group_id)

    def tombstones(self, group_id: str) -> tuple[CoordinatorRecord, ...]:
        """The records that remove a group."""
        group = self.find(group_id)
        return tuple(group_tombstones(group)) if group is not None else ()

    def before_deletion(self, group_id: str) -> ErrorCode:
        """Nothing of a streams group is kept elsewhere; its internal topics are the application's own."""
        return _E.NONE

    def forget(self, group_id: str) -> None:
        """The group is gone."""
        self._sessions.forget(group_id)
        self._forget_delay(self._remembered.pop(group_id, _Remembered()))

    def limits(self, group_id: str) -> StreamsLimits:
        """The broker's settings, overridden by the group's own."""
        own, config = self.overrides(group_id), self._config
        return StreamsLimits(
            int(own.get("streams.session.timeout.ms", config.group_streams_session_timeout_ms)),
            int(own.get("streams.heartbeat.interval.ms", config.group_streams_heartbeat_interval_ms)),
            int(own.get("streams.assignment.interval.ms", config.group_streams_assignment_interval_ms)),
            int(own.get("streams.initial.rebalance.delay.ms", config.group_streams_initial_rebalance_delay_ms)),
            int(own.get("streams.num.standby.replicas", config.group_streams_num_standby_replicas)),
            config.group_streams_max_size,
        )

    # -- members

    def heartbeat(self, request: StreamsHeartbeat) -> Reply[HeartbeatAnswer]:
        """Join, stay or leave. Raises KafkaError."""
        check(request)
        return self._leave(request) if request.member_epoch == LEAVE_EPOCH else self._stay(request)

    def _stay(self, request: StreamsHeartbeat) -> Reply[HeartbeatAnswer]:
        group_id, limits = request.group_id, self.limits(request.group_id)
        before = self.find(group_id)
        first = before is None or not before.members
        remembered = self._remembered.get(group_id, _Remembered())
        delayed = remembered.delay is not None or (first and limits.initial_rebalance_delay_ms > 0)
        upgraded: list[ClassicGroup] = []

        def decision(shard: GroupShard, now_ms: int) -> Result[HeartbeatAnswer]:
            draft = self._draft(shard, group_id, upgraded, create=request.member_epoch == 0)
            answer = heartbeat.heartbeat(draft, request, lambda it: self._fit(remembered, it), limits, now_ms, delayed=delayed)
            return Result(answer, tuple(draft.records))

        written = self._runtime.write(group_id, decision)
        for classic in upgraded:
            self._dissolve(classic)
        self._remembered[group_id] = remembered
        group = self.find(group_id)
        assert group is not None
        if first and limits.initial_rebalance_delay_ms > 0:
            self._delay(group_id, remembered, limits.initial_rebalance_delay_ms)
        member = group.members[request.member_id]
        self._sessions.heard(group_id, member.member_id, limits.session_timeout_ms)
        revokes = member.state is StreamsMemberState.UNREVOKED_TASKS
        self._sessions.expect(group_id, member.member_id, member.rebalance_timeout_ms if revokes else None)
        if request.shutdown_application and remembered.shutdown_by is None:
            remembered.shutdown_by = member.member_id
        answer = self._complete(written.response, request, group, remembered, created=before is None)
        return self._runtime.reply_when_durable(answer, written.position)

    def _complete(
        self, answer: HeartbeatAnswer, request: StreamsHeartbeat, group: StreamsGroup, remembered: _Remembered, *, created: bool
    ) -> HeartbeatAnswer:
        """With what is told beside tasks. The epoch of endpoints counts changes; the first member of a group is told at epoch 0."""
        statuses, epoch = answer.statuses, remembered.endpoint_epoch
        changed = answer.tasks is not None and group.members[request.member_id].user_endpoint is not None
        if changed and not created:
            epoch = remembered.endpoint_epoch = epoch + 1
        if remembered.shutdown_by is not None:
            asked = f"Streams group member {remembered.shutdown_by} encountered a fatal error and requested a shutdown"
            text = f"{asked} for the entire application."
            statuses = (*statuses, Status(StatusCode.SHUTDOWN_APPLICATION, text))
        endpoints = None
        if epoch != request.endpoint_epoch or (changed and created):
            assert remembered.fitting is not None
            endpoints = by_endpoint(group, remembered.fitting.fitted, self._count_of)
        return replace(answer, statuses=statuses, endpoint_epoch=epoch, endpoints=endpoints)

    def _leave(self, request: StreamsHeartbeat) -> Reply[HeartbeatAnswer]:
        def decision(shard: GroupShard, _now_ms: int) -> Result[HeartbeatAnswer]:
            if request.group_id not in shard.streams_groups:
                raise shard.refusal(request.group_id, GroupType.STREAMS)
            draft = StreamsDraft(shard.streams_groups[request.group_id])
            return Result(heartbeat.leave(draft, request), tuple(draft.records))

        written = self._runtime.write(request.group_id, decision)
        remembered = self._remembered.setdefault(request.group_id, _Remembered())
        if request.shutdown_application and remembered.shutdown_by is None:
            remembered.shutdown_by = request.member_id
        self._after_removal(request.group_id)
        return self._runtime.reply_when_durable(written.response, written.position)

    def _remove(self, group_id: str, member_ids: list[str]) -> None:
        """Members are fenced. Raises KafkaError."""

        def decision(shard: GroupShard, _now_ms: int) -> Result[None]:
            draft = StreamsDraft(shard.streams_groups[group_id])
            heartbeat.remove(draft, [member_id for member_id in member_ids if member_id in draft.group.members])
            return Result(None, tuple(draft.records))

        if self.find(group_id) is not None:
            self._runtime.write(group_id, decision)
            self._after_removal(group_id)

    def _after_removal(self, group_id: str) -> None:
        group = self.find(group_id)
        assert group is not None
        self._sessions.keep(group_id, group.members)
        remembered = self._remembered.get(group_id)
        if remembered is not None and not group.members:
            remembered.shutdown_by = None
            self._forget_delay(remembered)

    def _draft(self, shard: GroupShard, group_id: str, upgraded: list[ClassicGroup], *, create: bool) -> StreamsDraft:
        """An empty classic group becomes a streams group; its offsets stay. Raises KafkaError 69."""
        group, classic = shard.streams_groups.get(group_id), shard.groups.get(group_id)
        if group is not None:
            return StreamsDraft(group)
        kind = shard.type_of(group_id)
        if kind is None and create:
            return StreamsDraft(StreamsGroup(group_id))
        if not create or kind is not GroupType.CLASSIC or (classic is not None and classic.state is not ClassicGroupState.EMPTY):
            raise shard.refusal(group_id, GroupType.STREAMS, "Streams group")
        draft = StreamsDraft(StreamsGroup(group_id))
        if classic is not None:
            upgraded.append(classic)
            draft.records.append(group_tombstone(group_id))
        return draft

    # -- topics

    def _count_of(self, name: str) -> int | None:
        topic = self._topics.get(name)
        return None if topic is None else topic.partitions

    def _fit(self, remembered: _Remembered, topology: StreamsGroupTopologyValue) -> Fitting:
        """Looked at again when there are other topics."""
        generation = self._topics.generation
        if remembered.fitting is None or remembered.topology is not topology or remembered.generation != generation:
            remembered.fitting = Fitting(fit(topology, self._count_of), metadata_hash(topology, self._topics))
            remembered.topology, remembered.generation = topology, generation
        return remembered.fitting

    # -- the first target of a group

    def _delay(self, group_id: str, remembered: _Remembered, delay_ms: int) -> None:
        def due(_now_ms: float) -> None:
            remembered.delay = None
            try:
                self._runtime.write(group_id, lambda shard, now_ms: self._first_target(shard, group_id, remembered, now_ms))
            except KafkaError as error:  # the next heartbeat makes it
                _log.error("first assignment not written, tried again group=%s error=%s", group_id, error)

        if remembered.delay is None:
            remembered.delay = self._runtime.schedule(self._runtime.now_ms() + delay_ms, due)

    def _first_target(self, shard: GroupShard, group_id: str, remembered: _Remembered, now_ms: int) -> Result[None]:
        group = shard.streams_groups.get(group_id)
        if group is None or not group.members or group.topology is None or group.epoch <= group.assignment_epoch:
            return Result(None)
        draft = StreamsDraft(group)
        update_target(draft, self._fit(remembered, group.topology).fitted, now_ms)
        return Result(None, tuple(draft.records))

    @staticmethod
    def _forget_delay(remembered: _Remembered) -> None:
        if remembered.delay is not None:
            remembered.delay.cancel()
            remembered.delay = None

    # -- offsets

    def validate_commit(self, group_id: str, committer: Committer) -> ErrorCode:
        """Who may commit."""
        return may_commit(self._group(group_id), committer)

    def validate_fetch(self, group_id: str, member_id: str | None, epoch: int) -> None:
        """Without both, whoever asks is told (`StreamsGroup.validateOffsetFetch`). Raises KafkaError 25, 113."""
        if member_id is None and epoch < 0:
            return
        member = heartbeat.known(self._group(group_id), member_id or "")
        if member.epoch != epoch:
            raise KafkaError(_E.STALE_MEMBER_EPOCH)

    def _group(self, group_id: str) -> StreamsGroup:
        return self._runtime.shard_of(group_id).streams_groups[group_id]

    # -- administration

    def describe(self, group: StreamsGroup) -> DescribedStreamsGroup:
        """With the topics as they are now."""
        if group.topology is None:
            return DescribedStreamsGroup(group, None)
        try:
            fitted = self._fit(self._remembered.get(group.group_id, _Remembered()), group.topology).fitted
        except KafkaError:  # whose record is Kafka's: no member could have joined with it
            return DescribedStreamsGroup(group, None)
        return DescribedStreamsGroup(group, fitted if fitted.ready else None)
