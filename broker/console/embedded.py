"""The broker of this process, looked at in its loop: nothing is asked over a socket, and no turn takes long."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Final

from oncelog.broker.console.lint_logs import look
from oncelog.broker.console.lint_requests import RequestLint
from oncelog.broker.console.lint_rules import Findings
from oncelog.broker.console.model import (
    Facts,
    Group,
    OpenTransaction,
    Partition,
    Pieces,
    Producer,
    Refused,
    SeenBatch,
    SegmentAt,
    Transaction,
    Unreachable,
)
from oncelog.broker.console.shards import groups_of, transaction_of
from oncelog.broker.console.watching import Watching
from oncelog.coordinator.deferred import Deferred, Reply
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.names import TRANSACTION_STATE, IsolationLevel, TopicPartition
from oncelog.storage.log.log import Log
from oncelog.storage.log.producer_snapshots import snapshots
from oncelog.storage.log.stored_records import StoredRecords

if TYPE_CHECKING:
    from oncelog.broker.lifecycle import Broker
    from oncelog.storage.log.producer_state import ProducerStateEntry

_TURN = 250  # of partitions, transactional ids or groups: a millisecond or two
_LOOKED_AT = 1000  # partitions looked at anew each time: all of ten thousand in ten seconds
_SAMPLES, _SAMPLES_A_TURN = 200, 50  # requests that the linter reads at once
_LINT_EVERY_MS = 10_000
_ADMINISTRATOR = "the inspector"


class EmbeddedSource:
    """`running()` gives the broker, None while it is down."""

    kind: Final = "embedded"

    def __init__(self, running: Callable[[], Broker | None], watching: Watching) -> None:
        self._running = running
        self._watching = watching
        self._behind_since: dict[TopicPartition, int] = {}
        self._next_look = 0
        self._looked_at: Broker | None = None
        self._findings = Findings()
        self._request_lint = RequestLint(self._findings, self._has_members, self._is_transactional)
        self._next_lint_ms = 0.0

    @property
    def _broker(self) -> Broker:
        broker = self._running()
        if broker is None:
            raise Unreachable("the broker is down, or on its way up")
        return broker

    @property
    def bootstrap(self) -> str:
        listener = self._broker.listeners[0]
        return f"{listener.config.host}:{listener.port}"

    def now_ms(self) -> int:
        return self._broker.env.clock.time_ms()

    async def facts(self) -> Facts:
        broker = self._broker
        topics = broker.logs.topics.all()
        can = dict.fromkeys(("abort", "owners", "requests", "fencings", "segments", "rebalances", "values"), True)
        count = sum(topic.partitions for topic in topics)
        return Facts(self.bootstrap, broker.context.cluster_id, f"oncelog {_version()}", can, len(topics), count)

    # -- transactions

    async def transactions(self, *, only_open: bool = False) -> Sequence[Transaction]:
        runtime = self._broker.context.transactions.runtime
        if runtime.loading:
            raise Unreachable("the transaction coordinator is loading")
        found: list[Transaction] = []
        for shard in runtime.shards():
            known = [txn for txn in shard.transactions.values() if not (only_open and txn.state.is_idle)]
            for first in range(0, len(known), _TURN):
                found += [transaction_of(txn, self._watching.owner(txn.transactional_id)) for txn in known[first : first + _TURN]]
                if len(known) > _TURN:
                    await asyncio.sleep(0)
        return found

    async def transaction_log(self, transactional_id: str) -> TopicPartition | None:
        return TopicPartition(TRANSACTION_STATE, self._broker.context.transactions.runtime.partition_for(transactional_id))

    async def requests_of(self, transactional_id: str) -> Sequence[Mapping[str, Any]]:
        return self._watching.requests_of(transactional_id)

    async def abort(self, transaction: Transaction) -> str:
        reply = self._broker.context.transactions.abort(transaction.transactional_id, _ADMINISTRATOR)
        code = await _awaited(reply)
        if code is not ErrorCode.NONE:
            raise Refused(409, f"the coordinator refused: {code.name}")
        return "coordinator"

    async def abort_hanging(self, place: TopicPartition, open_transaction: OpenTransaction) -> str:
        verdicts = await _awaited(
            self._broker.context.transactions.write_marker_from_admin(
                open_transaction.producer_id,
                open_transaction.producer_epoch,
                open_transaction.coordinator_epoch,
                False,
                [place],
                client=_ADMINISTRATOR,
            )
        )
        if verdicts[place] is not ErrorCode.NONE:
            raise Refused(409, f"the marker was refused: {verdicts[place].name}")
        return "WriteTxnMarkers"

    # -- partitions

    async def behind(self) -> Sequence[tuple[Partition, Sequence[OpenTransaction]]]:
        broker = self._broker
        now_ms = broker.env.clock.time_ms()
        found = []
        for place in await self._suspects(broker):
            log = broker.logs.log(place)
            if log is None or log.last_stable_offset >= log.high_watermark:
                continue
            since = self._behind_since.setdefault(place, now_ms)
            found.append((_partition(log)._replace(since_ms=since), _open(log)))
        still = {partition.place for partition, _ in found}
        self._behind_since = {place: since for place, since in self._behind_since.items() if place in still}
        return found

    async def _suspects(self, broker: Broker) -> list[TopicPartition]:
        """Where open transactions are, what was behind before, and some of all others: a hanging transaction is of no id."""
        runtime = broker.context.transactions.runtime
        places = {
            place for shard in runtime.shards() for txn in shard.transactions.values() if not txn.state.is_idle for place in txn.partitions
        }
        logs = broker.logs.logs()
        count = _LOOKED_AT if self._looked_at is broker else len(logs)
        self._looked_at = broker
        for first in range(0, min(count, len(logs)), _TURN):
            for at in range(first, min(first + _TURN, count, len(logs))):
                log = logs[(self._next_look + at) % len(logs)]
                if log.state.first_unstable_offset is not None:
                    places.add(log.topic_partition)
            await asyncio.sleep(0)
        self._next_look = (self._next_look + count) % len(logs) if logs else 0
        return sorted(places | self._behind_since.keys())

    async def partitions(self) -> Sequence[Partition]:
        broker = self._broker
        found = []
        for log in broker.logs.logs():
            found.append(_partition(log))
            if len(found) % _TURN == 0:
                await asyncio.sleep(0)
        written = {each.place for each in found}
        for topic in broker.logs.topics.all():
            for number in range(topic.partitions):
                place = TopicPartition(topic.name, number)
                if place not in written:
                    found.append(Partition(place, 0, 0, 0, 0, 0, 0, 0))
            await asyncio.sleep(0)
        return found

    async def edges(self, places: Iterable[TopicPartition]) -> Mapping[TopicPartition, Partition]:
        found = {}
        for count, place in enumerate(places, 1):
            log = self._log(place)
            if log is not None:
                found[place] = _partition(log)
            if count % _TURN == 0:
                await asyncio.sleep(0)
        return found

    async def open_on(self, place: TopicPartition) -> Sequence[OpenTransaction]:
        log = self._log(place)
        return () if log is None else _open(log)

    async def producers(self, place: TopicPartition) -> Sequence[Producer]:
        log = self._log(place)
        return () if log is None else [_producer(each) for each in log.producers()]

    async def pieces(self, place: TopicPartition) -> Pieces | None:
        log = self._log(place)
        if log is None:
            return None
        active = log.active_segment
        segments = tuple(SegmentAt(each.base_offset, each.size, each is active) for each in log.segments)
        try:
            kept = tuple(await asyncio.to_thread(snapshots, log.env.fs, log.folder))
        except OSError:
            kept = ()  # nobody has written there yet
        return Pieces(segments, kept)

    async def read(self, place: TopicPartition, offset: int, max_bytes: int) -> bytes:
        log = self._log(place)
        if log is None or not log.log_start_offset <= offset < log.log_end_offset:
            return b""
        try:
            got = log.read(offset, max_bytes, isolation=IsolationLevel.READ_UNCOMMITTED, min_one_message=True).records
        except KafkaError as error:
            raise Refused(409, f"{place} cannot be read: {error.message or error.code.name}") from None
        return bytes(got.read(0, len(got)) if isinstance(got, StoredRecords) else got)

    async def offset_at(self, place: TopicPartition, time_ms: int) -> int | None:
        log = self._log(place)
        if log is None:
            return None
        steps = log.reader.lookup(time_ms, IsolationLevel.READ_UNCOMMITTED)
        given: Any = None
        try:
            while True:
                given = await asyncio.to_thread(steps.send(given))
        except StopIteration as end:
            return int(end.value[0]) if end.value[0] >= 0 else None
        except KafkaError:
            return None  # offline: what it holds is told after a restart

    def _log(self, place: TopicPartition) -> Log | None:
        return self._broker.logs.log(place)

    # -- groups, and what was seen of requests

    async def groups(self) -> Sequence[Group]:
        broker = self._broker
        runtime = broker.context.groups.runtime
        found: list[Group] = []
        for shard in runtime.shards():
            for group in groups_of(shard, broker.context.topic_name):
                group.rebalances = self._watching.rebalances_of(group.group_id)
                found.append(group)
                if len(found) % _TURN == 0:
                    await asyncio.sleep(0)
        return found

    async def fencings(self) -> Sequence[Mapping[str, Any]]:
        return self._watching.fencings()

    async def lint(self) -> Sequence[Mapping[str, Any]]:
        """What came since the last time, some of it at once; the logs are looked at now and then."""
        for count, (time_ms, host, frame) in enumerate(self._watching.samples(_SAMPLES), 1):
            self._request_lint.observe(time_ms, host, frame)
            if count % _SAMPLES_A_TURN == 0:
                await asyncio.sleep(0)
        now = self._broker.env.clock.monotonic_ms()
        if now >= self._next_lint_ms:
            self._next_lint_ms = now + _LINT_EVERY_MS
            await look(self, self._findings)
        return self._findings.rows()

    def _has_members(self, group_id: str) -> bool:
        shard = self._broker.context.groups.runtime.shard_of(group_id)
        group, consumer = shard.groups.get(group_id), shard.consumer_groups.get(group_id)
        return bool(group is not None and group.members) or bool(consumer is not None and consumer.members)

    def _is_transactional(self, topic: uuid.UUID | str) -> str | None:
        """The topic's name, if a marker ever ended a transaction there or one is open."""
        logs = self._broker.logs
        found = logs.topics.get(topic) if isinstance(topic, str) else logs.topics.by_id(topic)
        if found is None:
            return None
        for number in range(found.partitions):
            log = logs.log(TopicPartition(found.name, number))
            if log is not None and any(
                each.coordinator_epoch >= 0 or each.current_txn_first_offset is not None for each in log.producers()
            ):
                return found.name
        return None

    async def close(self) -> None:
        """It is the broker's."""


async def _awaited(reply: Reply[Any]) -> Any:
    """The value of an answer of the coordinator's."""
    if not isinstance(reply, Deferred):
        return reply
    done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def tell(_reply: Deferred[Any]) -> None:
        if not done.done():
            done.set_result(None)

    reply.when_done(tell)
    await done
    return reply.result()


def _partition(log: Log) -> Partition:
    return Partition(
        log.topic_partition,
        log.log_start_offset,
        log.last_stable_offset,
        log.high_watermark,
        log.log_end_offset,
        len(log.open_transactions()),
        len(log.state),
        log.size_bytes(),
    )


def _open(log: Log) -> list[OpenTransaction]:
    found = []
    for producer_id, epoch, first_offset in log.open_transactions():
        entry = log.state.get(producer_id)
        assert entry is not None
        found.append(OpenTransaction(producer_id, epoch, first_offset, entry.last_timestamp, entry.coordinator_epoch))
    return found


def _producer(entry: ProducerStateEntry) -> Producer:
    batches = tuple(
        SeenBatch(each.first_sequence, each.last_sequence, each.first_offset, each.last_offset, each.timestamp) for each in entry.batches
    )
    following = (entry.last_sequence + 1) & 0x7FFFFFFF if entry.last_sequence >= 0 else 0
    return Producer(
        entry.producer_id, entry.epoch, following, entry.last_timestamp, entry.coordinator_epoch, entry.current_txn_first_offset, batches
    )


def _version() -> str:
    try:
        return version("oncelog")
    except PackageNotFoundError:
        return "0"
