"""A broker looked at in its own loop: what is behind is found, whoever left it open, and no turn takes long."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from oncelog.broker.console import embedded
from oncelog.broker.console.embedded import EmbeddedSource
from oncelog.broker.console.model import Unreachable
from oncelog.broker.console.watching import Watching
from oncelog.broker.testkit import Broker
from oncelog.protocol.names import TopicPartition
from oncelog.protocol.records import build_batch
from support.console_kit import FIRST, ID, SECOND, stuck_broker

pytestmark = pytest.mark.unit


def looking(broker: Broker) -> tuple[EmbeddedSource, Callable[[Awaitable[Any]], Any]]:
    return EmbeddedSource(lambda: broker._life.broker, Watching()), lambda asked: broker._do(_of(asked))


async def _of(asked: Awaitable[Any]) -> Any:
    return await asked


def test_edges_pieces_and_offsets_by_time() -> None:
    with stuck_broker() as stuck:
        source, ask = looking(stuck.broker)
        edges = ask(source.edges([FIRST, TopicPartition("nothing", 0)]))
        assert {place: (each.last_stable_offset, each.high_watermark, each.open_transactions) for place, each in edges.items()} == {
            FIRST: (4, 6, 1)
        }
        assert ask(source.offset_at(FIRST, 0)) == 0
        assert ask(source.offset_at(FIRST, 1 << 50)) is None
        assert ask(source.offset_at(TopicPartition("nothing", 0), 0)) is None
        assert ask(source.read(FIRST, 6, 100)) == ask(source.read(TopicPartition("nothing", 0), 0, 100)) == b""
        assert ask(source.pieces(TopicPartition("orders", 9))) is None
        assert {each.place for each in ask(source.partitions())} >= {FIRST, SECOND}


def test_a_hanging_one_is_found_by_and_by(monkeypatch: pytest.MonkeyPatch) -> None:
    """No id leads to it: it is come upon by looking at some partitions each time."""
    monkeypatch.setattr(embedded, "_LOOKED_AT", 2)
    with Broker() as broker:
        broker.create_topic("many", 9)
        source, ask = looking(broker)
        for number in range(9):
            broker._call(lambda number=number: broker._life.running.logs.log(TopicPartition("many", number)))
        assert ask(source.behind()) == []
        broker._call(lambda: _open(broker, TopicPartition("many", 7)))
        looks = [len(ask(source.behind())) for _ in range(6)]
        assert looks[-1] == 1
        ((partition, opened),) = ask(source.behind())
        assert (partition.place.partition, partition.behind, opened[0].producer_id) == (7, 1, 4711)


def _open(broker: Broker, place: TopicPartition) -> None:
    log = broker._life.running.logs.log(place)
    assert log is not None
    batch = build_batch([(1, b"k", b"v")], producer_id=4711, producer_epoch=0, base_sequence=0, is_transactional=True)
    log.append(memoryview(batch), broker.clock.now_ms(), verified=True)


def test_since_when_it_is_remembered() -> None:
    with stuck_broker() as stuck:
        source, ask = looking(stuck.broker)
        before = {each.place: each.since_ms for each, _ in ask(source.behind())}
        stuck.broker.clock.advance(5)
        assert {each.place: each.since_ms for each, _ in ask(source.behind())} == before
        stuck.broker._do(_of(_aborted(stuck.broker)))
        assert ask(source.behind()) == []
        assert source._behind_since == {}


async def _aborted(broker: Broker) -> None:
    await embedded._awaited(broker._life.running.context.transactions.abort(ID, "a test"))


def test_a_broker_that_is_down() -> None:
    async def asked() -> None:
        await EmbeddedSource(lambda: None, Watching()).facts()

    with pytest.raises(Unreachable):
        asyncio.run(asked())
