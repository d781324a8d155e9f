"""InitializeShareGroupState: a share partition begins a life."""

from __future__ import annotations

from oncelog.protocol.errors import ErrorCode
from support.share_requests import batch, in_process
from support.whole_broker import WholeBroker


def test_a_life_begins_with_nothing_in_flight(whole: WholeBroker) -> None:
    one = in_process(whole)
    assert one.initialize(2, 5)[:2] == (0, None)
    one.write(batch(5, 6), start=5, state_epoch=2)
    assert one.initialize(3, -1)[:2] == (0, None)
    assert one.read()[2:5] == (-1, 3, [])


def test_a_later_life_is_not_ended(whole: WholeBroker) -> None:
    one = in_process(whole)
    one.initialize(2, 5)
    code, text, *_ = one.initialize(1, 0)
    assert (code, text) == (
        ErrorCode.FENCED_STATE_EPOCH,
        "The share coordinator rejected the request because the share-group state epoch did not match.",
    )
    assert one.summary().start_offset == 5
