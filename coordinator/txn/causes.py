"""Why a transactional request was refused, in a sentence: for the log, for the inspector, and for answers that have a field for it.

A decision tells a code; what the code means in this state, of this id, is told here from the same facts.
"""

from __future__ import annotations

from dataclasses import dataclass

from oncelog.coordinator.txn.state import TransactionMetadata, TransactionState
from oncelog.protocol.errors import ErrorCode

_E, _S = ErrorCode, TransactionState
EXPLAINED = frozenset(
    {
        _E.INVALID_PRODUCER_ID_MAPPING,
        _E.PRODUCER_FENCED,
        _E.INVALID_PRODUCER_EPOCH,
        _E.CONCURRENT_TRANSACTIONS,
        _E.INVALID_TXN_STATE,
        _E.TRANSACTION_ABORTABLE,
        _E.TRANSACTION_COORDINATOR_FENCED,
        _E.INVALID_TRANSACTION_TIMEOUT,
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request. `commit` None: it ends nothing. `place`: the partition that was refused, where it was one."""

    api: str
    transactional_id: str
    producer_id: int = -1
    producer_epoch: int = -1
    commit: bool | None = None
    place: str | None = None


def why(error: ErrorCode, asked: Asked, txn: TransactionMetadata | None, *, pending: bool, fence: str | None = None) -> str:
    """`txn`: what the id stands at. `fence`: how it came to its newest epoch, where that is remembered."""
    id = asked.transactional_id
    if error is _E.INVALID_TRANSACTION_TIMEOUT:
        return f"{asked.api} of {id} asks for a transaction timeout that is not between 1 and transaction.max.timeout.ms."
    if txn is None:
        return f"{asked.api} came for {id}, which is not known: it was never initialised, or not used for transactional.id.expiration.ms."
    if error is _E.INVALID_PRODUCER_ID_MAPPING:
        return f"{asked.api} came with producer {asked.producer_id}, and {id} has producer {txn.client_producer_id} by now{_since(fence)}."
    if error in (_E.PRODUCER_FENCED, _E.INVALID_PRODUCER_EPOCH):
        return _fenced(asked, txn, fence)
    if error is _E.CONCURRENT_TRANSACTIONS:
        return _concurrent(asked, txn, pending=pending)
    if error is _E.TRANSACTION_ABORTABLE or (error is _E.INVALID_TXN_STATE and asked.place is not None):
        where, state = asked.place or "a partition", txn.state.wire_name
        return f"{asked.api} to {where}, which is not part of a transaction of {id} (it is in state {state}): abort, and begin anew."
    if error is _E.TRANSACTION_COORDINATOR_FENCED:
        return f"{asked.api} for {id} came from a coordinator whose epoch is over."
    return _illegal(asked, txn)


def _fenced(asked: Asked, txn: TransactionMetadata, fence: str | None) -> str:
    id = asked.transactional_id
    if asked.producer_id not in (-1, txn.client_producer_id):
        return f"{asked.api} came with producer {asked.producer_id}, and {id} has producer {txn.client_producer_id} by now{_since(fence)}."
    if asked.producer_epoch == txn.client_epoch:
        pair = f"producer {asked.producer_id} epoch {asked.producer_epoch}"
        return f"{asked.api} of {pair} came too late: {id} gives this epoch to nobody any more."
    return (
        f"{asked.api} came with epoch {asked.producer_epoch} of producer {asked.producer_id}, and {id} is at epoch {txn.client_epoch}"
        f"{_since(fence)}."
    )


def _concurrent(asked: Asked, txn: TransactionMetadata, *, pending: bool) -> str:
    id = asked.transactional_id
    if txn.state.is_prepared:
        end = "commit" if txn.state.is_commit else "abort"
        return f"{asked.api} came while the {end} of {id} is being carried out (markers are being written): ask again."
    if txn.state is _S.ONGOING and asked.api == "InitProducerId":
        return f"InitProducerId came while {id} has a transaction open: it is being aborted and its producer fenced; ask again."
    if pending:
        return f"{asked.api} came while the last change of {id} is being written: ask again."
    if asked.api == "InitProducerId":
        return f"InitProducerId came for {id}, whose open transaction had to be aborted first, which is done by now: ask again."
    return f"{asked.api} came while {id} was being changed, which is done by now (it is in state {txn.state.wire_name}): ask again."


def _illegal(asked: Asked, txn: TransactionMetadata) -> str:
    id, state = asked.transactional_id, txn.state.wire_name
    if txn.keeps_prepared:
        return f"{asked.api} came for {id}, whose prepared transaction was taken over and has to be ended first."
    if asked.commit is None:
        return f"{asked.api} is not possible while {id} is in state {state}."
    wanted = "commit" if asked.commit else "abort"
    if txn.state is _S.EMPTY:
        return f"{asked.api} asks to {wanted}, and {id} has no transaction: nothing was added to one."
    if txn.state in (_S.COMPLETE_COMMIT, _S.COMPLETE_ABORT):
        was = "committed" if txn.state.is_commit else "aborted"
        return f"{asked.api} asks to {wanted}, and the transaction of {id} was {was} already."
    return f"{asked.api} asks to {wanted}, which is not possible while {id} is in state {state}."


def _since(fence: str | None) -> str:
    return f" since {fence}" if fence else ""
