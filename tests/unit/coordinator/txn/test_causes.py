"""Every refusal of a transactional request has its sentence, in every state."""

from __future__ import annotations

from dataclasses import replace

import pytest
from oncelog.coordinator.txn.causes import EXPLAINED, Asked, why
from oncelog.coordinator.txn.state import STORED_STATES, TransactionMetadata, TransactionState
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import TopicPartition

pytestmark = pytest.mark.unit
E, S = ErrorCode, TransactionState
TXN = TransactionMetadata("orders-1", 7, 3, 60_000, S.ONGOING, 5, frozenset({TopicPartition("t", 0)}), 4)
END = Asked(api="EndTxn", transactional_id="orders-1", producer_id=7, producer_epoch=2, commit=True)


@pytest.mark.parametrize("error", sorted(EXPLAINED))
@pytest.mark.parametrize("state", [None, *STORED_STATES])
@pytest.mark.parametrize("pending", [False, True])
def test_every_code_in_every_state(error: ErrorCode, state: TransactionState | None, pending: bool) -> None:
    txn = None if state is None else TXN._replace(state=state)
    for api, commit, place in (("EndTxn", True, None), ("EndTxn", False, None), ("InitProducerId", None, None), ("Produce", None, "t-0")):
        asked = Asked(api=api, transactional_id="orders-1", producer_id=7, producer_epoch=2, commit=commit, place=place)
        sentence = why(error, asked, txn, pending=pending)
        assert api in sentence
        assert "orders-1" in sentence
        assert sentence.endswith((".", "again.", "anew."))


@pytest.mark.parametrize(
    ("error", "asked", "txn", "said"),
    [
        (
            E.PRODUCER_FENCED,
            END,
            TXN,
            "EndTxn came with epoch 2 of producer 7, and orders-1 is at epoch 3 since checkout-2 at 10.0.0.2 asked for it.",
        ),
        (E.PRODUCER_FENCED, replace(END, producer_id=6), TXN, "producer 6, and orders-1 has producer 7 by now"),
        (E.PRODUCER_FENCED, replace(END, producer_epoch=3), TXN, "gives this epoch to nobody any more"),
        (E.INVALID_PRODUCER_ID_MAPPING, END, None, "not known"),
        (E.INVALID_TXN_STATE, END, TXN._replace(state=S.EMPTY), "nothing was added to one"),
        (E.INVALID_TXN_STATE, END, TXN._replace(state=S.COMPLETE_ABORT), "was aborted already"),
        (E.INVALID_TXN_STATE, END, TXN._replace(next_producer_epoch=4), "has to be ended first"),
        (E.INVALID_TXN_STATE, replace(END, place="t-1"), TXN, "EndTxn to t-1, which is not part of a transaction"),
        (E.CONCURRENT_TRANSACTIONS, END, TXN._replace(state=S.PREPARE_COMMIT), "the commit of orders-1 is being carried out"),
        (E.CONCURRENT_TRANSACTIONS, replace(END, api="InitProducerId"), TXN, "being aborted and its producer fenced"),
        (E.CONCURRENT_TRANSACTIONS, replace(END, api="InitProducerId"), TXN._replace(state=S.COMPLETE_ABORT), "had to be aborted first"),
    ],
)
def test_what_is_said(error: ErrorCode, asked: Asked, txn: TransactionMetadata | None, said: str) -> None:
    assert said in why(error, asked, txn, pending=False, fence="checkout-2 at 10.0.0.2 asked for it")
