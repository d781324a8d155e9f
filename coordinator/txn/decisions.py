"""The transaction coordinator's decisions, one method an API; they read a shard and change nothing.

Each returns a `Result`: the answer, the records that must be durable before it is given, and effects. Whoever carries the
decision out appends the records, replays them into the shard, writes markers where `WriteMarkers` asks for them and marks the id
as pending meanwhile. The chart of states is in `txn/state.py`; how epochs move is in `txn/init_producer_id.py` and `txn/end_txn.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from oncelog.coordinator.result import CoordinatorRecord, Result
from oncelog.coordinator.txn import end_txn, init_producer_id
from oncelog.coordinator.txn.config import TxnConfig
from oncelog.coordinator.txn.end_txn import EndTxn, EndTxnResult
from oncelog.coordinator.txn.init_producer_id import InitProducerId, InitProducerIdResult
from oncelog.coordinator.txn.shard import TransactionLogFormat, TxnShard
from oncelog.coordinator.txn.state import MAX_CLIENT_EPOCH, TRANSITIONS, Event, TransactionMetadata, TransactionState
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import TopicPartition

_EXPIRY_BATCH_BYTES = 16 * 1024
_ONGOING = TransactionState.ONGOING


class WriteMarkers(NamedTuple):
    """Effect: once the Prepare record is durable, write the markers and complete the transaction."""

    transactional_id: str


@dataclass(frozen=True, slots=True)
class Remember:
    """Effect: keep in memory what the record just written cannot tell."""

    renewed: TransactionMetadata


@dataclass(frozen=True, slots=True)
class Fenced:
    """Effect: say who lost a transaction or an epoch, and why."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    why: str
    by: str = ""


class AddPartitions(NamedTuple):
    """One request, whoever sent it. `client_version`: 2 for AddPartitionsToTxn v4+ and implicit adds, else 0."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    partitions: frozenset[TopicPartition]
    client_version: int = 0


class TxnDecisions:
    """`new_producer_id` hands out an id nobody had; KafkaError(COORDINATOR_LOAD_IN_PROGRESS) when it cannot."""

    def __init__(self, config: TxnConfig, new_producer_id: Callable[[], int]) -> None:
        self._config = config
        self._new_producer_id = new_producer_id
        self._format = TransactionLogFormat(config.transaction_version)

    # -- what clients ask for

    def init_producer_id(self, shard: TxnShard, request: InitProducerId, now_ms: int) -> Result[InitProducerIdResult]:
        """Give out the next epoch; abort the open transaction of the instance before, if there is one, and say 51 meanwhile."""
        assert request.transactional_id is not None
        txn = shard.get(request.transactional_id)
        if txn is None:
            return self._initialized(init_producer_id.created(request, self._new_producer_id(), now_ms))
        if shard.is_pending(txn.transactional_id):
            return Result(InitProducerIdResult(ErrorCode.CONCURRENT_TRANSACTIONS))
        txn = shard.with_last_epoch(txn)
        if not init_producer_id.is_plausible(txn, request):
            return Result(InitProducerIdResult(ErrorCode.PRODUCER_FENCED))
        outcome = TRANSITIONS[txn.state, Event.INIT_KEEP if request.keep_prepared else Event.INIT]
        if outcome.next_state is TransactionState.PREPARE_ABORT:
            aborted = self._fence(txn, "InitProducerId", request.client, now_ms)
            return Result(InitProducerIdResult(outcome.error), aborted.records, aborted.effects)
        if outcome.next_state is TransactionState.ONGOING:
            return self._kept(txn, init_producer_id.kept(txn, request, self._new_producer_id, now_ms), request)
        if outcome.error is not ErrorCode.NONE:
            return Result(InitProducerIdResult(outcome.error))
        renewed = init_producer_id.renewed(txn, request, self._new_producer_id, now_ms, doubtful=shard.is_doubtful(txn.transactional_id))
        if renewed is None:
            return Result(InitProducerIdResult(ErrorCode.PRODUCER_FENCED))
        effects = () if request.has_pair else (_fenced(txn, "InitProducerId of a new instance", request.client),)
        return self._initialized(renewed, effects)

    def add_partitions(self, shard: TxnShard, request: AddPartitions, now_ms: int) -> Result[ErrorCode]:
        """Make the partitions part of the open transaction, or open one."""
        txn = shard.get(request.transactional_id)
        if txn is None:
            return Result(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        if shard.is_pending(txn.transactional_id):
            return Result(ErrorCode.CONCURRENT_TRANSACTIONS)
        refusal = _check_client(txn, request.producer_id, request.producer_epoch)
        if refusal is not ErrorCode.NONE:
            return Result(refusal)
        if txn.keeps_prepared:  # the instance that took a prepared transaction over has to end it first
            return Result(ErrorCode.INVALID_TXN_STATE)
        outcome = TRANSITIONS[txn.state, Event.ADD]
        if outcome.error is not ErrorCode.NONE:
            return Result(outcome.error)
        if txn.state is TransactionState.ONGOING and request.partitions <= txn.partitions:
            return Result(ErrorCode.NONE)
        return Result(ErrorCode.NONE, (self._record(_with_partitions(txn, request.partitions, request.client_version, now_ms)),))

    def verify_partitions(self, shard: TxnShard, request: AddPartitions) -> dict[TopicPartition, ErrorCode]:
        """Whether the partitions are part of the open transaction. A pending change is not looked at (KAFKA-14904)."""
        txn = shard.get(request.transactional_id)
        if txn is None:
            return dict.fromkeys(request.partitions, ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        refusal = _check_client(txn, request.producer_id, request.producer_epoch)
        if refusal is ErrorCode.NONE:
            refusal = TRANSITIONS[txn.state, Event.VERIFY].error
        if refusal is not ErrorCode.NONE:
            return dict.fromkeys(request.partitions, refusal)
        return {
            partition: ErrorCode.NONE if partition in txn.partitions else ErrorCode.TRANSACTION_ABORTABLE
            for partition in request.partitions
        }

    def end_txn(self, shard: TxnShard, request: EndTxn, now_ms: int) -> Result[EndTxnResult]:
        """Commit or abort. The answer is the pair to use next, for a repeated request the same as the first time."""
        txn = shard.get(request.transactional_id)
        outcome = end_txn.verdict(txn, request, pending=shard.is_pending(request.transactional_id))
        if outcome.error is not ErrorCode.NONE:
            return Result(EndTxnResult(outcome.error))
        assert txn is not None
        if outcome.next_state is None:
            if txn.producer_epoch > MAX_CLIENT_EPOCH:  # aborted at level 0, whose records cannot name the next producer id
                return Result(EndTxnResult(ErrorCode.PRODUCER_FENCED))
            return Result(EndTxnResult(ErrorCode.NONE, txn.producer_id, txn.producer_epoch))
        doubtful = shard.is_doubtful(txn.transactional_id)
        prepared = end_txn.ended(txn, outcome.next_state, request, self._new_producer_id, now_ms, doubtful=doubtful)
        return Result(
            EndTxnResult(ErrorCode.NONE, *prepared.pair_after_end()),
            (self._record(prepared),),
            (WriteMarkers(txn.transactional_id),),
        )

    # -- what the coordinator does by itself

    def abort_timed_out(self, shard: TxnShard, transactional_id: str, now_ms: int) -> Result[None]:
        """Abort a transaction that is open for longer than its timeout."""
        txn = shard.get(transactional_id)
        if txn is None or shard.is_pending(transactional_id) or txn.deadline_ms is None or txn.deadline_ms > now_ms:
            return Result(None)
        return self._fence(txn, f"open for longer than transaction.timeout.ms={txn.timeout_ms}", "", now_ms)

    def foreign_marker(self, shard: TxnShard, transactional_id: str, marker_epoch: int, by: str, now_ms: int) -> Result[None]:
        """Somebody else ended the open transaction on a partition: it can only be aborted now, and its client must hear of it."""
        txn = shard.get(transactional_id)
        if txn is None or TRANSITIONS[txn.state, Event.FOREIGN_MARKER].next_state is None:
            return Result(None)
        return self._fence(txn, "marker written from outside", by, now_ms, at_least_epoch=marker_epoch)

    def abort(self, shard: TxnShard, transactional_id: str, by: str, now_ms: int) -> Result[ErrorCode]:
        """An administrator ends the open transaction; its client hears of it as of a timeout."""
        txn = shard.get(transactional_id)
        if txn is None:
            return Result(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
        if shard.is_pending(transactional_id):
            return Result(ErrorCode.CONCURRENT_TRANSACTIONS)
        outcome = TRANSITIONS[txn.state, Event.ADMIN_ABORT]
        if outcome.next_state is None:
            return Result(outcome.error)
        aborted = self._fence(txn, "aborted by an administrator", by, now_ms)
        return Result(ErrorCode.NONE, aborted.records, aborted.effects)

    def complete(self, shard: TxnShard, transactional_id: str, now_ms: int) -> Result[None]:
        """All markers are written."""
        txn = shard.transactions[transactional_id]
        outcome = TRANSITIONS[txn.state, Event.MARKERS_WRITTEN]
        assert outcome.next_state is not None, f"{transactional_id} completes in {txn.state.name}"
        return Result(None, (self._record(txn.completed(outcome.next_state, now_ms)),))

    def expire(self, shard: TxnShard, now_ms: int) -> Result[list[str]]:
        """Forget ids that nobody used for long, at most one batch of tombstones at a time."""
        oldest = now_ms - self._config.transactional_id_expiration_ms
        expired: list[str] = []
        size = 0
        for id, txn in shard.transactions.items():
            forgets = TRANSITIONS[txn.state, Event.EXPIRE].next_state is TransactionState.DEAD
            if forgets and txn.last_update_timestamp_ms <= oldest and not shard.is_pending(id):
                expired.append(id)
                size += len(id) + 16
                if size >= _EXPIRY_BATCH_BYTES:
                    break
        return Result(expired, tuple(self._format.tombstone(id) for id in expired))

    def restore(self, shard: TxnShard, transactional_id: str, partitions: Iterable[TopicPartition], now_ms: int) -> Result[None]:
        """Recovery: these partitions hold an open transaction of the id, but the record that added them was lost with the power."""
        txn = shard.transactions[transactional_id]
        return Result(None, (self._record(_with_partitions(txn, frozenset(partitions), txn.client_transaction_version, now_ms)),))

    def overtake(self, shard: TxnShard, transactional_id: str, epoch: int, now_ms: int) -> Result[None]:
        """Recovery: a partition has seen `epoch`, so what the record says of a transaction was over long before."""
        return Result(None, (self._record(shard.transactions[transactional_id].overtaken(epoch, now_ms)),))

    def conclude(self, shard: TxnShard, transactional_id: str, commit: bool, now_ms: int) -> Result[None]:
        """Recovery: a partition has the marker of the running transaction, so this was decided."""
        txn = shard.transactions[transactional_id]
        state = TransactionState.PREPARE_COMMIT if commit else TransactionState.PREPARE_ABORT
        version = 5 if txn.client_transaction_version >= 2 else 0
        request = EndTxn(
            transactional_id=transactional_id,
            producer_id=txn.client_producer_id,
            producer_epoch=txn.client_epoch,
            commit=commit,
            api_version=version,
        )
        return Result(None, (self._record(end_txn.ended(txn, state, request, self._new_producer_id, now_ms)),))

    def give_up(self, shard: TxnShard, transactional_id: str, partitions: frozenset[TopicPartition], now_ms: int) -> Result[None]:
        """Recovery: these partitions hold a transaction of the id that began after the end its record tells of, and has no record left."""
        txn = shard.transactions[transactional_id]
        ended = TRANSITIONS[txn.state, Event.MARKERS_WRITTEN].next_state
        idle = txn if ended is None else txn.completed(ended, now_ms)
        opened = _with_partitions(idle, partitions, idle.client_transaction_version, now_ms)
        return Result(None, (self._record(end_txn.fenced(opened, self._config.transaction_version, self._new_producer_id, now_ms)),))

    # -- helpers

    def _record(self, txn: TransactionMetadata) -> CoordinatorRecord:
        return self._format.record(txn)

    def _initialized(self, txn: TransactionMetadata, effects: tuple[Fenced | Remember, ...] = ()) -> Result[InitProducerIdResult]:
        if not self._format.tells_last_epoch:
            effects += (Remember(txn),)
        return Result(InitProducerIdResult(ErrorCode.NONE, txn.producer_id, txn.producer_epoch), (self._record(txn),), effects)

    def _kept(self, before: TransactionMetadata, txn: TransactionMetadata, request: InitProducerId) -> Result[InitProducerIdResult]:
        return Result(
            InitProducerIdResult(ErrorCode.NONE, txn.client_producer_id, txn.client_epoch, txn.producer_id, txn.producer_epoch),
            (self._record(txn),),
            (_fenced(before, "InitProducerId keeping the prepared transaction", request.client),),
        )

    def _fence(self, txn: TransactionMetadata, why: str, by: str, now_ms: int, at_least_epoch: int = 0) -> Result[None]:
        level = self._config.transaction_version
        aborted = end_txn.fenced(txn, level, self._new_producer_id, now_ms, at_least_epoch=at_least_epoch)
        return Result(None, (self._record(aborted),), (_fenced(txn, why, by), WriteMarkers(txn.transactional_id)))


def _check_client(txn: TransactionMetadata, producer_id: int, producer_epoch: int) -> ErrorCode:
    if producer_id != txn.client_producer_id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    return ErrorCode.NONE if producer_epoch == txn.client_epoch else ErrorCode.PRODUCER_FENCED


def _with_partitions(txn: TransactionMetadata, added: frozenset[TopicPartition], client_version: int, now_ms: int) -> TransactionMetadata:
    return TransactionMetadata(
        txn.transactional_id,
        txn.producer_id,
        txn.producer_epoch,
        txn.timeout_ms,
        _ONGOING,
        now_ms,
        txn.partitions | added if txn.partitions else added,
        txn.start_timestamp_ms if txn.state is _ONGOING else now_ms,
        txn.last_producer_epoch,
        txn.previous_producer_id,
        txn.next_producer_id,
        txn.next_producer_epoch,
        client_version,
    )


def _fenced(txn: TransactionMetadata, why: str, by: str) -> Fenced:
    return Fenced(txn.transactional_id, txn.client_producer_id, txn.client_epoch, why, by)
