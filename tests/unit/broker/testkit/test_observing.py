"""What is seen of a broker's inside."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from oncelog.broker.testkit.observing import outcomes_of, records_of
from support.whole_broker import WholeBroker

pytestmark = pytest.mark.unit


@pytest.fixture
def broker() -> Iterator[WholeBroker]:
    made = WholeBroker({"a": 2})
    yield made
    made.close()


def test_aborted_records_are_left_out_and_others_between_them_are_not(broker: WholeBroker) -> None:
    log = broker.log("a")
    for epoch, commit in enumerate((False, True, False)):
        broker.append("a", b"7-%d" % epoch, producer_id=7, producer_epoch=epoch, base_sequence=0, is_transactional=True)
        broker.append("a", b"8-%d" % epoch, producer_id=8, producer_epoch=epoch, base_sequence=0, is_transactional=True)
        broker.append("a", b"plain-%d" % epoch)
        log.append_marker(7, epoch, 0, commit, 0)
        log.append_marker(8, epoch, 0, not commit, 0)
    seen = records_of(broker.broker, "a", "read_committed")
    assert [record.value for record in seen] == [b"8-0", b"plain-0", b"7-1", b"plain-1", b"8-2", b"plain-2"]
    assert (seen[0].partition, seen[0].offset, seen[0].producer_id, seen[1].producer_id) == (0, 1, 8, -1)
    assert len(records_of(broker.broker, "a", "read_uncommitted")) == 9


def test_what_is_open_is_not_read_but_told(broker: WholeBroker) -> None:
    broker.append("a", b"before")
    broker.append("a", b"open", producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True)
    assert [record.value for record in records_of(broker.broker, "a", "read_committed")] == [b"before"]
    assert [(record.value, told) for record, told in outcomes_of(broker.broker, "a")] == [(b"before", "plain"), (b"open", "open")]
