"""What is packed of a transactional id is what is read again; Kafka's own bytes stand in `test_records.py`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from oncelog.protocol.internal.fields import CorruptRecord
from oncelog.protocol.internal.transaction_log import (
    TransactionLogKey,
    TransactionLogValue,
    packed_partitions,
    transaction_value,
)

epoch = st.integers(-1, 2**15 - 1)
id = st.integers(-1, 2**63 - 1)
time = st.integers(-1, 2**53)
partitions = st.none() | st.lists(
    st.tuples(st.text(st.characters(codec="utf-8"), max_size=200), st.lists(st.integers(0, 2**31 - 1))), max_size=5
)


@given(id, epoch, st.integers(0, 6), partitions, st.tuples(time, time), st.tuples(id, id), st.tuples(st.integers(0, 2), epoch, epoch))
def test_any_value(
    producer_id: int,
    producer_epoch: int,
    status: int,
    places: list[tuple[str, list[int]]] | None,
    times: tuple[int, int],
    others: tuple[int, int],
    tags: tuple[int, int, int],
) -> None:
    value = TransactionLogValue(producer_id, producer_epoch, 60_000, status, places, *times, *others, *tags)
    packed = transaction_value(producer_id, producer_epoch, 60_000, status, packed_partitions(places), *times, *others, *tags)
    assert value.encode() == packed
    assert TransactionLogValue.decode(packed) == value
    with pytest.raises(CorruptRecord):
        TransactionLogValue.decode(packed[:-1])


def test_key() -> None:
    assert TransactionLogKey("orders-é").encode().hex() == "0000" + "0009" + "orders-é".encode().hex()
