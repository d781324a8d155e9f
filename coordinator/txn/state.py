"""What is known of a transactional id, and the table of what may happen to it.

A transactional id is in one of six stored states. It waits (Empty, CompleteCommit, CompleteAbort), has a transaction open
(Ongoing), or has one decided whose markers are being written (PrepareCommit, PrepareAbort). `TRANSITIONS` answers every event in
every state: with an error code for whoever asked, and the state that follows. The coordinator looks the answer up here and
STATES.md is printed from here, so the chart cannot disagree with the code.

Two ways to end a transaction live side by side (KIP-890). EndTxn up to version 4 keeps the producer epoch; from version 5 on each
end raises it, so that nothing sent before the end can land in the next transaction. An end that arrives twice is recognised by
its old epoch ("retry").
"""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import NamedTuple

from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import TopicPartition

NO_PRODUCER_ID = -1
NO_EPOCH = -1
MAX_CLIENT_EPOCH = 32766  # the highest a client ever holds (TransactionMetadata.isEpochExhausted)
MAX_EPOCH = 32767  # exists only to fence the last client of a producer id
TWO_PHASE_COMMIT_TIMEOUT_MS = 2**31 - 1  # this timeout *is* the mark of a two-phase-commit id (KIP-939)


class TransactionState(IntEnum):
    """`TransactionStatus` of the transaction log. DEAD is never written: its record is a tombstone."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6

    @property
    def wire_name(self) -> str:
        """As ListTransactions and DescribeTransactions spell it."""
        return "".join(part.capitalize() for part in self.name.split("_"))

    @property
    def is_prepared(self) -> bool:
        """Decided, markers still to be written."""
        return self in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)

    @property
    def is_idle(self) -> bool:
        """No transaction is open or under way."""
        return self in (TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)

    @property
    def is_commit(self) -> bool:
        return self in (TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT)


STATE_OF_WIRE_NAME = {state.wire_name: state for state in TransactionState}
STORED_STATES = tuple(state for state in TransactionState if state is not TransactionState.DEAD)


class Event(Enum):
    """What can happen to a transactional id; the value is what STATES.md prints."""

    INIT = "InitProducerId"
    INIT_KEEP = "InitProducerId keeping a prepared transaction"
    ADD = "add partitions"
    VERIFY = "verify partitions"
    COMMIT_V4 = "EndTxn commit, v0-4"
    ABORT_V4 = "EndTxn abort, v0-4"
    COMMIT = "EndTxn commit, v5, current epoch"
    ABORT = "EndTxn abort, v5, current epoch"
    COMMIT_RETRY = "EndTxn commit, v5, retried"
    ABORT_RETRY = "EndTxn abort, v5, retried"
    TIMEOUT = "transaction timeout"
    FOREIGN_MARKER = "marker written by an administrator"
    ADMIN_ABORT = "abort by an administrator"
    MARKERS_WRITTEN = "all markers written"
    EXPIRE = "idle for transactional.id.expiration.ms"

    __hash__ = object.__hash__  # by identity, as it is compared; Enum's own is a function in Python, and asked for at every transition


class Outcome(NamedTuple):
    """The answer, and the state that follows (None: it stays as it is, nothing is logged)."""

    error: ErrorCode
    next_state: TransactionState | None = None


_S, _E, _R = TransactionState, Event, ErrorCode
_DONE = Outcome(_R.NONE)
_BUSY = Outcome(_R.CONCURRENT_TRANSACTIONS)
_ILLEGAL = Outcome(_R.INVALID_TXN_STATE)
_FENCED = Outcome(_R.PRODUCER_FENCED)
_NOT_ADDED = Outcome(_R.TRANSACTION_ABORTABLE)
_COME_AGAIN = Outcome(_R.NOT_LEADER_OR_FOLLOWER)  # what every administration tool retries
_FENCE = Outcome(_R.CONCURRENT_TRANSACTIONS, _S.PREPARE_ABORT)
_TO_EMPTY, _TO_ONGOING = Outcome(_R.NONE, _S.EMPTY), Outcome(_R.NONE, _S.ONGOING)
_TO_COMMIT, _TO_ABORT = Outcome(_R.NONE, _S.PREPARE_COMMIT), Outcome(_R.NONE, _S.PREPARE_ABORT)
_TO_DEAD = Outcome(_R.NONE, _S.DEAD)

# One row an event; columns in the order of STORED_STATES.
_ROWS: dict[Event, tuple[Outcome, Outcome, Outcome, Outcome, Outcome, Outcome]] = {
    #                     Empty       Ongoing      PrepareC. PrepareA. CompleteCommit CompleteAbort
    _E.INIT:            (_TO_EMPTY,   _FENCE,      _BUSY,    _BUSY,    _TO_EMPTY,     _TO_EMPTY),
    _E.INIT_KEEP:       (_TO_EMPTY,   _TO_ONGOING, _BUSY,    _BUSY,    _TO_EMPTY,     _TO_EMPTY),
    _E.ADD:             (_TO_ONGOING, _TO_ONGOING, _BUSY,    _BUSY,    _TO_ONGOING,   _TO_ONGOING),
    _E.VERIFY:          (_NOT_ADDED,  _DONE,       _BUSY,    _BUSY,    _NOT_ADDED,    _NOT_ADDED),
    _E.COMMIT_V4:       (_ILLEGAL,    _TO_COMMIT,  _BUSY,    _BUSY,    _DONE,         _ILLEGAL),
    _E.ABORT_V4:        (_ILLEGAL,    _TO_ABORT,   _BUSY,    _BUSY,    _ILLEGAL,      _DONE),
    _E.COMMIT:          (_ILLEGAL,    _TO_COMMIT,  _BUSY,    _BUSY,    _ILLEGAL,      _ILLEGAL),
    _E.ABORT:           (_TO_ABORT,   _TO_ABORT,   _BUSY,    _BUSY,    _TO_ABORT,     _TO_ABORT),
    _E.COMMIT_RETRY:    (_FENCED,     _FENCED,     _BUSY,    _BUSY,    _DONE,         _ILLEGAL),
    _E.ABORT_RETRY:     (_FENCED,     _FENCED,     _BUSY,    _BUSY,    _ILLEGAL,      _DONE),
    _E.TIMEOUT:         (_DONE,       _TO_ABORT,   _DONE,    _DONE,    _DONE,         _DONE),
    _E.FOREIGN_MARKER:  (_DONE,       _TO_ABORT,   _COME_AGAIN, _COME_AGAIN, _DONE,    _DONE),
    _E.ADMIN_ABORT:     (_ILLEGAL,    _TO_ABORT,   _BUSY,    _BUSY,    _ILLEGAL,      _ILLEGAL),
    _E.MARKERS_WRITTEN: (_ILLEGAL,    _ILLEGAL,
                         Outcome(_R.NONE, _S.COMPLETE_COMMIT), Outcome(_R.NONE, _S.COMPLETE_ABORT),
                                                                       _ILLEGAL,      _ILLEGAL),
    _E.EXPIRE:          (_TO_DEAD,    _DONE,       _DONE,    _DONE,    _TO_DEAD,      _TO_DEAD),
}  # fmt: skip

TRANSITIONS: dict[tuple[TransactionState, Event], Outcome] = {
    (state, event): outcome for event, row in _ROWS.items() for state, outcome in zip(STORED_STATES, row, strict=True)
}


_ONGOING = TransactionState.ONGOING  # bound once: in Python 3.11 each look into an enum is a function call


class TransactionMetadata(NamedTuple):
    """The hard state of one transactional id, as its latest record tells it (Kafka's TransactionMetadata).

    `last_producer_epoch` is the epoch of the client before the last bump, by which a repeated request is known; -1 when nobody may repeat.
    `next_producer_id` and `next_producer_epoch`: the pair the client holds already while its transaction still stands under the old one
    (an exhausted epoch in Prepare; a prepared transaction that was kept). `start_timestamp_ms` survives the end of the transaction.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    state: TransactionState
    last_update_timestamp_ms: int
    partitions: frozenset[TopicPartition] = frozenset()
    start_timestamp_ms: int = -1
    last_producer_epoch: int = NO_EPOCH
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    next_producer_epoch: int = NO_EPOCH
    client_transaction_version: int = 0

    @property
    def is_two_phase_commit(self) -> bool:
        return self.timeout_ms == TWO_PHASE_COMMIT_TIMEOUT_MS

    @property
    def keeps_prepared(self) -> bool:
        """A new instance took over and kept the transaction: it must end it before anything else."""
        return self.next_producer_epoch != NO_EPOCH and self.state is _ONGOING

    @property
    def client_producer_id(self) -> int:
        """The producer id that the legitimate client uses now."""
        if self.next_producer_id == NO_PRODUCER_ID or not self.keeps_prepared:
            return self.producer_id
        return self.next_producer_id

    @property
    def client_epoch(self) -> int:
        """The epoch that the legitimate client uses now."""
        if self.next_producer_epoch == NO_EPOCH or not self.keeps_prepared:
            return self.producer_epoch
        return self.next_producer_epoch

    @property
    def deadline_ms(self) -> int | None:
        """From when on the open transaction is aborted; None without one, and for two-phase commit, which waits for its coordinator."""
        if self.state is not _ONGOING or self.timeout_ms == TWO_PHASE_COMMIT_TIMEOUT_MS:
            return None
        return self.start_timestamp_ms + self.timeout_ms + 1

    def pair_after_end(self) -> tuple[int, int]:
        """(producer id, epoch) that the client uses after the transaction this Prepare or Complete record ends."""
        if self.next_producer_id == NO_PRODUCER_ID:
            return self.producer_id, self.producer_epoch
        return self.next_producer_id, max(self.next_producer_epoch, 0)

    def overtaken(self, epoch: int, now_ms: int) -> TransactionMetadata:
        """Later records are lost, of which `epoch` is left: nothing is open under it that this one knows of."""
        return self._replace(
            producer_epoch=epoch,
            state=TransactionState.EMPTY,
            last_update_timestamp_ms=now_ms,
            partitions=frozenset(),
            start_timestamp_ms=-1,
            last_producer_epoch=NO_EPOCH,
            next_producer_id=NO_PRODUCER_ID,
            next_producer_epoch=NO_EPOCH,
        )

    def completed(self, state: TransactionState, now_ms: int) -> TransactionMetadata:
        """After all markers: an exhausted producer id gives way to the next one."""
        producer_id, producer_epoch = self.pair_after_end()
        return TransactionMetadata(  # not `_replace`, which costs 2 us
            self.transactional_id,
            producer_id,
            producer_epoch,
            self.timeout_ms,
            state,
            now_ms,
            frozenset(),
            self.start_timestamp_ms,
            self.last_producer_epoch,
            self.producer_id if producer_id != self.producer_id else self.previous_producer_id,
            NO_PRODUCER_ID,
            NO_EPOCH,
            self.client_transaction_version,
        )
