"""ReadShareGroupState: all that is known, for the leader that takes a share partition over."""

from __future__ import annotations

from oncelog.protocol.errors import ErrorCode
from support.share_requests import ACKNOWLEDGED, batch, in_process
from support.whole_broker import WholeBroker


def test_everything_is_told_with_its_batches(whole: WholeBroker) -> None:
    one = in_process(whole)
    one.initialize(2, 5)
    one.write(batch(5, 6), batch(7, 9, ACKNOWLEDGED, 3), start=5, state_epoch=2)
    assert one.read()[:5] == (0, None, 5, 2, [batch(5, 6), batch(7, 9, ACKNOWLEDGED, 3)])


def test_who_reads_as_leader_of_old_is_fenced(whole: WholeBroker) -> None:
    one = in_process(whole)
    one.initialize()
    assert one.read(3).error_code == 0
    fenced = one.read(2)
    assert (fenced.error_code, fenced.error_message, fenced.batches) == (
        ErrorCode.FENCED_LEADER_EPOCH,
        "The leader epoch in the request is older than the epoch on the broker.",
        [],
    )


def test_what_was_never_initialized(whole: WholeBroker) -> None:
    told = in_process(whole).read()
    assert told[:5] == (ErrorCode.INVALID_REQUEST, "Read operation on uninitialized share partition not allowed.", 0, 0, [])
