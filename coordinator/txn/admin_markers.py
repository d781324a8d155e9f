"""Markers written from outside: WriteTxnMarkers of an administrator (`kafka-transactions.sh abort`, `oncelog txn abort`).

Apache Kafka appends such a marker and tells its coordinator nothing: the client then commits what is aborted already, or its id
hangs in Prepare for good. Here the coordinator is told. A hanging transaction, which no id knows, is simply closed; one that is
still open is aborted on all its partitions and its client fenced.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from oncelog.coordinator.deferred import Deferred, Reply
from oncelog.coordinator.runtime import CoordinatorRuntime
from oncelog.coordinator.txn.marker_channel import LocalMarkerChannel, MarkerLog
from oncelog.coordinator.txn.markers import Marker
from oncelog.coordinator.txn.shard import TxnShard
from oncelog.coordinator.txn.state import TRANSITIONS, Event, TransactionMetadata, TransactionState
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.names import TopicPartition

_MAX_EPOCH = 32767


class AdminMarkers:
    """`abort(transactional_id, marker_epoch, client)` has the coordinator abort what is left of the transaction."""

    def __init__(
        self,
        runtime: CoordinatorRuntime[TxnShard],
        log_of: Callable[[TopicPartition], MarkerLog | None],
        channel: LocalMarkerChannel,
        abort: Callable[[str, int, str], None],
    ) -> None:
        self._runtime = runtime
        self._log_of = log_of
        self._channel = channel
        self._abort = abort

    def write(
        self,
        producer_id: int,
        producer_epoch: int,
        coordinator_epoch: int,
        commit: bool,
        partitions: Iterable[TopicPartition],
        *,
        transaction_version: int,
        client: str,
    ) -> Reply[dict[TopicPartition, ErrorCode]]:
        """One marker on each partition; answered, with a code each, when all that were taken are durable."""
        wanted = list(partitions)
        if not 0 <= producer_epoch <= _MAX_EPOCH:
            return dict.fromkeys(wanted, ErrorCode.UNKNOWN_SERVER_ERROR)
        owner = self._owner_of(producer_id)
        verdicts: dict[TopicPartition, ErrorCode] = {}
        written: list[tuple[MarkerLog, int, TopicPartition]] = []
        for partition in wanted:
            log = self._log_of(partition)
            marker = Marker(partition, producer_id, producer_epoch, commit, transaction_version)
            verdicts[partition], end_offset = self._append(log, marker, coordinator_epoch, owner)
            if log is not None and end_offset is not None:
                written.append((log, end_offset, partition))
        if owner is not None and any(partition in owner.partitions for _, _, partition in written):
            self._abort(owner.transactional_id, producer_epoch, client)
        return self._when_all_durable(verdicts, written)

    def _append(
        self, log: MarkerLog | None, marker: Marker, coordinator_epoch: int, owner: TransactionMetadata | None
    ) -> tuple[ErrorCode, int | None]:
        if log is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, None
        if owner is not None and marker.topic_partition in owner.partitions:
            refusal = TRANSITIONS[owner.state, Event.FOREIGN_MARKER].error  # decided, and about to get its own marker
            if refusal is not ErrorCode.NONE:
                return refusal, None
        try:
            return ErrorCode.NONE, self._channel.append(log, marker, max(coordinator_epoch, 0), self._runtime.now_ms())
        except KafkaError as error:
            return error.code, None

    def _owner_of(self, producer_id: int) -> TransactionMetadata | None:
        if self._runtime.loading:
            return None
        for shard in self._runtime.shards():
            txn = shard.of_producer(producer_id)
            if txn is not None and (txn.state is TransactionState.ONGOING or txn.state.is_prepared):
                return txn
        return None

    def _when_all_durable(
        self, verdicts: dict[TopicPartition, ErrorCode], written: list[tuple[MarkerLog, int, TopicPartition]]
    ) -> Reply[dict[TopicPartition, ErrorCode]]:
        outstanding = len(written)
        deferred: Deferred[dict[TopicPartition, ErrorCode]] = Deferred()
        if not outstanding:
            return verdicts
        for log, end_offset, partition in written:

            def durable(error: KafkaError | None, partition: TopicPartition = partition) -> None:
                nonlocal outstanding
                outstanding -= 1
                if error is not None:
                    verdicts[partition] = error.code
                if outstanding == 0:
                    deferred.resolve(verdicts)

            log.when_durable(end_offset, durable)
        return deferred.reply()
