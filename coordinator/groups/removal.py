"""Groups and offsets go: by request, with their topic, or because nobody needed them for offsets.retention.minutes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from oncelog.coordinator.deferred import Deferred, Reply, followed_by
from oncelog.coordinator.groups.classic.state import ClassicGroupState, GroupEvent
from oncelog.coordinator.groups.config import GroupConfig
from oncelog.coordinator.groups.group_type import GroupType, GroupWing
from oncelog.coordinator.groups.offsets.state import CommittedOffset, tombstone
from oncelog.coordinator.groups.shard import GroupShard, group_tombstone
from oncelog.coordinator.result import CoordinatorRecord, Result
from oncelog.coordinator.runtime import CoordinatorRuntime
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.names import TopicPartition

_log = logging.getLogger(__name__)
_E = ErrorCode
_MINUTE_MS = 60_000
SWEPT_A_TURN = 500  # offsets: each costs the loop up to 10 us
LOOKS_FOR_ONE = 16  # as much as looking at so many that stay


class GroupRemoval:
    """`wing` gives the service of a type, asked only where there are groups of it; `forget` is told which group is gone."""

    def __init__(
        self,
        runtime: CoordinatorRuntime[GroupShard],
        config: GroupConfig,
        wing: Callable[[GroupType], GroupWing],
        forget: Callable[[str], None],
    ) -> None:
        self._runtime = runtime
        self._config = config
        self._wing = wing
        self._forget = forget

    def start(self) -> None:
        """Look for what expired, from time to time."""
        self._runtime.schedule(self._runtime.now_ms() + self._config.offsets_retention_check_interval_ms, self._retain)

    def delete_groups(self, group_ids: Iterable[str]) -> dict[str, Reply[ErrorCode]]:
        """Remove groups without members, with their offsets."""
        return {group_id: self._delete(group_id) for group_id in group_ids}

    def _delete(self, group_id: str) -> Reply[ErrorCode]:
        if self._runtime.loading:
            return _E.COORDINATOR_LOAD_IN_PROGRESS
        shard = self._runtime.shard_of(group_id)
        group, typed = shard.groups.get(group_id), shard.heartbeat_group(group_id)
        if shard.type_of(group_id) is None:
            return _E.GROUP_ID_NOT_FOUND
        if typed is not None:
            return self._delete_typed(group_id, typed.type) if not typed.members else _E.NON_EMPTY_GROUP
        if group is not None and (refusal := group.answer_to(GroupEvent.DELETE)) is not _E.NONE:
            return refusal

        return self._delete_records(group_id)

    def _delete_typed(self, group_id: str, kind: GroupType) -> Reply[ErrorCode]:
        """What the group has elsewhere goes first; if somebody joins meanwhile, it stays."""

        def go_on(cleared: ErrorCode) -> Reply[ErrorCode]:
            if cleared is not _E.NONE:
                return cleared
            typed = self._runtime.shard_of(group_id).heartbeat_group(group_id)
            return _E.NON_EMPTY_GROUP if typed is not None and typed.members else self._delete_records(group_id)

        return followed_by(self._wing(kind).before_deletion(group_id), go_on)

    def _delete_records(self, group_id: str) -> Reply[ErrorCode]:
        places = self._runtime.shard_of(group_id).offsets.places_of(group_id)
        if len(places) > SWEPT_A_TURN:
            return self._delete_in_turns(group_id, sorted(places))

        def decide(shard: GroupShard, _now_ms: int) -> Result[ErrorCode]:
            return Result(_E.NONE, self._removal(shard, group_id))

        reply = self._runtime.submit(group_id, decide, refused=lambda code: code)
        if reply is not _E.NONE and isinstance(reply, ErrorCode):
            return reply
        self._forget(group_id)
        return reply

    def _delete_in_turns(self, group_id: str, places: list[TopicPartition]) -> Deferred[ErrorCode]:
        """Most offsets of a group that has very many go first, the last of them with the group."""
        answer: Deferred[ErrorCode] = Deferred()
        partition, shard = self._runtime.partition_for(group_id), self._runtime.shard_of(group_id)

        def steps() -> Iterator[None]:
            for start in range(0, len(places) - SWEPT_A_TURN, SWEPT_A_TURN):
                there = shard.offsets.places_of(group_id)
                some = [place for place in places[start : start + SWEPT_A_TURN] if place in there]
                if not self._write_sweep(partition, tuple(tombstone(group_id, place) for place in some)):
                    answer.resolve(_E.COORDINATOR_NOT_AVAILABLE)  # the log would refuse the rest as well
                    return
                yield
            answer.become(lambda: self._delete(group_id))

        self._go_on(steps())
        return answer

    def _removal(self, shard: GroupShard, group_id: str) -> tuple[CoordinatorRecord, ...]:
        offsets = tuple(tombstone(group_id, place) for place in sorted(shard.offsets.places_of(group_id)))
        return (*offsets, *self._group_removal(shard, group_id))

    def _group_removal(self, shard: GroupShard, group_id: str) -> tuple[CoordinatorRecord, ...]:
        """Tombstones of the group itself; none for one that is known by its offsets only."""
        typed = shard.heartbeat_group(group_id)
        if typed is not None:
            return self._wing(typed.type).tombstones(group_id)
        return (group_tombstone(group_id),) if group_id in shard.groups else ()

    def on_topic_deleted(self, name: str) -> None:
        """The offsets of a topic go with it, but not those that are committed to one of its name made meanwhile."""
        found = [
            (partition, group_id, place, shard.offsets.of(group_id).get(place))
            for partition, shard in enumerate(self._runtime.shards())
            for group_id, place in shard.offsets.groups_with(name)
        ]
        if found:
            self._go_on(self._forget_topic(found))

    def _forget_topic(self, found: list[tuple[int, str, TopicPartition, CommittedOffset | None]]) -> Iterator[None]:
        shards = list(self._runtime.shards())
        for start in range(0, len(found), SWEPT_A_TURN):
            doomed: dict[int, list[CoordinatorRecord]] = {}
            for partition, group_id, place, offset in found[start : start + SWEPT_A_TURN]:
                if shards[partition].offsets.of(group_id).get(place) is offset:
                    doomed.setdefault(partition, []).append(tombstone(group_id, place))
            for partition, records in doomed.items():
                self._write_sweep(partition, tuple(records))
            yield

    def _go_on(self, steps: Iterator[None]) -> None:
        """The first of `steps` now, each other in a turn of its own."""
        for _step in steps:
            self._runtime.schedule(self._runtime.now_ms(), lambda _now_ms: self._go_on(steps))
            return

    def _retain(self, now_ms: float) -> None:
        """Offsets of groups that have been empty for offsets.retention.minutes, and groups without any, go."""
        self.start()
        self._go_on(self._sweep(int(now_ms)))

    def _sweep(self, now_ms: int) -> Iterator[None]:
        looked_at = 0
        for partition, shard in enumerate(self._runtime.shards()):
            doomed: list[CoordinatorRecord] = []
            for group_id in {*shard.groups, *(typed.group_id for typed in shard.heartbeat_groups()), *shard.offsets.groups()}:
                more = True
                while more:
                    some = list(islice(self._expired(shard, group_id, now_ms), SWEPT_A_TURN))
                    more = len(some) == SWEPT_A_TURN
                    doomed += some
                    looked_at += 1 + len(some) + len(shard.offsets.of(group_id)) // LOOKS_FOR_ONE
                    if looked_at >= SWEPT_A_TURN:
                        if doomed and not self._write_sweep(partition, tuple(doomed)):
                            more = False
                        doomed, looked_at = [], 0
                        yield
            if doomed:
                self._write_sweep(partition, tuple(doomed))

    def _expired(self, shard: GroupShard, group_id: str, now_ms: int) -> Iterable[CoordinatorRecord]:
        group, typed = shard.groups.get(group_id), shard.heartbeat_group(group_id)
        if (group is not None and group.state is not ClassicGroupState.EMPTY) or (typed is not None and typed.members):
            return
        retention_ms = self._config.offsets_retention_minutes * _MINUTE_MS
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
        if not left and not shard.offsets.has_pending(group_id) and (typed is None or typed.expires):
            yield from self._group_removal(shard, group_id)

    def _write_sweep(self, partition: int, doomed: tuple[CoordinatorRecord, ...]) -> bool:
        """Whether it could be written."""
        try:
            self._runtime.write_to(partition, lambda _shard, _now: Result(None, doomed))
        except KafkaError as error:
            _log.warning("offsets not removed, tried again later partition=%d error=%s", partition, error)
            return False
        return True
