"""A share partition in its place: loaded from the persister, fed from its log, its changes written before they count.

Whoever waits for it is told when more may be had: after an append, a release, a lock that ran out, a write that ended, a load.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from oncelog.broker.answers import then
from oncelog.broker.sharing.acquiring import Acquired, Wanted
from oncelog.broker.sharing.limits import GroupSettings, reset_duration_ms
from oncelog.broker.sharing.partition import AcknowledgedBatch, Change, SharePartition
from oncelog.broker.sharing.walking import cut, walk
from oncelog.coordinator.deferred import Deferred, Reply
from oncelog.coordinator.share.persister import PersistedState, SharePartitionKey, SharePersister
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.names import IsolationLevel
from oncelog.protocol.primitives import Piece

if TYPE_CHECKING:
    from oncelog.broker.net.turns import Steps, Turns
    from oncelog.storage.env import Clock
    from oncelog.storage.log.log import Log

AGAIN_MS = 1_000  # after a write that failed
ROUNDS = 4  # of reading what turns out to be nobody's: aborted, or compacted away
_E = ErrorCode
# what a write or a load that failed means to a client (`SharePartition.fetchPersisterError`)
_KEPT = frozenset({_E.COORDINATOR_NOT_AVAILABLE, _E.COORDINATOR_LOAD_IN_PROGRESS, _E.GROUP_ID_NOT_FOUND, _E.UNKNOWN_TOPIC_OR_PARTITION})
_FENCED = frozenset({_E.FENCED_LEADER_EPOCH, _E.FENCED_STATE_EPOCH})


class Fetched(NamedTuple):
    """Batches of the log, and what of them was acquired."""

    records: Piece
    acquired: list[Acquired]


class Refused(NamedTuple):
    """Why an acknowledgement was not accepted; 0: it was."""

    code: ErrorCode = _E.NONE
    text: str | None = None


def _told(code: ErrorCode) -> ErrorCode:
    if code in _FENCED:
        return _E.NOT_LEADER_OR_FOLLOWER
    return _E.COORDINATOR_NOT_AVAILABLE if code is _E.NOT_COORDINATOR else code if code in _KEPT else _E.UNKNOWN_SERVER_ERROR


class ShareHost:
    """Of one group and partition. `partition` is None while it is loaded; `failed` says why it could not be; `gone`: it is no more."""

    def __init__(
        self,
        key: SharePartitionKey,
        log: Log,
        persister: SharePersister,
        clock: Clock,
        turns: Turns,
        settings: Callable[[], GroupSettings],
        earlier: Callable[[ShareHost], None],
    ) -> None:
        """`earlier(host)` is told when a lock runs out before any other of it did."""
        self.key = key
        self.log = log
        self.partition: SharePartition | None = None
        self.failed = _E.NONE
        self.gone = False
        self.writing = 0  # changes that are not on disk yet
        self.state_epoch = 0
        self._again_ms = 0.0  # no lock is looked at before
        self._persister = persister
        self._clock = clock
        self._turns = turns
        self._settings = settings
        self._earlier = earlier
        self._listeners: dict[Callable[[], None], None] = {}

    # -- who waits for it

    def add_change_listener(self, listener: Callable[[], None]) -> None:
        if not self._listeners:
            self.log.add_change_listener(self._changed)
        self._listeners[listener] = None

    def remove_change_listener(self, listener: Callable[[], None]) -> None:
        self._listeners.pop(listener, None)
        if not self._listeners:
            self.log.remove_change_listener(self._changed)

    def _changed(self) -> None:
        for listener in tuple(self._listeners):
            listener()

    # -- its life

    def load(self) -> None:
        """Take up what was written; the group's reset strategy decides where one begins that has no start yet."""
        reply = self._persister.read(self.key, self.log.leader_epoch)
        if isinstance(reply, Deferred):
            reply.when_done(lambda done: self._loaded(done.result() if done.error is None else _code_of(done.error)))
        else:
            self._loaded(reply)

    def _loaded(self, state: PersistedState | ErrorCode) -> None:
        if not isinstance(state, PersistedState):
            self._fail(_told(state))
            return
        self.state_epoch = state.state_epoch
        if state.start_offset >= 0:
            self._begin(SharePartition(state.start_offset, state.batches))
            return
        begun = self._turns.begin(self._reset())
        if isinstance(begun, Deferred):
            begun.when_done(self._found_reset)
        else:
            self._begin(SharePartition(begun))

    def _found_reset(self, done: Deferred[int]) -> None:
        if done.error is None:
            self._begin(SharePartition(done.result()))
        else:
            self._fail(_code_of(done.error))

    def _reset(self) -> Steps[int]:
        """Where the group's strategy begins. Raises KafkaError."""
        reset = self._settings().reset
        back_ms = reset_duration_ms(reset)
        if back_ms is None:
            return self.log.log_start_offset if reset == "earliest" else self.log.high_watermark
        offset = (yield from self.log.reader.lookup(max(self._clock.time_ms() - back_ms, 0), IsolationLevel.READ_UNCOMMITTED))[0]
        return offset if offset >= 0 else self.log.high_watermark

    def _begin(self, partition: SharePartition) -> None:
        partition.log_starts_at(self.log.log_start_offset)
        self.partition = partition
        self._changed()

    def _fail(self, code: ErrorCode) -> None:
        self.failed = code
        self.dismiss()

    def dismiss(self) -> None:
        """It is not to be used any more: whoever waits looks for another."""
        self.gone = True
        self._changed()

    @property
    def idle(self) -> bool:
        """Is nothing held or being written that another, loaded anew, would not know?"""
        return self.gone or (self.writing == 0 and (self.partition is None or not self.partition.held()))

    # -- fetching

    def readable_bytes(self, most: int) -> int:
        """How much a fetch would find now; more than `most` need not be looked for."""
        offset, isolation = self._next()
        if offset is None:
            return 0
        with_last = most + self.log.config.max_message_bytes  # which is not read in part
        try:
            return len(self.log.reader.read(offset, with_last, isolation, True, 0, patient=True).records)
        except KafkaError:
            return most  # the fetch will tell

    def _next(self) -> tuple[int | None, IsolationLevel]:
        """Where there is something to read that may be acquired."""
        settings, partition = self._settings(), self.partition
        if partition is None:
            return None, settings.isolation
        partition.log_starts_at(self.log.log_start_offset)
        offset = partition.next_offset()
        there = partition.may_acquire(settings.limits.record_locks) and offset < self.log.readable_end(settings.isolation)
        return (offset if there else None), settings.isolation

    def may_give(self) -> bool:
        """Is a fetch worth it?"""
        return self.gone or self.log.offline is not None or self._next()[0] is not None

    def fetch(self, wanted: Wanted, max_bytes: int, in_memory: int) -> Fetched | ErrorCode:
        """Acquire and read, what fits into `max_bytes` or one batch; nothing when there is nothing, or not yet."""
        if self.gone:
            return self.failed
        for _ in range(ROUNDS):
            offset, isolation = self._next()
            partition = self.partition
            if offset is None or partition is None:
                break
            limits = self._settings().limits
            try:
                data = self.log.reader.read(offset, max_bytes, isolation, True, in_memory, patient=True)
                most = min(wanted.max_records, limits.record_locks)
                walked = walk(data.records, max(partition.end_offset, offset) + most, data.aborted)
            except KafkaError as error:
                return error.code
            except OSError:
                return _E.KAFKA_STORAGE_ERROR
            acquired = partition.acquire(offset, walked.spans, wanted, limits, self._clock.monotonic_ms(), walked.aborted)
            if acquired:
                self._earlier(self)
                return Fetched(cut(data.records, walked, acquired), acquired)
            if partition.next_offset() == offset:
                break
        return Fetched(b"", [])

    # -- what ends a lock

    def acknowledge(self, member: str, batches: list[AcknowledgedBatch]) -> Reply[Refused]:
        """Accepted once it is on disk."""
        if self.partition is None:
            return Refused(self.failed or _E.INVALID_RECORD_STATE, None if self.failed else _NOT_FOUND)
        try:
            change = self.partition.acknowledge(member, batches, self._settings().limits, self._clock.monotonic_ms())
        except KafkaError as error:
            return Refused(error.code, error.message)
        self._earlier(self)
        return Refused() if change is None else then(self._write(change), lambda code: Refused(_told(code) if code else _E.NONE))

    def release(self, member: str) -> Reply[ErrorCode]:
        """All that `member` holds; its session has ended."""
        if self.partition is None or self.gone:
            return _E.NONE
        change = self.partition.release(member, self._settings().limits)
        return _E.NONE if change is None else self._write(change)

    def expire(self) -> None:
        """Release some of what was held too long; `next_deadline_ms` says when to be called again."""
        if self.partition is not None and not self.gone:
            change = self.partition.expire(self._clock.monotonic_ms(), self._settings().limits)
            if change is not None:
                self._write(change)

    def next_deadline_ms(self) -> float:
        """Monotonic; infinity when no lock can run out."""
        if self.partition is None or self.gone:
            return math.inf
        return max(self.partition.next_deadline_ms(), self._again_ms)

    def _write(self, change: Change) -> Reply[ErrorCode]:
        """0 once it is on disk and counts; else it is as if it had not been."""
        self.writing += 1
        try:
            reply = self._persister.write(
                self.key, self.state_epoch, self.log.leader_epoch, change.start_offset, change.over, change.batches
            )
        except KafkaError as error:
            reply = error.code
        if not isinstance(reply, Deferred):
            return self._written(change, reply)
        settled: Deferred[ErrorCode] = Deferred()
        reply.when_done(lambda done: settled.resolve(self._written(change, done.result() if done.error is None else _code_of(done.error))))
        return settled

    def _written(self, change: Change, code: ErrorCode) -> ErrorCode:
        self.writing -= 1
        partition = self.partition
        assert partition is not None
        if code:
            partition.roll_back(change)
            self._again_ms = self._clock.monotonic_ms() + AGAIN_MS
            self._earlier(self)
            if code in _FENCED:
                self.dismiss()  # somebody has begun another life of it
        elif partition.commit(change):
            self._changed()
        return code


_NOT_FOUND = "Batch record not found. The request batch offsets are not found in the cache."


def _code_of(error: Exception) -> ErrorCode:
    return error.code if isinstance(error, KafkaError) else _E.UNKNOWN_SERVER_ERROR
