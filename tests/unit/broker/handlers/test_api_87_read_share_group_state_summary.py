"""ReadShareGroupStateSummary: how far a share partition is."""

from __future__ import annotations

from oncelog.protocol.errors import ErrorCode
from support.share_requests import ACKNOWLEDGED, batch, in_process
from support.whole_broker import WholeBroker


def test_epochs_start_offset_and_count(whole: WholeBroker) -> None:
    one = in_process(whole)
    assert one.summary() == (0, None, -1, 0, None, 0, -1)
    one.initialize(4, 5)
    one.read(3)
    one.write(batch(5, 6, ACKNOWLEDGED), start=5, leader_epoch=3, state_epoch=4, complete=2)
    assert one.summary() == (0, None, 5, 4, None, 3, 2)


def test_partitions_that_are_not_there(whole: WholeBroker) -> None:
    assert in_process(whole, partition=2).summary().error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
