"""Incremental fetches of many partitions over the wire, on virtual time: what did not change is not looked at, and nothing is missed."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from typing import Any

import pytest
from oncelog.broker.handlers import api_01_fetch
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.records import build_batch, iter_headers, iter_records
from oncelog.storage.log.log import Log
from support.sim_place import Place, create, delete

pytestmark = pytest.mark.unit
PARTITIONS = 300


class Consumer:
    """One session as a client keeps it: where it reads on in each partition, and what it read."""

    def __init__(self, place: Place, *, isolation: int = 0) -> None:
        self.client = place.client()
        self.isolation = isolation
        self.offsets = dict.fromkeys(range(PARTITIONS), 0)
        self.read: dict[int, list[bytes]] = {partition: [] for partition in self.offsets}
        self.errors: dict[int, int] = {}
        self.told = 0
        self._id, self._epoch = 0, 0
        self._changed = set(self.offsets)

    async def poll(self, *, wait_ms: int = 0, forget: tuple[int, ...] = ()) -> None:
        answer = await self.client.call(
            ApiKey.FETCH,
            12,
            {
                "replica_id": -1,
                "max_wait_ms": wait_ms,
                "min_bytes": 1,
                "max_bytes": 1 << 20,
                "isolation_level": self.isolation,
                "session_id": self._id,
                "session_epoch": self._epoch,
                "topics": [{"topic": "t", "partitions": [self._asked(partition) for partition in sorted(self._changed)]}]
                if self._changed
                else [],
                "forgotten_topics_data": [{"topic": "t", "partitions": list(forget)}] if forget else [],
                "rack_id": "",
            },
        )
        assert answer.error_code == 0
        self._id, self._epoch = answer.session_id, self._epoch + 1
        self._changed = set()
        self.told = 0
        for topic in answer.responses:
            for told in topic.partitions:
                self.told += 1
                self._take(told)

    def _asked(self, partition: int) -> dict[str, Any]:
        return {
            "partition": partition,
            "current_leader_epoch": -1,
            "fetch_offset": self.offsets[partition],
            "last_fetched_epoch": -1,
            "log_start_offset": -1,
            "partition_max_bytes": 1 << 20,
        }

    def _take(self, told: Any) -> None:
        partition = told.partition_index
        self.errors.pop(partition, None)
        if told.error_code:
            self.errors[partition] = told.error_code
        view = memoryview(bytes(told.records or b""))
        for position, header in iter_headers(view):
            if header.next_offset <= self.offsets[partition]:
                continue
            if not header.is_control:
                self.read[partition] += [bytes(r.value or b"") for r in iter_records(view[position : position + header.size_bytes])]
            self.offsets[partition] = header.next_offset
            self._changed.add(partition)


@pytest.fixture(autouse=True, params=[7, 50, 1000])
def partitions_a_turn(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a turn takes: the answers are the same."""
    monkeypatch.setattr(api_01_fetch, "PARTITIONS_A_TURN", request.param)


@pytest.fixture
def place() -> Iterator[Place]:
    made = Place()
    yield made
    made.cluster.close()


def log(place: Place, partition: int) -> Log:
    from oncelog.protocol.names import TopicPartition

    assert place.cluster.broker is not None
    found = place.cluster.broker.logs.log(TopicPartition("t", partition))
    assert found is not None
    return found


def append(place: Place, partition: int, value: bytes, **producer: Any) -> None:
    now_ms = place.cluster.clock.time_ms()
    log(place, partition).append(build_batch([(now_ms, None, value)], **producer), now_ms, verified=bool(producer))


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The partitions whose log a fetch has looked for."""
    seen: list[int] = []
    target = api_01_fetch._Fetch._target

    def counting(self: Any, key: Any, partition: Any) -> Any:
        seen.append(key[1])
        return target(self, key, partition)

    monkeypatch.setattr(api_01_fetch._Fetch, "_target", counting)
    return seen


def test_what_did_not_change_is_not_looked_at(place: Place, looked_at: list[int]) -> None:
    async def main() -> None:
        await create(place.client(), "t", partitions=PARTITIONS)
        consumer = Consumer(place)
        await consumer.poll()
        assert consumer.told == PARTITIONS
        looked_at.clear()
        for _ in range(3):
            await consumer.poll()
            assert consumer.told == 0
        assert looked_at == []
        append(place, 7, b"seven")
        await asyncio.sleep(0.1)
        await consumer.poll()
        assert consumer.read[7] == [b"seven"]
        await consumer.poll()  # with the new offset
        assert set(looked_at) == {7}

    place.run(main)


def test_a_parked_request_is_woken_by_a_quiet_partition(place: Place, looked_at: list[int]) -> None:
    async def main() -> None:
        await create(place.client(), "t", partitions=PARTITIONS)
        consumer = Consumer(place)
        await consumer.poll()
        looked_at.clear()
        polling = asyncio.ensure_future(consumer.poll(wait_ms=20_000))
        await asyncio.sleep(1)
        append(place, 123, b"late")
        begin = place.cluster.loop.time()
        await polling
        assert place.cluster.loop.time() - begin < 1
        assert consumer.read[123] == [b"late"]
        assert set(looked_at) == {123}

    place.run(main)


def test_read_committed_is_woken_by_the_end_of_the_transaction(place: Place) -> None:
    async def main() -> None:
        await create(place.client(), "t", partitions=PARTITIONS)
        consumer = Consumer(place, isolation=1)
        await consumer.poll()
        append(place, 5, b"in a transaction", producer_id=9, producer_epoch=0, base_sequence=0, is_transactional=True)
        await asyncio.sleep(0.1)
        await consumer.poll()
        assert consumer.read[5] == []
        assert consumer.told == 1  # the high watermark
        polling = asyncio.ensure_future(consumer.poll(wait_ms=20_000))
        await asyncio.sleep(1)
        assert not polling.done()
        log(place, 5).append_marker(9, 0, 0, True, place.cluster.clock.time_ms())
        await polling
        assert consumer.read[5] == [b"in a transaction"]

    place.run(main)


def test_another_isolation_level_looks_at_everything_again(place: Place) -> None:
    async def main() -> None:
        await create(place.client(), "t", partitions=PARTITIONS)
        consumer = Consumer(place, isolation=1)
        append(place, 5, b"open", producer_id=9, producer_epoch=0, base_sequence=0, is_transactional=True)
        await asyncio.sleep(0.1)
        await consumer.poll()
        consumer.isolation = 0
        await consumer.poll()
        assert consumer.read[5] == [b"open"]

    place.run(main)


def test_a_deleted_topic_is_told_and_its_successor_read(place: Place) -> None:
    async def main() -> None:
        client = place.client()
        await create(client, "t", partitions=PARTITIONS)
        consumer = Consumer(place)
        await consumer.poll()
        polling = asyncio.ensure_future(consumer.poll(wait_ms=2_000))
        await asyncio.sleep(0.5)
        assert await delete(client, "t") == 0
        await polling
        await consumer.poll()
        assert set(consumer.errors.values()) == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
        assert len(consumer.errors) == PARTITIONS
        await create(client, "t", partitions=PARTITIONS)
        append(place, 1, b"new")
        await asyncio.sleep(0.1)
        await consumer.poll()
        assert consumer.errors == {}
        assert consumer.read[1] == [b"new"]

    place.run(main)


def test_a_forgotten_partition_is_not_watched(place: Place) -> None:
    async def main() -> None:
        await create(place.client(), "t", partitions=PARTITIONS)
        consumer = Consumer(place)
        await consumer.poll()
        assert log(place, 3)._watchers._listeners
        await consumer.poll(forget=(3,))
        assert not log(place, 3)._watchers._listeners
        append(place, 3, b"unheard")
        await asyncio.sleep(0.1)
        await consumer.poll()
        assert consumer.told == 0

    place.run(main)


def test_an_ended_session_watches_nothing(place: Place) -> None:
    async def main() -> None:
        await create(place.client(), "t", partitions=PARTITIONS)
        consumer = Consumer(place)
        await consumer.poll()
        consumer._epoch = -1
        await consumer.poll()
        assert not any(log(place, partition)._watchers._listeners for partition in range(PARTITIONS))

    place.run(main)


@pytest.mark.parametrize("session", [True, False])
def test_a_request_of_many_partitions_waits_for_any_of_them(place: Place, session: bool) -> None:
    async def main() -> None:
        await create(place.client(), "t", partitions=PARTITIONS)
        consumer = Consumer(place)
        consumer._epoch = 0 if session else -1
        begin = place.cluster.loop.time()
        polling = asyncio.ensure_future(consumer.poll(wait_ms=2_000))
        await asyncio.sleep(1)
        assert not polling.done()
        append(place, 299, b"late")
        await polling
        assert consumer.read[299] == [b"late"]
        assert place.cluster.loop.time() - begin < 2
        consumer._epoch = 0 if session else -1
        consumer._changed = set(consumer.offsets)
        await consumer.poll(wait_ms=2_000)
        assert place.cluster.loop.time() - begin >= 3
        assert any(log(place, partition)._watchers._listeners for partition in range(PARTITIONS)) == session

    place.run(main)


def test_a_session_that_ends_while_its_first_request_is_read_watches_nothing(place: Place) -> None:
    async def main() -> None:
        await create(place.client(), "t", partitions=PARTITIONS)
        consumer = Consumer(place)
        polling = asyncio.ensure_future(consumer.poll(wait_ms=1_000))
        assert place.cluster.broker is not None
        sessions = place.cluster.broker.context.fetch_sessions
        while not len(sessions):  # noqa: ASYNC110  nobody tells
            await asyncio.sleep(0.0001)
        sessions._end(next(iter(sessions._sessions)))
        await polling
        assert not any(log(place, partition)._watchers._listeners for partition in range(PARTITIONS))

    place.run(main)


@pytest.mark.parametrize("seed", range(4))
def test_every_record_is_read_once_and_in_order(seed: int) -> None:
    """Records, log starts and consumers that come at any time; small answers, so that most polls leave something behind."""
    place = Place(seed)
    chance = random.Random(seed)
    written: dict[int, list[bytes]] = {partition: [] for partition in range(PARTITIONS)}

    async def write() -> None:
        for number in range(300):
            partition = min(int(chance.expovariate(0.05)), PARTITIONS - 1)
            value = b"%d" % number + b"x" * chance.randrange(3000)
            written[partition].append(value)
            append(place, partition, value)
            await asyncio.sleep(chance.random() * 0.01)

    async def main() -> None:
        await create(place.client(), "t", partitions=PARTITIONS)
        consumers = [Consumer(place, isolation=number % 2) for number in range(3)]
        writing = asyncio.ensure_future(write())
        while not writing.done():
            await asyncio.gather(*(consumer.poll(wait_ms=chance.choice((0, 5, 100))) for consumer in consumers))
        await asyncio.sleep(0.1)
        for consumer in consumers:
            for _ in range(3):
                await consumer.poll()
            assert consumer.read == written

    place.run(main, seconds=120)
    place.cluster.close()
