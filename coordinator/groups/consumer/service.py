"""Consumer groups at work: carries decisions out, keeps sessions, resolves regular expressions, converts groups.

What is only remembered (sessions, who is being waited for, which expressions were looked at when) starts anew after a restart; members then
have a full session to come back, as with Kafka.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

from oncelog.coordinator.deferred import Reply
from oncelog.coordinator.groups.classic.join import JoinGroup
from oncelog.coordinator.groups.classic.requests import Heartbeat, LeavingMember, SyncGroup
from oncelog.coordinator.groups.classic.service import OnRebalance
from oncelog.coordinator.groups.classic.state import ClassicGroup, ClassicGroupState, JoinGroupResult, SyncGroupResult
from oncelog.coordinator.groups.config import GroupConfig
from oncelog.coordinator.groups.consumer import classic_members, heartbeat, regex
from oncelog.coordinator.groups.consumer.draft import Draft, GroupLimits, group_tombstones
from oncelog.coordinator.groups.consumer.heartbeat import ConsumerHeartbeat, HeartbeatAnswer
from oncelog.coordinator.groups.consumer.state import LEAVE_EPOCH, ConsumerGroup, ConsumerGroupState, ConsumerMember, MemberState
from oncelog.coordinator.groups.group_type import Committer, GroupType
from oncelog.coordinator.groups.offsets.state import MEMBER_EPOCH_API
from oncelog.coordinator.groups.shard import GroupShard, group_record, group_tombstone
from oncelog.coordinator.result import CoordinatorRecord, Result
from oncelog.coordinator.runtime import CoordinatorRuntime
from oncelog.coordinator.timers import Timer
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.topics import Topics

_log = logging.getLogger(__name__)
_E = ErrorCode
_REGEX_PAUSE_MS = 10_000  # new topics are noticed at most so often (GroupMetadataManager.REGEX_BATCH_REFRESH_MIN_INTERVAL_MS)
_RETRY_MS = 1_000
REMOVED_A_TURN = 200  # members whose session ended: each costs the loop up to 50 us

T = TypeVar("T")
Visible = Callable[[str], bool]


class DescribedConsumerGroup(NamedTuple):
    """One group of a ConsumerGroupDescribe answer."""

    group: ConsumerGroup
    state: str
    assignor: str


@dataclass(slots=True)
class _Deadlines:
    session_ms: float
    rebalance_ms: float | None = None


class ConsumerGroupService:
    """`dissolve` is called with a classic group that has just become a consumer group, `revive` with one that a consumer group has become;
    `overrides` gives the settings of a group's own."""

    def __init__(
        self,
        runtime: CoordinatorRuntime[GroupShard],
        config: GroupConfig,
        topics: Topics,
        dissolve: Callable[[ClassicGroup], None],
        revive: Callable[[ClassicGroup], None],
    ) -> None:
        self.overrides: Callable[[str], Mapping[str, str]] = lambda _group_id: {}
        self._runtime = runtime
        self._config = config
        self._topics = topics
        self._dissolve = dissolve
        self._revive = revive
        self.on_rebalance: OnRebalance | None = None
        self._deadlines: dict[str, dict[str, _Deadlines]] = {}
        self._timers: dict[str, Timer] = {}
        self._looked_up: dict[str, tuple[int, int]] = {}  # group -> topics' generation and time of the last resolution
        self._resolving: set[str] = set()

    def start(self) -> None:
        """Loading is done."""
        now_ms = self._runtime.now_ms()
        for shard in self._runtime.shards():
            for group in shard.consumer_groups.values():
                for member_id in group.members:
                    self._touch(group, member_id, now_ms)
                self._watch(group.group_id)

    def _group(self, group_id: str) -> ConsumerGroup:
        return self._runtime.shard_of(group_id).consumer_groups[group_id]

    def find(self, group_id: str) -> ConsumerGroup | None:
        return self._runtime.shard_of(group_id).consumer_groups.get(group_id)

    def tombstones(self, group_id: str) -> tuple[CoordinatorRecord, ...]:
        """The records that remove a group."""
        group = self.find(group_id)
        return tuple(group_tombstones(group)) if group is not None else ()

    def before_deletion(self, group_id: str) -> ErrorCode:
        """Nothing of a consumer group is kept elsewhere."""
        return _E.NONE

    def limits(self, group_id: str) -> GroupLimits:
        """The broker's settings, overridden by the group's own."""
        own, config = self.overrides(group_id), self._config
        return GroupLimits(
            int(own.get("consumer.session.timeout.ms", config.group_consumer_session_timeout_ms)),
            int(own.get("consumer.heartbeat.interval.ms", config.group_consumer_heartbeat_interval_ms)),
            int(own.get("consumer.assignment.interval.ms", config.group_consumer_assignment_interval_ms)),
            config.group_consumer_max_size,
            config.group_consumer_assignors,
        )

    # -- members of the new protocol

    def heartbeat(self, request: ConsumerHeartbeat, visible: Visible) -> Reply[HeartbeatAnswer]:
        """Raises KafkaError."""
        heartbeat.check(request, self._config.group_consumer_assignors)
        limits = self.limits(request.group_id)
        if request.member_epoch <= LEAVE_EPOCH:
            return self._run(request.group_id, None, lambda draft, _now: heartbeat.leave(draft, request, self._topics))
        reply = self._run(
            request.group_id,
            request.member_id,
            lambda draft, now_ms: heartbeat.heartbeat(draft, request, self._topics, limits, now_ms),
            create=request.member_epoch == 0,
        )
        self._resolve_soon(request.group_id, visible)
        return reply

    # -- members of the classic protocol

    def join(self, request: JoinGroup, new_member_id: str) -> Reply[JoinGroupResult]:
        """JoinGroup into a consumer group."""
        limits = self.limits(request.group_id)

        def decide(draft: Draft, now_ms: int) -> JoinGroupResult:
            return classic_members.join(draft, request, new_member_id, self._topics, limits, now_ms)

        try:
            return self._run(request.group_id, request.member_id or new_member_id, decide)
        except KafkaError as error:
            return JoinGroupResult(error.code)

    def sync(self, group: ConsumerGroup, request: SyncGroup) -> SyncGroupResult:
        """The assignment of a classic member."""
        try:
            result = classic_members.sync(group, request, self._topics)
        except KafkaError as error:
            return SyncGroupResult(error.code)
        self._touch(group, request.member_id, self._runtime.now_ms())
        self._watch(group.group_id)
        return result

    def classic_heartbeat(self, group: ConsumerGroup, request: Heartbeat) -> ErrorCode:
        """A classic member that is told to join again has its rebalance timeout to do so."""
        try:
            error = classic_members.heartbeat(group, request)
        except KafkaError as refusal:
            return refusal.code
        now_ms = self._runtime.now_ms()
        deadlines = self._touch(group, request.member_id, now_ms)
        if error is _E.REBALANCE_IN_PROGRESS and deadlines.rebalance_ms is None:
            deadlines.rebalance_ms = now_ms + group.members[request.member_id].rebalance_timeout_ms
        self._watch(group.group_id)
        return error

    def leave(self, group: ConsumerGroup, members: list[LeavingMember]) -> list[ErrorCode]:
        """LeaveGroup: also of members of the new protocol, by an administrator. Raises KafkaError when nothing could be written."""
        verdicts, doomed = [], []
        for leaving in members:
            try:
                if leaving.group_instance_id is None:
                    doomed.append(heartbeat.known(group, leaving.member_id).member_id)
                else:
                    holder = group.static_members.get(leaving.group_instance_id, "")
                    member_id = leaving.member_id or holder
                    doomed.append(heartbeat.known_static(group, leaving.group_instance_id, member_id).member_id)
            except KafkaError as error:
                verdicts.append(error.code)
            else:
                verdicts.append(_E.NONE)
        if doomed:
            self._remove(group.group_id, list(dict.fromkeys(doomed)))
        return verdicts

    # -- offsets

    def validate_commit(self, group_id: str, committer: Committer) -> ErrorCode:
        """Who may commit (Kafka's ConsumerGroup.validateOffsetCommit)."""
        members = self._group(group_id).members
        member_id, epoch, instance_id, transactional, api_version, _places = committer
        if epoch < 0 and (not members or (transactional and not member_id and instance_id is None)):
            return _E.NONE
        member = members.get(member_id)
        if member is None:
            return _E.UNKNOWN_MEMBER_ID
        if member.classic is None and not transactional and api_version < MEMBER_EPOCH_API:
            return _E.UNSUPPORTED_VERSION
        if epoch != member.epoch:
            # TxnOffsetCommit up to v5 does not know of member epochs
            return _E.STALE_MEMBER_EPOCH if member.classic is None and not transactional else _E.ILLEGAL_GENERATION
        return _E.NONE

    def validate_fetch(self, group_id: str, member_id: str | None, epoch: int) -> None:
        """Without both, whoever asks is told (`ConsumerGroup.validateOffsetFetch`). Raises KafkaError -1, 25, 113."""
        if member_id is None:
            if epoch < 0:
                return
            raise KafkaError(_E.UNKNOWN_SERVER_ERROR)  # as Kafka answers an epoch of nobody
        member = heartbeat.known(self._group(group_id), member_id)
        if member.epoch != epoch:
            raise KafkaError(_E.STALE_MEMBER_EPOCH)

    # -- administration

    def describe(self, group: ConsumerGroup) -> DescribedConsumerGroup:
        return DescribedConsumerGroup(group, group.state.value, group.preferred_assignor(self._config.group_consumer_assignors[0]))

    def forget(self, group_id: str) -> None:
        """The group is gone."""
        self._deadlines.pop(group_id, None)
        self._looked_up.pop(group_id, None)
        timer = self._timers.pop(group_id, None)
        if timer is not None:
            timer.cancel()

    # -- carrying out

    def _run(self, group_id: str, member_id: str | None, decide: Callable[[Draft, int], T], *, create: bool = False) -> Reply[T]:
        """Decide on a draft, write it, then look after the member that asked. Raises KafkaError."""
        upgraded: list[ClassicGroup] = []
        downgraded: list[ClassicGroup] = []

        def decision(shard: GroupShard, now_ms: int) -> Result[T]:
            draft = self._draft(shard, group_id, upgraded, create=create)
            answer = decide(draft, now_ms)
            if classic_members.can_downgrade(draft.group) and self._config.allows_downgrade and member_id is None:
                return Result(answer, self._downgrade(shard, draft.group, downgraded, now_ms))
            return Result(answer, tuple(draft.records))

        before = self.find(group_id)
        epoch, was_member = (0, False) if before is None else (before.epoch, member_id in before.members)
        written = self._runtime.write(group_id, decision)
        for classic in upgraded:
            self._dissolve(classic)
        for classic in downgraded:
            self.forget(group_id)
            self._revive(classic)
        group = self.find(group_id)
        if group is not None and written.changed:
            self._prune(group)
            if group.epoch != epoch and self.on_rebalance is not None:
                member = group.members.get(member_id or "")
                client_id, host = (None, None) if member is None else (member.client_id, member.client_host)
                self.on_rebalance(group_id, group.epoch, member_id or "", client_id, host, _reason(member_id, was_member=was_member))
        if group is not None and member_id in group.members:
            assert member_id is not None
            self._watch_rebalance(group, group.members[member_id], self._touch(group, member_id, self._runtime.now_ms()))
        self._watch(group_id)
        return self._runtime.reply_when_durable(written.response, written.position)

    def _draft(self, shard: GroupShard, group_id: str, upgraded: list[ClassicGroup], *, create: bool) -> Draft:
        group, classic = shard.consumer_groups.get(group_id), shard.groups.get(group_id)
        if group is not None:
            return Draft(group)
        if not create or shard.type_of(group_id) not in (None, GroupType.CLASSIC):
            raise shard.refusal(group_id, GroupType.CONSUMER)
        if classic is None:
            return Draft(ConsumerGroup(group_id))
        upgraded.append(classic)
        if classic.state is ClassicGroupState.EMPTY:
            draft = Draft(ConsumerGroup(group_id))
        else:
            limits = self.limits(group_id)
            draft = classic_members.upgrade(classic, self._topics, limits, allowed=self._config.allows_upgrade)
        draft.records.insert(0, group_tombstone(group_id))
        return draft

    def _downgrade(
        self, shard: GroupShard, group: ConsumerGroup, downgraded: list[ClassicGroup], now_ms: int
    ) -> tuple[CoordinatorRecord, ...]:
        classic = classic_members.downgrade(group, self._topics, now_ms)
        downgraded.append(classic)
        _log.info("consumer group becomes classic, no member of the new protocol is left group=%s", group.group_id)
        return (*group_tombstones(shard.consumer_groups[group.group_id]), group_record(classic))

    def _remove(self, group_id: str, member_ids: list[str]) -> None:
        """Members leave or are fenced. Raises KafkaError."""
        self._run(group_id, None, lambda draft, _now: heartbeat.remove(draft, member_ids, self._topics))

    # -- deadlines

    def _touch(self, group: ConsumerGroup, member_id: str, now_ms: float) -> _Deadlines:
        member = group.members[member_id]
        limit = member.classic.session_timeout_ms if member.classic is not None else self.limits(group.group_id).session_timeout_ms
        known = self._deadlines.setdefault(group.group_id, {})
        deadlines = known.setdefault(member_id, _Deadlines(0))
        deadlines.session_ms = now_ms + limit
        return deadlines

    def _watch_rebalance(self, group: ConsumerGroup, member: ConsumerMember, deadlines: _Deadlines) -> None:
        """A member that shall give something up has its rebalance timeout to say that it did."""
        if member.state is not MemberState.UNREVOKED_PARTITIONS:
            deadlines.rebalance_ms = None
        elif deadlines.rebalance_ms is None:
            deadlines.rebalance_ms = self._runtime.now_ms() + member.rebalance_timeout_ms

    def _prune(self, group: ConsumerGroup) -> None:
        known = self._deadlines.get(group.group_id, {})
        for member_id in known.keys() - group.members.keys():
            del known[member_id]
        for member_id in group.members.keys() - known.keys():
            self._touch(group, member_id, self._runtime.now_ms())

    def _watch(self, group_id: str) -> None:
        """Have the group looked at when its next deadline comes. A later deadline needs no new timer: the old one looks again."""
        known = self._deadlines.get(group_id)
        if not known:
            self.forget(group_id)
            return
        deadline = min(min(d.session_ms, d.rebalance_ms if d.rebalance_ms is not None else d.session_ms) for d in known.values())
        timer = self._timers.get(group_id)
        if timer is not None and timer.active and timer.deadline_ms <= deadline:
            return
        if timer is not None:
            timer.cancel()
        self._timers[group_id] = self._runtime.schedule(deadline, lambda now_ms: self._expire(group_id, now_ms))

    def _expire(self, group_id: str, now_ms: float) -> None:
        known = self._deadlines.get(group_id, {})
        late = [m for m, d in known.items() if d.session_ms <= now_ms or (d.rebalance_ms is not None and d.rebalance_ms <= now_ms)]
        late = late[:REMOVED_A_TURN]  # the next look at the group takes the others
        if late and self.find(group_id) is not None:
            try:
                self._remove(group_id, late)
            except KafkaError as error:
                _log.error("silent members not removed, tried again group=%s error=%s", group_id, error)
                for member_id in late:
                    known[member_id] = replace(known[member_id], session_ms=now_ms + _RETRY_MS, rebalance_ms=None)
            else:
                for member_id in late:
                    _log.info("member removed, session or rebalance timeout group=%s member=%s", group_id, member_id)
        self._watch(group_id)

    # -- regular expressions

    def _resolve_soon(self, group_id: str, visible: Visible) -> None:
        """Resolve after this answer, if an expression is new or topics have changed."""
        group = self.find(group_id)
        if group is None or group_id in self._resolving:
            return
        used = group.used_regexes()
        if not used and not group.regexes:
            return
        generation, looked_ms = self._looked_up.get(group_id, (-1, 0))
        since_ms = self._runtime.now_ms() - looked_ms
        known = used == group.regexes.keys()
        stale = generation != self._topics.generation and since_ms >= _REGEX_PAUSE_MS
        if known and not stale and since_ms < self._config.group_consumer_regex_refresh_interval_ms:
            return
        self._resolving.add(group_id)
        self._runtime.schedule(self._runtime.now_ms(), lambda _now: self._resolve(group_id, visible))

    def _resolve(self, group_id: str, visible: Visible) -> None:
        self._resolving.discard(group_id)
        if self.find(group_id) is None:
            return
        self._looked_up[group_id] = (self._topics.generation, self._runtime.now_ms())

        def decide(shard: GroupShard, now_ms: int) -> Result[None]:
            draft = Draft(shard.consumer_groups[group_id])
            regex.resolve(draft, self._topics, visible, now_ms)
            return Result(None, tuple(draft.records))

        try:
            self._runtime.write(group_id, decide)
        except KafkaError as error:
            _log.error("regular expressions not resolved, tried again group=%s error=%s", group_id, error)
            del self._looked_up[group_id]


__all__ = ["ConsumerGroupService", "ConsumerGroupState", "DescribedConsumerGroup"]


def _reason(member_id: str | None, *, was_member: bool) -> str:
    if member_id is None:
        return "a member left, was removed, or was silent for longer than its session or rebalance timeout"
    if not was_member:
        return f"member {member_id} joined"
    return f"the subscription of member {member_id} changed, or the topics that it matches"
