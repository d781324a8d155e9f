"""Share groups at work: carries decisions out, keeps sessions, has share partitions initialized and forgotten by the share coordinator.

What is only remembered (sessions, what the share coordinator was asked for) starts anew after a restart; members then have a full session
to come back, and it is asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

from oncelog.coordinator.deferred import Reply
from oncelog.coordinator.groups.group_type import Committer, GroupType
from oncelog.coordinator.groups.sessions import MemberSessions
from oncelog.coordinator.groups.shard import GroupShard
from oncelog.coordinator.groups.share import assignor, heartbeat
from oncelog.coordinator.groups.share.config import ShareGroupConfig, ShareLimits, limits_of
from oncelog.coordinator.groups.share.draft import Draft, group_tombstones
from oncelog.coordinator.groups.share.heartbeat import LEAVE_EPOCH, ShareAnswer, ShareHeartbeat
from oncelog.coordinator.groups.share.initializing import Initializing
from oncelog.coordinator.groups.share.offsets import ShareOffsets
from oncelog.coordinator.groups.share.state import ShareGroup
from oncelog.coordinator.result import CoordinatorRecord, Result
from oncelog.coordinator.runtime import CoordinatorRuntime
from oncelog.coordinator.share.persister import SharePartitionKey, SharePersister
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.topics import Topics

_E = ErrorCode
T = TypeVar("T")


class DescribedShareGroup(NamedTuple):
    """One group of a ShareGroupDescribe answer."""

    group: ShareGroup
    state: str
    assignor: str


class ShareGroupService:
    """`overrides` gives the settings of a group's own; `on_reset` is called with each share partition that was set or forgotten."""

    def __init__(
        self,
        runtime: CoordinatorRuntime[GroupShard],
        config: ShareGroupConfig,
        topics: Topics,
        persister: SharePersister,
        on_reset: Callable[[SharePartitionKey], None],
    ) -> None:
        self.overrides: Callable[[str], Mapping[str, str]] = lambda _group_id: {}
        self._runtime = runtime
        self._config = config
        self._topics = topics
        self._sessions = MemberSessions(runtime, self._remove)
        self._initializing = Initializing(runtime, persister, config.initialize_retry_interval_ms)
        self.offsets = ShareOffsets(runtime, topics, persister, on_reset)

    def start(self) -> None:
        """Loading is done."""
        for shard in self._runtime.shards():
            for group in shard.share_groups.values():
                limits = self.limits(group.group_id)
                for member_id in group.members:
                    self._sessions.heard(group.group_id, member_id, limits.session_timeout_ms)

    def find(self, group_id: str) -> ShareGroup | None:
        return self._runtime.shard_of(group_id).share_groups.get(group_id)

    def limits(self, group_id: str) -> ShareLimits:
        """The broker's settings, overridden by the group's own."""
        return limits_of(self._config, self.overrides(group_id))

    # -- members

    def heartbeat(self, request: ShareHeartbeat) -> Reply[ShareAnswer]:
        """Join, stay or leave. Raises KafkaError."""
        heartbeat.check(request)
        group_id, limits = request.group_id, self.limits(request.group_id)
        if request.member_epoch == LEAVE_EPOCH:
            return self._run(group_id, lambda draft, _now_ms: heartbeat.leave(draft, request, self._topics))
        reply = self._run(
            group_id,
            lambda draft, now_ms: heartbeat.heartbeat(draft, request, self._topics, limits, self._config.max_size, now_ms),
            noun="Share group",
            create=heartbeat.makes_groups(request),
        )
        self._sessions.heard(group_id, request.member_id or "", limits.session_timeout_ms)
        self._initializing.ask(group_id)
        self.offsets.resume(group_id)
        return reply

    def describe(self, group: ShareGroup) -> DescribedShareGroup:
        return DescribedShareGroup(group, group.state.value, assignor.NAME)

    def _run(self, group_id: str, decide: Callable[[Draft, int], T], *, noun: str = "Group", create: bool = False) -> Reply[T]:
        """Decide on a draft, write it. Raises KafkaError."""

        def decision(shard: GroupShard, now_ms: int) -> Result[T]:
            group = shard.share_groups.get(group_id)
            if group is None:
                if not create or shard.type_of(group_id) is not None:
                    raise shard.refusal(group_id, GroupType.SHARE, noun)
                group = ShareGroup(group_id)
            draft = Draft(group)
            answer = decide(draft, now_ms)
            return Result(answer, tuple(draft.records))

        written = self._runtime.write(group_id, decision)
        group = self.find(group_id)
        if written.changed and group is not None:
            self._sessions.keep(group_id, group.members.keys())
        return self._runtime.reply_when_durable(written.response, written.position)

    def _remove(self, group_id: str, member_ids: list[str]) -> None:
        """Members are silent. Raises KafkaError when it could not be written."""
        group = self.find(group_id)
        known = [member_id for member_id in member_ids if group is not None and member_id in group.members]
        if known:
            self._run(group_id, lambda draft, _now_ms: heartbeat.remove(draft, known, self._topics))

    # -- deletion

    def tombstones(self, group_id: str) -> tuple[CoordinatorRecord, ...]:
        """The records that remove a group."""
        group = self.find(group_id)
        return group_tombstones(group) if group is not None else ()

    def before_deletion(self, group_id: str) -> Reply[ErrorCode]:
        """What is known of its share partitions goes."""
        return self.offsets.forget_all(group_id)

    def forget(self, group_id: str) -> None:
        """The group is gone."""
        self._sessions.forget(group_id)

    def on_topic_deleted(self) -> None:
        """Share partitions of topics that are not there any more leave every group; the share coordinator forgets them by itself."""
        self._initializing.forget_lost(self._topics)

    # -- committed offsets: a share group has none

    def validate_commit(self, group_id: str, committer: Committer) -> ErrorCode:
        return _E.GROUP_ID_NOT_FOUND

    def validate_fetch(self, group_id: str, member_id: str | None, epoch: int) -> None:
        """Nothing is refused: there is nothing to tell."""
