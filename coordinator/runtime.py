"""Decide → append → replay → reply: the one place where coordinators meet the log (Kafka's `CoordinatorRuntime`).

An internal topic (`__transaction_state`, `__consumer_offsets`, `__share_group_state`) is split into partitions; each has a `Shard`, the
state that the records of that partition add up to. A decision reads the shard and returns records; they are appended as one batch, then
replayed into the shard, live exactly as at start-up, so that a failed append leaves the state untouched. The answer goes out when
everything it rests on is on disk: a decision without records waits for the records of its shard written before it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from oncelog.coordinator.deferred import Deferred, Reply
from oncelog.coordinator.result import CoordinatorRecord, Result
from oncelog.coordinator.timers import Timer, Timers
from oncelog.protocol import control_records, records
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.names import IsolationLevel, TopicPartition
from oncelog.protocol.primitives import partition_for
from oncelog.storage.directory.manager import LogManager
from oncelog.storage.env import Env
from oncelog.storage.log.log import AppendOrigin, Log

T = TypeVar("T")

_LOAD_BYTES = 1 << 20
TICK_MS = 5  # of one turn, for what is due
_NOBODY = (-1, -1)
_COORDINATOR = AppendOrigin.COORDINATOR

# What a failed append means to a client of the coordinator (TransactionStateManager, CoordinatorOperationExceptionHelper).
_APPEND_ERRORS = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
}


class Shard(Protocol):
    """The state of one partition; changed by these two methods only.

    `newest_record_wins`: what a record says does not depend on the earlier ones of its key, so loading may pass over those.
    """

    newest_record_wins: bool

    def replay(
        self, key: bytes, value: bytes | None, *, offset: int, producer_id: int, producer_epoch: int, timestamp_ms: int, content: Any = None
    ) -> None:
        """`content`: `CoordinatorRecord.content`, None when the record comes from the log."""

    def replay_marker(self, producer_id: int, producer_epoch: int, commit: bool, offset: int) -> None: ...


S = TypeVar("S", bound=Shard)


class LogPosition(NamedTuple):
    """Everything below `offset` of `partition` of the runtime's topic."""

    partition: int
    offset: int


class Written(NamedTuple, Generic[T]):
    """A decision carried out: its answer may go out once `position` is durable (None: it rests on nothing that is not on disk).

    `changed`: it had records of its own; without them `position` is the end of what its shard had written before.
    """

    response: T
    effects: tuple[Any, ...]
    position: LogPosition | None
    changed: bool


class _Slot(Generic[S]):
    __slots__ = ("end", "log", "shard")

    def __init__(self, shard: S, log: Log | None) -> None:
        self.shard = shard
        self.log = log
        self.end = 0  # the log end after our last append: what answers wait for


def coordinator_error(error: KafkaError) -> KafkaError:
    """What a client of the coordinator is told when its log refused an append."""
    return KafkaError(_APPEND_ERRORS.get(error.code, error.code), error.message)


class CoordinatorRuntime(Generic[S]):
    """All shards of one internal topic. The topic is created by the first write.

    All are loaded at start. One that came and went while others serve would be one slot filled or emptied, with a `loading` of its own.
    """

    def __init__(
        self,
        env: Env,
        logs: LogManager,
        topic: str,
        partitions: int,
        topic_configs: dict[str, str],
        new_shard: Callable[[int], S],
        *,
        base_sequence: int = 0,
    ) -> None:
        """`base_sequence`: what Kafka writes into the header of these batches: 0 in `__consumer_offsets`, -1 in `__transaction_state`."""
        self.topic = topic
        self.loading = True
        self.timers = Timers()
        self._env = env
        self._logs = logs
        self._topic_configs = topic_configs
        self._partitions = partitions
        self._new_shard = new_shard
        self._base_sequence = base_sequence
        self._slots: list[_Slot[S]] = []

    # -- the topic and its shards

    @property
    def partitions(self) -> int:
        """Fixed once the topic exists: ids are mapped to partitions by it."""
        return self._partitions

    def partition_for(self, id: str) -> int:
        """The partition that coordinates `id` (Java's String.hashCode modulo the partition count)."""
        return partition_for(id, self._partitions)

    def shard(self, partition: int) -> S:
        return self._slots[partition].shard

    def shards(self) -> list[S]:
        return [slot.shard for slot in self._slots]

    def shard_of(self, id: str) -> S:
        return self._slots[partition_for(id, self._partitions)].shard

    def ensure_topic(self) -> None:
        """Create the topic if it is not there; raises KafkaError."""
        if self._logs.topics.get(self.topic) is None:
            self._logs.create_topic(self.topic, self._partitions, self._topic_configs)

    def log(self, partition: int) -> Log:
        """The log of a partition; raises KafkaError(COORDINATOR_NOT_AVAILABLE) when it cannot be had."""
        slot = self._slots[partition]
        if slot.log is None:
            self.ensure_topic()
            slot.log = self._logs.log(TopicPartition(self.topic, partition))
            if slot.log is None:
                raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"no log for {self.topic}-{partition}")
        return slot.log

    def end(self, partition: int) -> LogPosition | None:
        """The end of what stands in a partition; None: it has no log yet."""
        slot = self._slots[partition]
        return None if slot.log is None else LogPosition(partition, slot.end)

    # -- loading

    def load(self) -> None:
        """Build every shard from its log. A topic that exists keeps its own partition count, whatever the settings say."""
        existing = self._logs.topics.get(self.topic)
        if existing is not None:
            self._partitions = existing.partitions
            if self._topic_configs.keys() - existing.configs.keys():  # lost, or made by an older version
                self._logs.alter_topic_configs(self.topic, {**self._topic_configs, **existing.configs})
        self._slots = []
        for partition in range(self._partitions):
            log = self._logs.log(TopicPartition(self.topic, partition)) if existing is not None else None
            slot = _Slot(self._new_shard(partition), log)
            if log is not None:
                (_replay_newest if slot.shard.newest_record_wins else _replay_log)(log, slot.shard)
                slot.end = log.log_end_offset
            self._slots.append(slot)
        self.loading = False

    def replay_marker(self, partition: int, producer_id: int, producer_epoch: int, commit: bool, offset: int) -> None:
        """A marker was just written to our topic by somebody else; before loading, the log will tell."""
        if not self.loading:
            self._slots[partition].shard.replay_marker(producer_id, producer_epoch, commit, offset)
            self._slots[partition].end = max(self._slots[partition].end, offset + 1)

    # -- writing

    def write(self, id: str, decide: Callable[[S, int], Result[T]], *, producer: tuple[int, int] | None = None) -> Written[T]:
        """Decide for `id`, append, replay. Raises KafkaError of `decide`, COORDINATOR_LOAD_IN_PROGRESS, or what the append failed with
        in the coordinator's terms; then nothing has changed. `effects` are the caller's to carry out."""
        if self.loading:
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        return self.write_to(partition_for(id, self._partitions), decide, producer=producer)

    def write_to(self, partition: int, decide: Callable[[S, int], Result[T]], *, producer: tuple[int, int] | None = None) -> Written[T]:
        """As `write`, for decisions about a whole shard (sweeps)."""
        slot = self._slots[partition]
        now_ms = self._env.clock.time_ms()
        result = decide(slot.shard, now_ms)
        if result.records:
            self._append(partition, result.records, producer, now_ms)
        durable = slot.log is None or slot.log.high_watermark >= slot.end
        position = None if durable else LogPosition(partition, slot.end)
        return Written(result.response, result.effects, position, bool(result.records))

    def submit(
        self,
        id: str,
        decide: Callable[[S, int], Result[T]],
        *,
        producer: tuple[int, int] | None = None,
        refused: Callable[[ErrorCode], T] | None = None,
    ) -> Reply[T]:
        """Decide for `id`, append, replay, call the effects (plain callables) and answer when durable.

        `producer`: (id, epoch) when the records belong to a transaction (offset commits). `refused` makes the answer of an error, be it
        the decision's, the append's or the disk's; without it the error is raised, as `write` does, or fails the answer.
        """
        try:
            written = self.write(id, decide, producer=producer)
        except KafkaError as error:
            if refused is None:
                raise
            return refused(error.code)
        for effect in written.effects:
            effect()
        return self.reply_when_durable(written.response, written.position, refused)

    def when_durable(self, position: LogPosition, callback: Callable[[KafkaError | None], None]) -> None:
        """Call back, at once or later on the loop's thread, when `position` is on disk; with the error when it never will be."""
        self.log(position.partition).when_durable(position.offset, callback)

    def in_order(self, position: LogPosition) -> bool:
        """Markers that are appended from now on, to any log, can not be on disk before `position` is (`Durability.in_order`)."""
        return self.log(position.partition).durability.in_order

    def sync(self, partition: int) -> None:
        """Return when everything in the partition's log is on disk (start-up only: it waits). Raises KafkaError."""
        log = self.log(partition)
        log.flush()
        # what a killed process left in the page cache counts as written, but is not on disk yet
        path = log.active_segment.log_path
        try:
            file = log.descriptors.pin(path)
            try:
                file.datasync()
            finally:
                log.descriptors.unpin(path)
        except OSError as error:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(error)) from error

    def reply_when_durable(self, response: T, position: LogPosition | None, refused: Callable[[ErrorCode], T] | None = None) -> Reply[T]:
        """`response`, now or later. When the disk fails it is `refused(code)`; without that, it fails with KafkaError."""
        if position is None:
            return response
        deferred: Deferred[T] = Deferred()

        def settle(error: KafkaError | None) -> None:
            if error is None:
                deferred.resolve(response)
            elif refused is not None:
                deferred.resolve(refused(coordinator_error(error).code))
            else:
                deferred.fail(coordinator_error(error))

        self.when_durable(position, settle)
        return deferred.reply()

    def _append(self, partition: int, new: Sequence[CoordinatorRecord], producer: tuple[int, int] | None, now_ms: int) -> None:
        producer_id, producer_epoch = producer or _NOBODY
        slot, count = self._slots[partition], len(new)
        if count == 1:
            framed = records.record_of(0, new[0][0], new[0][1])
        else:
            framed = b"".join([records.record_of(index, record[0], record[1]) for index, record in enumerate(new)])
        try:
            log = slot.log or self.log(partition)
            if producer is None:
                base_offset = log.own.records(count, framed, now_ms, self._base_sequence)
            else:
                base_offset = self._append_for(
                    log,
                    records.batch_at(
                        0, 0, now_ms, count, framed, records.TRANSACTIONAL_BIT, producer_id, producer_epoch, self._base_sequence
                    ),
                    now_ms,
                )
        except KafkaError as error:
            raise coordinator_error(error) from error
        slot.end = base_offset + count
        for index, record in enumerate(new):
            slot.shard.replay(
                record.key,
                record.value,
                offset=base_offset + index,
                producer_id=producer_id,
                producer_epoch=producer_epoch,
                timestamp_ms=now_ms,
                content=record.content,
            )

    def _append_for(self, log: Log, batch: bytes, now_ms: int) -> int:
        """Append the records of a producer's transaction; their base offset. Raises KafkaError."""
        config, stored = log.config, bytearray(batch)
        checked = len(batch) <= config.max_message_bytes and len(batch) <= config.max_segment_bytes  # else it is refused
        return log.append(stored, now_ms, origin=_COORDINATOR, header=records.parse_header(stored), checked=checked).base_offset

    # -- time

    def now_ms(self) -> int:
        return self._env.clock.time_ms()

    def schedule(self, deadline_ms: float, action: Callable[[float], None]) -> Timer:
        """Have `action(now_ms)` called by the first `tick` at or after `deadline_ms` (wall clock)."""
        return self.timers.schedule(deadline_ms, action)

    def tick(self, now_ms: float) -> None:
        """Carry out what is due; of very much some now, the rest in the next tick."""
        clock = self._env.clock
        stop_ms = clock.monotonic_ms() + TICK_MS
        self.timers.fire(now_ms, lambda: clock.monotonic_ms() >= stop_ms)

    def next_deadline_ms(self) -> float | None:
        return self.timers.next_deadline_ms()


def _replay_log(log: Log, shard: Shard) -> None:
    for header, batch in batches(log):
        if not header.is_control:
            for record in records.iter_records(batch):
                _replay(record, header, shard)
            continue
        marker = control_records.parse_end_transaction_marker(batch)
        if marker is not None:  # a compacted control batch may be empty
            shard.replay_marker(header.producer_id, header.producer_epoch, marker.commit, header.base_offset)


def _replay_newest(log: Log, shard: Shard) -> None:
    """What compaction would leave is enough: a log of a million records may be of a hundred ids."""
    newest: dict[bytes, tuple[records.Record, records.BatchHeader]] = {}
    for header, batch in batches(log):
        if header.is_control:
            continue
        for record in records.iter_records(batch):
            if record.key is not None:
                newest[record.key] = record, header
    for record, header in newest.values():
        _replay(record, header, shard)


def _replay(record: records.Record, header: records.BatchHeader, shard: Shard) -> None:
    if record.key is not None:
        shard.replay(
            record.key,
            record.value,
            offset=record.offset,
            producer_id=header.producer_id,
            producer_epoch=header.producer_epoch,
            timestamp_ms=record.timestamp,
        )


def batches(log: Log) -> Iterator[tuple[records.BatchHeader, memoryview]]:
    """All batches of a log, the last too, stable or not. Raises KafkaError."""
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        chunk = log.read(offset, _LOAD_BYTES, isolation=IsolationLevel.READ_UNCOMMITTED, min_one_message=True).records
        if not chunk:
            return  # the rest was compacted away
        assert isinstance(chunk, bytes)
        view = memoryview(chunk)
        start = offset
        for position, header in records.iter_headers(view):
            if header.next_offset <= offset:
                continue  # a read starts at a batch, which may begin before the offset asked for
            yield header, view[position : position + header.size_bytes]
            offset = header.next_offset
        if offset == start:
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"{log.topic_partition} has no whole batch at offset {offset}")
