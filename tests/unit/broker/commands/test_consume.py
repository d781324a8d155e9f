"""What a reader of committed records sees."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from oncelog.broker.commands import consume
from oncelog.protocol.control_records import end_transaction_marker
from oncelog.protocol.records import build_batch

pytestmark = pytest.mark.unit


def test_a_reader_of_committed_records_sees_no_aborted_ones() -> None:
    def batch(offset: int, value: bytes, **more: Any) -> bytes:
        return bytes(build_batch([(0, None, value)], base_offset=offset, **more))

    transactional = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0, "is_transactional": True}
    log = b"".join(
        [
            batch(0, b"plain"),
            batch(1, b"aborted", **transactional),
            bytes(end_transaction_marker(7, 0, False, 0, 0, 2)),
            batch(3, b"committed", **transactional),
            bytes(end_transaction_marker(7, 0, True, 0, 0, 4)),
        ]
    )
    position = consume.Position(0, 5)
    answer = SimpleNamespace(records=log, aborted_transactions=[SimpleNamespace(producer_id=7, first_offset=1)])
    assert [record.value for record in consume._visible(answer, position)] == [b"plain", b"committed"]
    assert (position.offset, position.finished, position.aborted) == (5, True, set())
    # from the middle of the log, and everything for a reader of uncommitted records
    everything = SimpleNamespace(records=log, aborted_transactions=None)
    assert [record.value for record in consume._visible(everything, consume.Position(1, 4))] == [b"aborted", b"committed"]
