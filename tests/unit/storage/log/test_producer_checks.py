"""Duplicates, gaps, epochs and transactions: what an append of a producer is answered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from oncelog.protocol.errors import ErrorCode, KafkaError
from support.storage_kit import T0, Kit, offsets

pytestmark = pytest.mark.unit


def test_duplicates_gaps_and_epochs(kit: Kit) -> None:
    for sequence in range(6):
        kit.append(sequence, pid=5)
    again = kit.append(3, pid=5)
    assert (again.duplicate, again.base_offset, again.log_append_time_ms) == (True, 3, T0)
    codes = []
    for sequence, epoch in ((0, 0), (8, 0), (3, 1), (6, -1)):
        with pytest.raises(KafkaError) as caught:
            kit.append(sequence, pid=5, epoch=epoch)
        codes.append(caught.value.code)
    assert codes == [45, 45, 45, 47]
    assert kit.append(0, pid=5, epoch=1).base_offset == 6
    assert kit.append(77, pid=6).base_offset == 7  # nothing is known of it


def test_sequence_wraps(kit: Kit) -> None:
    kit.append(2**31 - 2, pid=5, n=3)
    assert kit.log.producers()[0].last_sequence == 0
    assert kit.append(2**31 - 2, pid=5, n=3).duplicate
    assert kit.append(1, pid=5).base_offset == 3


def test_transaction_rules(kit: Kit) -> None:
    def code(*args: Any, **options: Any) -> int:
        with pytest.raises(KafkaError) as caught:
            kit.append(*args, **options)
        return caught.value.code

    assert code(0, pid=5, txn=True, verified=False) == ErrorCode.INVALID_TXN_STATE
    assert code(4, pid=5, txn=True, tv2=True) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    kit.append(0, pid=5, txn=True)
    kit.append(1, pid=5, txn=True, verified=False)
    assert code(2, pid=5) == ErrorCode.INVALID_TXN_STATE
    kit.append()
    assert (kit.log.last_stable_offset, kit.log.high_watermark) == (0, 3)
    with pytest.raises(KafkaError) as caught:
        kit.log.append_marker(5, 0, 0, True, T0, transaction_version=2)
    assert caught.value.code == 47
    kit.log.append_marker(5, 1, 0, False, T0, transaction_version=2)
    assert kit.log.append_marker(5, 1, 0, False, T0, transaction_version=2) == 4  # nothing open: appended
    with pytest.raises(KafkaError) as caught:
        kit.mark(5, True)
    assert caught.value.code == 47
    with pytest.raises(KafkaError) as caught:
        kit.log.append_marker(5, 1, -1, True, T0)
    assert caught.value.code == ErrorCode.TRANSACTION_COORDINATOR_FENCED
    assert offsets(kit.log, 1) == [2]


both = pytest.mark.parametrize("clean", [True, False], ids=["clean", "unclean"])


def again(kit: Kit, clean: bool) -> None:
    if clean:
        kit.restart()
    else:
        kit.kill_and_start()


@both
def test_case_60_old_epoch_is_refused_after_a_restart(tmp_path: Path, clean: bool) -> None:
    kit = Kit(tmp_path / "data")
    kit.create()
    kit.append(0, pid=5, txn=True)
    kit.mark(5, commit=False, epoch=1)
    again(kit, clean)
    for sequence in (0, 1):
        with pytest.raises(KafkaError) as refused:
            kit.append(sequence, pid=5, epoch=0)
        assert refused.value.code == ErrorCode.INVALID_PRODUCER_EPOCH
    assert kit.append(0, pid=5, epoch=1).base_offset == 2
