"""Classic groups at work: parks joins and syncs, writes records, answers when they are durable, and keeps deadlines.

The decisions are in `classic/join`, `classic/requests` and `classic/rebalance`; their effects become answers and timers here.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from oncelog.coordinator.deferred import Deferred, Reply
from oncelog.coordinator.groups.classic.join import JoinGroup, join
from oncelog.coordinator.groups.classic.rebalance import expire, fail_assignment, prepare, touch
from oncelog.coordinator.groups.classic.requests import Heartbeat, LeavingMember, SyncGroup, heartbeat, leave, sync
from oncelog.coordinator.groups.classic.state import (
    ClassicGroup,
    ClassicGroupState,
    ClassicMember,
    JoinAnswer,
    JoinGroupResult,
    SyncGroupResult,
)
from oncelog.coordinator.groups.config import GroupConfig
from oncelog.coordinator.groups.shard import GroupShard, group_record
from oncelog.coordinator.result import Result
from oncelog.coordinator.runtime import CoordinatorRuntime, LogPosition, coordinator_error
from oncelog.coordinator.timers import Timer
from oncelog.protocol.errors import ErrorCode, KafkaError

_log = logging.getLogger(__name__)
_E = ErrorCode
ANSWERS_A_TURN = 200  # of a group, when its members have waited for each other: each costs the loop some 30 us until it is sent
_Told = tuple[Deferred[Any], JoinGroupResult | SyncGroupResult]
OnRebalance: TypeAlias = Callable[[str, int, str, str | None, str | None, str], None]  # group, epoch, member, its client and host, why


class ClassicGroupService:
    """Who waits for an answer is only remembered: after a restart members join again, with a full session to do so."""

    def __init__(self, runtime: CoordinatorRuntime[GroupShard], config: GroupConfig) -> None:
        self._runtime = runtime
        self._config = config
        self._joins: dict[tuple[str, str], deque[Deferred[JoinGroupResult]]] = {}
        self._syncs: dict[tuple[str, str], deque[Deferred[SyncGroupResult]]] = {}
        self._timers: dict[str, Timer] = {}
        self.on_rebalance: OnRebalance | None = None

    def start(self) -> None:
        """Loading is done."""
        now_ms = self._runtime.now_ms()
        for shard in self._runtime.shards():
            for group in shard.groups.values():
                for member in group.members.values():
                    touch(member, now_ms)
                self._watch(group)

    # -- requests

    def join(self, group: ClassicGroup, request: JoinGroup) -> Reply[JoinGroupResult]:
        """Become a member, or join the next generation."""
        before, was_member = _generation(group), request.member_id in group.members
        result = join(group, request, self._config, self._runtime.now_ms())
        member_id = request.member_id or request.new_member_id
        self._tell_rebalance(group, before, member_id, request.client_id, request.client_host, _join_reason(member_id, again=was_member))
        if result is not None:
            position = self._settle(group)
            return self._runtime.reply_when_durable(result, position, lambda code: JoinGroupResult(code, result.member_id))
        parked: Deferred[JoinGroupResult] = Deferred()
        self._joins.setdefault((group.group_id, request.member_id or request.new_member_id), deque()).append(parked)
        self._settle(group)
        return parked.reply()

    def sync(self, group: ClassicGroup, request: SyncGroup) -> Reply[SyncGroupResult]:
        """Give (the leader) or ask for the assignment."""
        result = sync(group, request, self._runtime.now_ms())
        if result is not None:
            self._settle(group)
            return result
        parked: Deferred[SyncGroupResult] = Deferred()
        self._syncs.setdefault((group.group_id, request.member_id), deque()).append(parked)
        self._settle(group, request.assignments)
        return parked.reply()

    def heartbeat(self, group: ClassicGroup, request: Heartbeat) -> ErrorCode:
        """A sign of life."""
        error = heartbeat(group, request, self._runtime.now_ms())
        self._watch(group)
        return error

    def leave(self, group: ClassicGroup, members: list[LeavingMember]) -> list[ErrorCode]:
        """One verdict a member."""
        before, there = _generation(group), dict(group.members)
        verdicts = leave(group, members, self._runtime.now_ms())
        self._tell_gone(group, before, there, "left")
        self._settle(group)
        return verdicts

    # -- life of a group

    def dissolve(self, group: ClassicGroup) -> None:
        """It became a consumer group: whoever waits joins again, and is then a member of that."""
        for member in group.members.values():
            group.refuse(member, _E.REBALANCE_IN_PROGRESS)
        self.forget(group.group_id)
        self._answer_waiting(group, None)

    def revive(self, written: ClassicGroup) -> None:
        """A consumer group became this one: its members join again and elect a leader."""
        group = self._runtime.shard_of(written.group_id).groups[written.group_id]
        now_ms = self._runtime.now_ms()
        for member in group.members.values():
            touch(member, now_ms)
        prepare(group, now_ms)
        self._settle(group)

    def forget(self, group_id: str) -> None:
        """The group is gone."""
        timer = self._timers.pop(group_id, None)
        if timer is not None:
            timer.cancel()

    # -- carrying out

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
        """Refusals now, the others when the group's record is on disk; with the error when it never will be."""
        refusals: list[_Told] = []
        others: list[_Told] = []
        for answer in group.take():
            waiting: dict[tuple[str, str], deque[Deferred[JoinGroupResult]]] | dict[tuple[str, str], deque[Deferred[SyncGroupResult]]]
            waiting = self._joins if isinstance(answer, JoinAnswer) else self._syncs
            queue = waiting.get((answer.group_id, answer.member_id))
            if not queue:
                continue
            parked = queue.popleft()
            if not queue:
                del waiting[(answer.group_id, answer.member_id)]
            (others if answer.result.error is _E.NONE else refusals).append((parked, answer.result))
        self._tell(refusals, None)
        if position is None:
            self._tell(others, None)
        elif others:
            self._runtime.when_durable(position, lambda error: self._tell(others, error))

    def _tell(self, told: list[_Told], error: KafkaError | None) -> None:
        for parked, result in told[:ANSWERS_A_TURN]:
            parked.resolve(result if error is None else replace(result, error=coordinator_error(error).code))
        if rest := told[ANSWERS_A_TURN:]:
            self._runtime.schedule(self._runtime.now_ms(), lambda _now_ms: self._tell(rest, error))

    def _write_group(self, group: ClassicGroup, assignments: dict[str, bytes] | None) -> LogPosition | None:
        completing = group.state is ClassicGroupState.COMPLETING_REBALANCE
        try:
            written = self._runtime.write(
                group.group_id, lambda _shard, _now: Result(None, (group_record(group, assignments if completing else None),))
            )
        except KafkaError as error:
            _log.error("group record not written group=%s error=%s", group.group_id, error)
            fail_assignment(group, error.code, self._runtime.now_ms())
            return None
        return written.position

    # -- deadlines

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
        self._timers[group.group_id] = self._runtime.schedule(deadline, lambda now_ms: self._expire(group, int(now_ms)))

    def _expire(self, group: ClassicGroup, now_ms: int) -> None:
        before, there = _generation(group), dict(group.members)
        expire(group, now_ms)
        for member_id in set(there) - set(group.members):
            _log.info("member removed, it was silent too long group=%s member=%s", group.group_id, member_id)
        self._tell_gone(group, before, there, "was silent for longer than its session or rebalance timeout")
        self._settle(group)

    # -- what becomes of it

    def _tell_gone(self, group: ClassicGroup, before: tuple[int, bool], there: Mapping[str, ClassicMember], how: str) -> None:
        for member_id in set(there) - set(group.members):
            gone = there[member_id]
            self._tell_rebalance(group, before, member_id, gone.client_id, gone.client_host, f"member {member_id} {how}")

    def _tell_rebalance(
        self, group: ClassicGroup, before: tuple[int, bool], member_id: str, client_id: str, client_host: str, why: str
    ) -> None:
        if self.on_rebalance is not None and not before[1] and _generation(group) != before:
            following = group.generation_id + (group.state is ClassicGroupState.PREPARING_REBALANCE)
            self.on_rebalance(group.group_id, following, member_id, client_id, client_host, why)


def _generation(group: ClassicGroup) -> tuple[int, bool]:
    """Another one, or one that its members are called to: a rebalance has begun between the two."""
    return group.generation_id, group.state is ClassicGroupState.PREPARING_REBALANCE


def _join_reason(member_id: str, *, again: bool) -> str:
    if again:
        return f"member {member_id} joined again, with other topics or protocols, or as the leader that wants to assign anew"
    return f"member {member_id} joined"
