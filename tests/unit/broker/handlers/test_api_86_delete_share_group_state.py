"""DeleteShareGroupState: what was known is forgotten."""

from __future__ import annotations

import uuid

from oncelog.protocol.errors import ErrorCode
from support.share_requests import SharePartition, in_process
from support.whole_broker import WholeBroker


def test_what_is_forgotten_may_begin_anew_with_any_epoch(whole: WholeBroker) -> None:
    one, other = in_process(whole), in_process(whole, partition=1)
    one.initialize(7, 5)
    other.initialize(7, 5)
    assert one.delete()[:2] == one.delete()[:2] == (0, None)
    assert one.summary()[2:] == (-1, 0, None, 0, -1)
    assert one.initialize(1, 2).error_code == 0
    assert other.summary().start_offset == 5


def test_partitions_that_are_not_there(whole: WholeBroker) -> None:
    nowhere = SharePartition(in_process(whole)._ask, "g", uuid.UUID(int=9))
    assert nowhere.delete()[:2] == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition.")
