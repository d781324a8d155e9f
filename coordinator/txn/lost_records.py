"""What is done where damage took records of `__transaction_state`: the newest record that is left of an id may be of another day.

Partitions know better. A transaction that one of them shows as ended is ended alike on the others. Ids go on behind the epochs that
partitions have seen. A transaction that is open and of which no record is left is aborted and its producer fenced, never ended by the
decision about an earlier one. And as an epoch that was only handed out left no trace anywhere, such an id gets a new producer id when
it is initialized, or ends a transaction, next; that is remembered (`storage/recovery/doubts.py`).
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable

from oncelog.coordinator.result import Result
from oncelog.coordinator.runtime import CoordinatorRuntime, batches
from oncelog.coordinator.txn.decisions import TxnDecisions
from oncelog.coordinator.txn.marker_channel import is_marked
from oncelog.coordinator.txn.markers import marker_version, markers_of
from oncelog.coordinator.txn.past import PastDecisions
from oncelog.coordinator.txn.shard import TxnShard
from oncelog.coordinator.txn.state import TransactionMetadata, TransactionState
from oncelog.protocol.errors import KafkaError
from oncelog.protocol.names import TopicPartition
from oncelog.storage.directory.manager import LogManager
from oncelog.storage.env import FileSystem
from oncelog.storage.log.log import Log
from oncelog.storage.recovery.doubts import Doubts, read_doubts, traces, write_doubts

_log = logging.getLogger(__name__)


class LostRecords:
    """Runs once, after loading and before anything is mended by what the ids say. `damaged`: partitions that lost records, now or ever."""

    def __init__(self, fs: FileSystem, runtime: CoordinatorRuntime[TxnShard], decisions: TxnDecisions, logs: LogManager) -> None:
        self.damaged: set[int] = set()
        self._fs = fs
        self._runtime = runtime
        self._decisions = decisions
        self._logs = logs

    def settle(self) -> None:
        """Nothing where no record is lost."""
        shards, found = [], dict[int, Doubts]()
        for shard in self._runtime.shards():
            log = self._log_of(shard)
            if log is None:
                continue
            known, there = read_doubts(self._fs, log.folder), traces(self._fs, log.folder)
            if known is not None:
                shard.doubt(known.producer_ids)
            if known is None or log.segments.damaged or not there <= known.seen:
                shards.append(shard)
                found[shard.partition] = Doubts(there if known is None else known.seen | there)
            if known is None or log.segments.damaged or known.seen or there:
                self.damaged.add(shard.partition)
        if not shards:
            return
        concluded = self._conclude(shards)
        behind = self._catch_up(shards)
        if concluded or behind:
            _log.error(
                "records of transactional ids are lost, partitions tell what they can decisions=%d epochs=%d first=%s",
                len(concluded),
                len(behind),
                min({*concluded, *behind}),
            )
        self._give_up(shards)
        for shard in shards:
            shard.doubt_all()
            self._remember(shard, found[shard.partition])

    def _remember(self, shard: TxnShard, doubts: Doubts) -> None:
        """For the next start, once what was settled here is on disk: else it settles it again."""
        log = self._log_of(shard)
        assert log is not None
        try:
            log.flush()
            write_doubts(self._fs, log.folder, doubts._replace(producer_ids=frozenset(shard.doubtful_producers())))
        except (KafkaError, OSError) as error:
            _log.error("doubts not written folder=%s error=%s", log.folder, error)

    def _conclude(self, shards: list[TxnShard]) -> list[str]:
        """A running transaction of which a partition has the marker was decided: the record of that is lost."""
        running = [txn for shard in shards for txn in shard.transactions.values() if txn.state is TransactionState.ONGOING]
        past = PastDecisions(self._runtime, {txn.producer_id for txn in running}, self.damaged)
        concluded = []
        for txn in running:
            ends = [end for place in sorted(txn.partitions) if (end := self._end_at(past, txn, place)) is not None]
            if ends:
                self._end(txn.transactional_id, all(commit for commit, _ in ends), min(at_ms for _, at_ms in ends))
                concluded.append(txn.transactional_id)
        return concluded

    def _end_at(self, past: PastDecisions, txn: TransactionMetadata, place: TopicPartition) -> tuple[bool, int] | None:
        log = self._logs.log(place)
        entry = None if log is None else log.state.get(txn.producer_id)
        if (
            log is None
            or entry is None
            or not (entry.epoch > txn.producer_epoch or (entry.coordinator_epoch >= 0 and marker_version(txn) < 2))
        ):
            return None
        return past.decided_by_marker(txn, place, log)

    def _end(self, id: str, commit: bool, at_ms: int) -> None:
        self._write(id, lambda shard, now_ms: self._decisions.conclude(shard, id, commit, at_ms))

    def _catch_up(self, shards: list[TxnShard]) -> list[str]:
        """A partition may have seen a higher epoch than is left: none may be given out twice."""
        owners = {txn.producer_id: txn for shard in shards for txn in shard.transactions.values()}
        seen: dict[int, int] = {}
        for log in self._logs.logs():
            for entry in log.producers():
                owner = owners.get(entry.producer_id)
                if owner is not None and entry.epoch > seen.get(entry.producer_id, owner.producer_epoch):
                    seen[entry.producer_id] = entry.epoch
        for producer_id, epoch in seen.items():
            self._overtake(owners[producer_id].transactional_id, epoch)
        return [owners[producer_id].transactional_id for producer_id in seen]

    def _overtake(self, id: str, epoch: int) -> None:
        self._write(id, lambda shard, now_ms: self._decisions.overtake(shard, id, epoch, now_ms))

    def _give_up(self, shards: list[TxnShard]) -> None:
        """What is open under the pair that an id has now, though by its record nothing is: the record of its transaction is lost."""
        found: dict[str, dict[TopicPartition, int]] = defaultdict(dict)
        for log in self._logs.logs():
            for producer_id, epoch, first_offset in log.open_transactions():
                txn = next((txn for shard in shards if (txn := shard.of_producer(producer_id)) is not None), None)
                if txn is not None and (producer_id, epoch) == txn.pair_after_end():
                    found[txn.transactional_id][log.topic_partition] = first_offset
        for id, opened in found.items():
            shard = self._runtime.shard_of(id)
            if self._is_later(shard, shard.transactions[id], opened):
                _log.error("the record of an open transaction is lost, it is aborted transactional_id=%s partitions=%d", id, len(opened))
                self.abort(id, frozenset(opened))

    def abort(self, id: str, partitions: frozenset[TopicPartition]) -> None:
        """Decide it, and fence the producer."""
        self._write(id, lambda shard, now_ms: self._decisions.give_up(shard, id, partitions, now_ms))

    def _is_later(self, shard: TxnShard, txn: TransactionMetadata, opened: dict[TopicPartition, int]) -> bool:
        """Is what is open a later transaction than the one whose end the newest record tells?

        With an epoch for each transaction the epoch says it. Else a marker does that was written since the decision: a producer goes on
        when all of them are durable. Behind a Complete record an end without its marker is open as well, after a power cut; then the next
        transaction had no record yet, so where acknowledged records are lost it is taken for the next one.
        """
        match txn.state:
            case TransactionState.PREPARE_COMMIT | TransactionState.PREPARE_ABORT:
                if txn.pair_after_end()[0] != txn.producer_id or marker_version(txn) == 2:
                    return True
                if any(self._has_marker(txn, partition, first_offset) for partition, first_offset in opened.items()):
                    return True
                return all(
                    (log := self._logs.log(marker.topic_partition)) is None or is_marked(log, marker, txn.last_update_timestamp_ms)
                    for marker in markers_of(txn)
                )
            case TransactionState.COMPLETE_COMMIT | TransactionState.COMPLETE_ABORT if marker_version(txn) < 2:
                own = self._log_of(shard)
                return own is not None and own.segments.lost_acknowledged
        return False

    def _has_marker(self, txn: TransactionMetadata, partition: TopicPartition, below: int) -> bool:
        """Has the producer got a marker there, in front of this offset, since its end was decided?"""
        log = self._logs.log(partition)
        assert log is not None
        for header, _ in batches(log):
            if header.base_offset >= below:
                break
            ends = header.is_control and (header.producer_id, header.producer_epoch) == (txn.producer_id, txn.producer_epoch)
            if ends and header.max_timestamp >= txn.last_update_timestamp_ms:
                return True
        return False

    def _log_of(self, shard: TxnShard) -> Log | None:
        return self._logs.log(TopicPartition(self._runtime.topic, shard.partition))

    def _write(self, transactional_id: str, decide: Callable[[TxnShard, int], Result[None]]) -> None:
        try:
            self._runtime.write(transactional_id, decide)
        except KafkaError as error:  # the log is offline; the next start tries again
            _log.error("transactional id not settled transactional_id=%s error=%s", transactional_id, error)
