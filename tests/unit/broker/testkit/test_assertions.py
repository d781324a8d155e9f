"""What is told of records that were not read exactly once, and of transactions that have not ended."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from oncelog.broker.testkit import Broker, assert_exactly_once, assert_no_open_transactions
from oncelog.protocol.names import TopicPartition
from support.txn_client import TV2, Client

pytestmark = pytest.mark.unit
PLACE = TopicPartition("a", 0)


class Message:
    """As confluent-kafka's: fields are asked for."""

    def __init__(self, value: bytes, offset: int) -> None:
        self.value, self.offset, self.partition = lambda: value, lambda: offset, lambda: 0


class Plain(NamedTuple):
    value: bytes
    key: bytes = b""
    partition: int = 0
    offset: int = -1


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    """Topic a: 0 committed, 1 its marker, 2 aborted, 3 its marker, 4 outside transactions, 5 open."""
    with Broker() as made:
        made.create_topic("a")
        made.create_topic("empty")
        with Client(made.bootstrap) as client:
            pair = client.init("t")
            for value, commit in ((b"paid", True), (b"aborted", False)):
                assert client.produce(TV2, "t", pair, 0, PLACE, value) == 0
                pair = client.end(TV2, "t", pair, commit)[1]
            assert client.produce(TV2, None, (-1, -1), -1, PLACE, b"plain") == 0
            assert client.produce(TV2, "t", pair, 0, PLACE, b"open") == 0
        yield made


def told(source: Any, expected: list[Any], topic: str = "a", **options: Any) -> list[str]:
    with pytest.raises(AssertionError) as error:
        assert_exactly_once(source, topic, expected, **options)
    return str(error.value).split("\n  ")


def test_what_was_read_once_passes(broker: Broker) -> None:
    assert_exactly_once(broker, "a", [b"plain", "paid"])
    assert_exactly_once(broker, "a", ["paid", "plain"], in_order=True)
    assert_exactly_once(broker, "a", [(0, b"paid"), (4, b"plain")], key=lambda record: (record.offset, record.value))
    assert_exactly_once([b"1", b"1", b"2"], "a", ["1", "2", "1"])
    assert_exactly_once([Message(b"paid", 0)], "a", ["paid"], broker=broker)
    assert_exactly_once([], "a", [])


def test_a_lost_record_is_told_with_what_became_of_it(broker: Broker) -> None:
    producer = broker.records("a")[0].producer_id
    assert told(broker, ["paid", "plain", "aborted", "open", "never"]) == [
        "a was not read exactly once: 5 records expected, 2 read",
        f"lost: 'aborted'; it stands at a-0 at 2 (producer {producer} epoch 1, transaction aborted)",
        f"lost: 'open'; it stands at a-0 at 5 (producer {producer} epoch 2, transaction open)",
        "lost: 'never'; it is not in the log",
    ]
    assert told([], ["x"])[1] == "lost: 'x'; whether it was written is not known here"
    assert told(broker, ["x"], topic="empty")[1] == "lost: 'x'; it is not in the log"
    assert told([b"x"], ["x", "x", "x"])[1].startswith("lost 2 of 3 times: 'x'")


def test_a_record_that_came_twice_is_told_with_its_places(broker: Broker) -> None:
    producer = broker.records("a")[0].producer_id
    assert told([Message(b"paid", 0), Message(b"paid", 4)], ["paid"], broker=broker)[1] == (
        f"twice: 'paid', a-0 at 0 (producer {producer} epoch 0, transaction committed); a-0 at 4 (by a producer without idempotence)"
    )
    assert told([b"\xff"] * 3, [b"\xff"])[1] == "3 times, not 1: b'\\xff', a place not told; a place not told; a place not told"
    assert told([Plain(b"x", offset=7)], [])[1] == "not expected: 'x', a-0 at 7"


def test_what_was_aborted_or_is_open_is_not_to_be_seen(broker: Broker) -> None:
    read = [Message(b"paid", 0), Message(b"aborted", 2), Message(b"plain", 4), Message(b"open", 5)]
    told_of = told(read, ["paid", "aborted", "plain", "open"], broker=broker)
    assert [line.split(", a-0")[0] for line in told_of[1:]] == ["aborted, yet visible: 'aborted'", "open, yet visible: 'open'"]


def test_order_is_asked_for_and_is_that_of_a_partition() -> None:
    read = [Plain(b"2", offset=0), Plain(b"1", offset=1), Plain(b"0", partition=1, offset=0)]
    assert_exactly_once(read, "a", ["0", "1", "2"])
    assert told(read, ["0", "1", "2"], in_order=True)[1:] == ["out of order: '1', a-0 at 1, came behind '2', a-0 at 0"]


def test_of_many_faults_the_first_are_shown() -> None:
    lines = told([], list(range(30)))
    assert (len(lines), lines[-1]) == (22, "... and 10 more")


def test_open_transactions_are_named(broker: Broker) -> None:
    producer = broker.records("a")[0].producer_id
    with pytest.raises(AssertionError) as error:
        assert_no_open_transactions(broker)
    first, of_id, of_partition = str(error.value).split("\n  ")
    assert first == "transactions are open"
    assert of_id.startswith("t is Ongoing for ")
    assert of_id.endswith(f" s: producer {producer} epoch 2, a-0; it times out after 900 s")
    assert of_partition == (
        f"a-0 has records without a marker from offset 5 by producer {producer} epoch 2; committed readers wait at 5 of 6"
    )
    with Broker() as other:
        assert_no_open_transactions(other)
