"""Transactions in a compacted log: aborted data, markers, open ones."""

from __future__ import annotations

from oncelog.protocol.control_records import end_transaction_marker
from oncelog.storage.files.txn_index import AbortedTxn
from support.compacted_log import DAY, T0, FakeLog


def test_aborted_data_goes_at_once_and_its_marker_later(log: FakeLog) -> None:
    transaction = {"producer_id": 5, "producer_epoch": 0, "is_transactional": True}
    log.write([("a", "committed")])
    first = log.write([("a", "aborted")], base_sequence=0, **transaction)
    log.abort(5, first)
    log.roll()
    log.clean(now_ms=T0)
    assert log.records() == {0: ("a", "committed")}
    marker = log.headers()[-1]
    assert marker.is_control
    assert not marker.has_delete_horizon
    assert log.segments[0].aborted == [AbortedTxn(5, 1, 2, 3)]
    log.write([("x", "1")])
    log.roll()
    log.clean(now_ms=T0, first_dirty=0)  # no data left: the marker begins to age
    aging = next(header for header in log.headers() if header.is_control)
    assert (aging.attributes, aging.size_bytes, aging.base_timestamp) == (0x70, 81, T0 + DAY)
    assert log.segments[0].aborted == []
    log.clean(now_ms=T0 + DAY, first_dirty=0)
    assert [header.base_offset for header in log.headers()] == [0, 3]


def test_aborted_data_supersedes_nothing_when_its_marker_stands_behind_the_range(log: FakeLog) -> None:
    transaction = {"producer_id": 5, "producer_epoch": 0, "is_transactional": True}
    log.write([("a", "committed")])
    first = log.write([("a", "aborted")], base_sequence=0, **transaction)
    log.roll()
    log.first_open = log.log_end_offset  # another transaction is open from here on
    log.abort(5, first)
    log.clean()
    assert log.records()[0] == ("a", "committed")


def test_a_committed_transaction_keeps_its_marker_while_it_has_data(log: FakeLog) -> None:
    log.write([("a", "1")], producer_id=5, producer_epoch=0, base_sequence=0, is_transactional=True)
    log.put(bytearray(end_transaction_marker(5, 0, True, 0, T0)))
    log.roll()
    log.clean(now_ms=T0)
    log.write([("z", "1")])
    log.roll()
    log.clean(now_ms=T0 + 9 * DAY, first_dirty=0)
    assert [(header.base_offset, header.has_delete_horizon) for header in log.headers()] == [(0, False), (1, False), (2, False)]


def test_nothing_at_or_above_an_open_transaction_is_touched(log: FakeLog) -> None:
    log.write([("a", "1")])
    log.write([("a", "2")])
    log.first_open = log.write([("a", "3")], producer_id=5, producer_epoch=0, base_sequence=0, is_transactional=True)
    second = log.write([("b", "x")], producer_id=6, producer_epoch=0, base_sequence=0, is_transactional=True)
    log.abort(6, second)
    log.write([("a", "4")])
    log.roll()
    result = log.clean()
    assert result.first_dirty_offset == log.first_open
    assert log.records() == {1: ("a", "2"), 2: ("a", "3"), 3: ("b", "x"), 5: ("a", "4")}
    assert log.segments[0].aborted == [AbortedTxn(6, 3, 4, 5)]
