"""Members that must be heard of: who is silent for its session, or gives nothing up within its rebalance timeout, is removed.

Only remembered: after a restart members have a full session to come back, as with Kafka.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Protocol

from oncelog.coordinator.timers import Timer
from oncelog.protocol.errors import KafkaError

_log = logging.getLogger(__name__)
RETRY_MS = 1_000
REMOVED_A_TURN = 200  # members: each costs the loop up to 50 us


class Scheduler(Protocol):
    """What is needed of `CoordinatorRuntime`."""

    def now_ms(self) -> int: ...

    def schedule(self, deadline_ms: float, action: Callable[[float], None]) -> Timer: ...


@dataclass(slots=True)
class _Deadlines:
    session_ms: float
    rebalance_ms: float | None = None

    @property
    def next_ms(self) -> float:
        return self.session_ms if self.rebalance_ms is None else min(self.session_ms, self.rebalance_ms)


class MemberSessions:
    """`remove` is called with a group and members that are late; it raises KafkaError when it has to be tried again."""

    def __init__(self, scheduler: Scheduler, remove: Callable[[str, list[str]], None]) -> None:
        self._scheduler = scheduler
        self._remove = remove
        self._deadlines: dict[str, dict[str, _Deadlines]] = {}
        self._timers: dict[str, Timer] = {}

    def heard(self, group_id: str, member_id: str, session_timeout_ms: int) -> None:
        """A sign of life."""
        deadline_ms = self._scheduler.now_ms() + session_timeout_ms
        member = self._deadlines.setdefault(group_id, {}).setdefault(member_id, _Deadlines(deadline_ms))
        member.session_ms = deadline_ms
        self._look_at(group_id, deadline_ms)

    def expect(self, group_id: str, member_id: str, timeout_ms: int | None) -> None:
        """The member has `timeout_ms`, from the first time this is said, to do what it was told; None: it has done it."""
        member = self._deadlines[group_id][member_id]
        if timeout_ms is None:
            member.rebalance_ms = None
        elif member.rebalance_ms is None:
            member.rebalance_ms = self._scheduler.now_ms() + timeout_ms
            self._look_at(group_id, member.rebalance_ms)

    def keep(self, group_id: str, member_ids: Collection[str]) -> None:
        """All others of the group are gone."""
        known = self._deadlines.get(group_id, {})
        for member_id in known.keys() - set(member_ids):
            del known[member_id]
        if not known:
            self.forget(group_id)

    def forget(self, group_id: str) -> None:
        """The group is gone."""
        self._deadlines.pop(group_id, None)
        timer = self._timers.pop(group_id, None)
        if timer is not None:
            timer.cancel()

    def _look_at(self, group_id: str, deadline_ms: float) -> None:
        """Look at the group no later than this. A timer that fires too early looks again."""
        timer = self._timers.get(group_id)
        if timer is not None and timer.active:
            if timer.deadline_ms <= deadline_ms:
                return
            timer.cancel()
        self._timers[group_id] = self._scheduler.schedule(deadline_ms, lambda now_ms: self._expire(group_id, now_ms))

    def _expire(self, group_id: str, now_ms: float) -> None:
        known = self._deadlines.get(group_id, {})
        late = [member_id for member_id, member in known.items() if member.next_ms <= now_ms][:REMOVED_A_TURN]
        if late:
            try:
                self._remove(group_id, late)
            except KafkaError as error:
                _log.error("silent members not removed, tried again group=%s error=%s", group_id, error)
                for member_id in late:
                    known[member_id] = _Deadlines(now_ms + RETRY_MS)
            else:
                for member_id in late:
                    known.pop(member_id, None)
                    _log.info("member removed, session or rebalance timeout group=%s member=%s", group_id, member_id)
        if known and group_id in self._deadlines:
            self._look_at(group_id, min(member.next_ms for member in known.values()))
