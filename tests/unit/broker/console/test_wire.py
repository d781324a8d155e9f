"""A Kafka over the wire: answers are kept for a moment, what fails is told, a change makes all of it old."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import pytest
from oncelog.broker.commands.client.cluster import Cluster
from oncelog.broker.console.model import Unreachable
from oncelog.broker.console.stuck import stuck
from oncelog.broker.console.wire import ALL_SECONDS, OPEN_SECONDS, WireSource
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.names import TopicPartition
from oncelog.protocol.records import build_batch
from support.console_kit import ID, SECOND, Stuck, stuck_broker

pytestmark = pytest.mark.unit
T = TypeVar("T")


class Looking:
    """A source, its clock moved by hand."""

    def __init__(self, bootstrap: str) -> None:
        self.now = 100.0
        self.loop = asyncio.new_event_loop()
        self.cluster = Cluster(bootstrap, timeout_s=5)
        self.source = WireSource(self.cluster, lambda: self.now)

    def __call__(self, asked: Awaitable[T]) -> T:
        return self.loop.run_until_complete(asked)


@contextmanager
def looking(bootstrap: str) -> Iterator[Looking]:
    made = Looking(bootstrap)
    try:
        yield made
    finally:
        made(made.source.close())
        made.loop.run_until_complete(made.loop.shutdown_default_executor())
        made.loop.close()


def requests(stuck_one: Stuck) -> int:
    return sum(stuck_one.broker._call(lambda: list(stuck_one.broker._life.counts.by_key)))


def test_many_pages_ask_no_more_than_one() -> None:
    with stuck_broker() as made, looking(made.broker.bootstrap) as look:
        first = look(stuck(look.source))
        assert {row["transactional_id"] for row in first} == {ID}
        count = requests(made)

        async def crowd() -> list[Any]:
            return await asyncio.gather(*(stuck(look.source) for _ in range(20)))

        assert {len(rows) for rows in look(crowd())} == {len(first)}
        assert requests(made) == count
        look.now += OPEN_SECONDS
        look(crowd())
        assert requests(made) - count < 20


def test_an_abort_makes_old_what_was_kept() -> None:
    with stuck_broker() as made, looking(made.broker.bootstrap) as look:
        assert look(stuck(look.source))
        (transaction,) = look(look.source.transactions(only_open=True))
        assert look(look.source.abort(transaction)) == "InitProducerId"
        assert look(stuck(look.source)) == []


def test_a_hanging_one_is_found_when_all_are_looked_at() -> None:
    with stuck_broker() as made, looking(made.broker.bootstrap) as look:
        look(look.source.abort(look(look.source.transactions(only_open=True))[0]))
        assert look(stuck(look.source)) == []
        made.broker._call(lambda: _leave_open(made))
        look.now += OPEN_SECONDS
        assert look(stuck(look.source)) == []
        look.now += ALL_SECONDS
        (row,) = look(stuck(look.source))
        assert (row["state"], row["partition"]) == ("Hanging", 1)
        ((partition, opened),) = look(look.source.behind())
        assert look(look.source.abort_hanging(partition.place, opened[0])) == "WriteTxnMarkers"
        assert look(stuck(look.source)) == []


def _leave_open(made: Stuck) -> None:
    log = made.broker._life.running.logs.log(SECOND)
    assert log is not None
    batch = build_batch([(1, b"k", b"v")], producer_id=4711, producer_epoch=0, base_sequence=0, is_transactional=True)
    log.append(memoryview(batch), made.broker.clock.now_ms(), verified=True)


def test_a_broker_that_dies_and_comes_back() -> None:
    with stuck_broker() as made, looking(made.broker.bootstrap) as look:
        look(look.source.facts())
        made.broker.crash()
        look.now += 60
        with pytest.raises(Unreachable, match="no broker answers"):
            look(look.source.facts())
        made.broker.restart()
        assert look(look.source.facts()).partitions > 2


@pytest.mark.parametrize(("code", "shown"), [(ErrorCode.TOPIC_AUTHORIZATION_FAILED, True), (ErrorCode.UNKNOWN_SERVER_ERROR, False)])
def test_what_may_not_be_read_is_null(monkeypatch: pytest.MonkeyPatch, code: ErrorCode, shown: bool) -> None:
    def refused(*_asked: object) -> bytes:
        raise KafkaError(code)

    with stuck_broker() as made, looking(made.broker.bootstrap) as look:
        monkeypatch.setattr("oncelog.broker.console.asking.read", refused)
        if not shown:
            with pytest.raises(Unreachable):
                look(look.source.groups())
            return
        (group,) = look(look.source.groups())
        assert group.pending is None
        assert "not shown" in (look(look.source.facts()).problem or "")


def test_what_only_a_broker_could_tell() -> None:
    with stuck_broker() as made, looking(made.broker.bootstrap) as look:
        place = TopicPartition("orders", 0)
        assert look(look.source.pieces(place)) is None
        assert [each.batches for each in look(look.source.producers(place))] == [None]
        assert list(look(look.source.requests_of(ID))) == list(look(look.source.fencings())) == []
        assert look(look.source.facts()).can == {
            "abort": True,
            "owners": False,
            "requests": False,
            "fencings": False,
            "segments": False,
            "rebalances": False,
            "values": True,
        }
        assert ApiKey.FETCH in look.cluster.any().versions
