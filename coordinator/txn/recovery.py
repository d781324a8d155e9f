"""Mending what a crash left, before the first client is served.

Five things are put right, from what the transaction log and the partitions say: what ids tell whose newest records damage took
(`lost_records.py`); transactions whose markers damage took, though their ids went on, end as they were decided (`past.py`); prepared
transactions are completed, each partition getting its marker exactly once; open transactions whose marker or whose Ongoing record was
lost with the power get it again; open transactions that no transactional id knows are aborted, because nobody else would ever end them.
The catalogue of topics is complete at this point, so a partition that is not there was really deleted.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterator

from oncelog.coordinator.runtime import CoordinatorRuntime
from oncelog.coordinator.txn.decisions import TxnDecisions
from oncelog.coordinator.txn.lost_records import LostRecords
from oncelog.coordinator.txn.marker_channel import LocalMarkerChannel
from oncelog.coordinator.txn.marker_phase import MarkerPhase
from oncelog.coordinator.txn.markers import Leave, Marker, OpenTransaction, Restore, resolve
from oncelog.coordinator.txn.past import Decision, Doubt, PastDecisions
from oncelog.coordinator.txn.producer_ids import ProducerIds
from oncelog.coordinator.txn.shard import TxnShard
from oncelog.coordinator.txn.state import TransactionMetadata, TransactionState
from oncelog.protocol.errors import KafkaError
from oncelog.protocol.names import TopicPartition
from oncelog.storage.directory.manager import LogManager
from oncelog.storage.env import FileSystem

_log = logging.getLogger(__name__)


class TxnRecovery:
    """Runs once, between loading and serving. Lost markers are on disk when it ends; what else it writes becomes durable in order, like
    everything."""

    def __init__(
        self,
        fs: FileSystem,
        runtime: CoordinatorRuntime[TxnShard],
        decisions: TxnDecisions,
        logs: LogManager,
        markers: MarkerPhase,
        channel: LocalMarkerChannel,
        producer_ids: ProducerIds,
    ) -> None:
        self._runtime = runtime
        self._decisions = decisions
        self._logs = logs
        self._markers = markers
        self._channel = channel
        self._producer_ids = producer_ids
        self._lost_records = LostRecords(fs, runtime, decisions, logs)

    def run(self) -> None:
        self._producer_ids.keep_clear_of(self._known_producer_ids())
        self._lost_records.settle()
        found = list(self._open_transactions())
        ends = self._past_ends(found)
        self._abort_unknown(ends)
        decided = [txn for txn in self._prepared() if self._is_durable(txn.transactional_id)]
        self._mend(found, ends)
        for txn in decided:
            _log.info("transaction completed after restart transactional_id=%s state=%s", txn.transactional_id, txn.state.wire_name)
            self._markers.begin(txn.transactional_id, None, lambda error: None, careful=True, at_once=True)

    def _is_durable(self, transactional_id: str) -> bool:
        """Put the Prepare record on disk, where a killed process may not have got it: no marker may outlive it."""
        try:
            self._runtime.sync(self._runtime.partition_for(transactional_id))
        except KafkaError as error:  # undecided until a start on a better disk
            _log.error("transaction not completed transactional_id=%s error=%s", transactional_id, error)
            self._runtime.shard_of(transactional_id).set_pending(transactional_id)
            return False
        return True

    def _prepared(self) -> list[TransactionMetadata]:
        return [txn for shard in self._runtime.shards() for txn in shard.transactions.values() if txn.state.is_prepared]

    def _open_transactions(self) -> Iterator[OpenTransaction]:
        for log in self._logs.logs():
            for producer_id, producer_epoch, first_offset in log.open_transactions():
                committed = log.lost_ends.get(producer_id, False)
                yield OpenTransaction(log.topic_partition, producer_id, producer_epoch, committed, first_offset)

    def _past_ends(self, found: list[OpenTransaction]) -> dict[OpenTransaction, Decision | Doubt]:
        """Of what the newest records would end, or what stands where records are lost: how it ended, if it is known or in doubt."""
        asked = []
        for one in found:
            log = self._logs.log(one.topic_partition)
            assert log is not None
            if log.segments.lost_acknowledged or isinstance(resolve(one, self._owner_of(one.producer_id)), Marker):
                asked.append((one, log))
        if not asked:
            return {}
        past = PastDecisions(self._runtime, {one.producer_id for one, _ in asked}, self._lost_records.damaged)
        return {one: past.end_of(one, log, self._owner_of(one.producer_id), hurt=log.segments.lost_acknowledged) for one, log in asked}

    def _abort_unknown(self, ends: dict[OpenTransaction, Decision | Doubt]) -> None:
        """What would be committed with a transaction that is still running, and may belong to one that was aborted: both are."""
        for one, end in ends.items():
            txn = self._owner_of(one.producer_id)
            if end is Doubt.UNKNOWN and txn is not None and txn.state is TransactionState.ONGOING and resolve(one, txn) is Leave.LEAVE:
                _log.error("a running transaction is aborted, its records are lost transactional_id=%s", txn.transactional_id)
                self._lost_records.abort(txn.transactional_id, txn.partitions)

    def _mend(self, found: list[OpenTransaction], ends: dict[OpenTransaction, Decision | Doubt]) -> None:
        lost: dict[str, list[TopicPartition]] = defaultdict(list)
        for open_transaction in found:
            remedy = _remedy(open_transaction, self._owner_of(open_transaction.producer_id), ends.get(open_transaction, Doubt.NEWEST))
            if isinstance(remedy, Restore):
                lost[remedy.transactional_id].append(remedy.topic_partition)
            elif isinstance(remedy, Marker):
                self._write(open_transaction, remedy)
        for transactional_id, partitions in lost.items():
            self._restore(transactional_id, partitions)

    def _write(self, found: OpenTransaction, marker: Marker) -> None:
        _log.warning(
            "marker written again partition=%s producer_id=%d epoch=%d result=%s",
            found.topic_partition,
            found.producer_id,
            found.producer_epoch,
            "COMMIT" if marker.commit else "ABORT",
        )
        delivery = self._channel.write(marker, self._runtime.now_ms())
        owner = self._owner_of(found.producer_id)
        if (delivery.retry or not self._flushed(marker.topic_partition)) and owner is not None:
            self._runtime.shard_of(owner.transactional_id).set_pending(owner.transactional_id)

    def _flushed(self, place: TopicPartition) -> bool:
        """Put a marker on disk before its id may go on: the record of the next transaction would hide from the next start how this one
        ended."""
        log = self._logs.log(place)
        assert log is not None
        try:
            log.flush()
        except KafkaError as error:
            _log.error("marker not on disk, its transactional id waits for a restart partition=%s error=%s", place, error)
            return False
        return True

    def _restore(self, transactional_id: str, partitions: list[TopicPartition]) -> None:
        _log.warning("partitions added again transactional_id=%s partitions=%s", transactional_id, ",".join(map(str, partitions)))
        try:
            self._runtime.write(
                transactional_id, lambda shard, now_ms: self._decisions.restore(shard, transactional_id, partitions, now_ms)
            )
        except KafkaError as error:  # the log is offline; the next start tries again
            _log.error("partitions not added transactional_id=%s error=%s", transactional_id, error)

    def _owner_of(self, producer_id: int) -> TransactionMetadata | None:
        for shard in self._runtime.shards():
            txn = shard.of_producer(producer_id)
            if txn is not None:
                return txn
        return None

    def _known_producer_ids(self) -> Iterator[int]:
        for shard in self._runtime.shards():
            for txn in shard.transactions.values():
                yield max(txn.producer_id, txn.previous_producer_id, txn.next_producer_id)
        if self._producer_ids.is_new:  # the persisted number is missing: idempotent producers are known to the partitions only
            for log in self._logs.logs():
                for entry in log.producers():
                    yield entry.producer_id


def _remedy(found: OpenTransaction, txn: TransactionMetadata | None, end: Decision | Doubt) -> Leave | Restore | Marker:
    if isinstance(end, Decision):
        return Marker(found.topic_partition, found.producer_id, end.marker_epoch, end.commit, end.version)
    remedy = resolve(found, txn)
    if end is Doubt.NEWEST or (txn is not None and txn.state is TransactionState.PREPARE_ABORT):
        return remedy
    _log.error(
        "how a transaction ended is lost, it is aborted partition=%s producer_id=%d epoch=%d first_offset=%d",
        found.topic_partition,
        found.producer_id,
        found.producer_epoch,
        found.first_offset,
    )
    return Marker(found.topic_partition, found.producer_id, found.producer_epoch, False, 0)
