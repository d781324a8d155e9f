"""WriteShareGroupState: what became of records."""

from __future__ import annotations

import pytest
from oncelog.protocol.errors import ErrorCode
from support.share_requests import ACKNOWLEDGED, batch, in_process
from support.whole_broker import WholeBroker


@pytest.mark.parametrize(("version", "complete"), [(0, -1), (1, 4)])
def test_batches_start_offset_and_count_are_taken_over(whole: WholeBroker, version: int, complete: int) -> None:
    one = in_process(whole)
    one.initialize()
    assert one.write(batch(3, 6, ACKNOWLEDGED), start=3, complete=4, version=version)[:2] == (0, None)
    assert one.read()[2:5] == (3, 0, [batch(3, 6, ACKNOWLEDGED)])
    assert one.summary()[2:] == (3, 0, None, 0, complete)


def test_who_is_fenced_or_comes_too_early_changes_nothing(whole: WholeBroker) -> None:
    one = in_process(whole)
    never = one.write(batch(0, 0))
    assert never[:2] == (ErrorCode.INVALID_REQUEST, "Write operation on uninitialized share partition not allowed.")
    one.initialize(2)
    one.read(3)
    assert one.write(batch(0, 0), leader_epoch=3, state_epoch=1).error_code == ErrorCode.FENCED_STATE_EPOCH
    assert one.write(batch(0, 0), leader_epoch=2, state_epoch=2).error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert one.read(3).batches == []


def test_a_batch_that_ends_before_it_begins_is_none(whole: WholeBroker) -> None:
    one = in_process(whole)
    one.initialize()
    assert one.write(batch(0, 3), batch(5, 4)).error_code == ErrorCode.INVALID_RECORD_STATE
    assert one.read().batches == []
