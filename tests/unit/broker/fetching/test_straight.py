"""The straight way of a Fetch is the twin of its handler: the same bytes in answer, at the same time."""

from __future__ import annotations

import asyncio
import random
import struct
import uuid
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from oncelog.coordinator.deferred import Deferred
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.records import build_batch
from support.flushed_when_told import DATA
from support.simfs import SimFileSystem
from support.storage_kit import T0, Kit
from support.straight_broker import Broker, whole

pytestmark = pytest.mark.unit
VERSIONS = range(12, 19)
TOPIC_ID = uuid.UUID(int=5)
END = 60


def frame(version: int, offset: int, **changed: Any) -> bytes:
    wanted = {
        "partition": 0,
        "current_leader_epoch": -1,
        "fetch_offset": offset,
        "last_fetched_epoch": -1,
        "log_start_offset": -1,
        "partition_max_bytes": 1000,
    }
    topic = {"topic_id": TOPIC_ID} if version >= 13 else {"topic": changed.pop("topic", "t")}
    asked = {
        "replica_id": -1,
        "max_wait_ms": 0,
        "min_bytes": 0,
        "max_bytes": 4000,
        "isolation_level": 0,
        "session_id": 0,
        "session_epoch": -1,
        "forgotten_topics_data": [],
        "rack_id": "",
    }
    for name, value in changed.items():
        (wanted if name in wanted else asked)[name] = value
    Topic = messages.FetchRequest.FetchTopic
    request = messages.FetchRequest(**asked, topics=[Topic(**topic, partitions=[Topic.FetchPartition(**wanted)])])
    head = struct.pack(">hhih", 1, version, 7, 1) + b"c\x00"
    return head + bytes(messages.encode_request(ApiKey.FETCH, version, request))


def kit() -> Kit:
    made = Kit(DATA, SimFileSystem(1, now_ms=lambda: T0))
    made.manager.create_topic("t", 2, {"segment.bytes": "1048576"}, topic_id=TOPIC_ID)
    log = made.log
    sequence = 0
    while log.log_end_offset < END:
        made.append(sequence, pid=7, txn=True)
        sequence += 1
        log.append(build_batch([(T0, b"k", b"v" * (100 + 13 * log.log_end_offset))]), T0)
        if log.log_end_offset % 7 == 0:
            made.mark(7, commit=log.log_end_offset % 2 == 0)
    return made


def twins() -> tuple[Broker, Broker]:
    brokers = Broker(kit()), Broker(kit(), straight=False)
    for broker in brokers:
        broker.connection.at_once_bytes = 2000
        broker.send(frame(12, 0))  # from then on the straight way is known
    return brokers


def on_a_loop(work: Callable[[], None]) -> None:
    async def main() -> None:
        work()

    asyncio.run(main())


@pytest.mark.parametrize("version", VERSIONS)
def test_answers_are_the_same(version: int, seed: int) -> None:
    def work() -> None:
        rng = random.Random(seed)
        straight, ordinary = twins()
        straight.send(frame(version, 0))
        waited, end = 0, straight.kit.log.log_end_offset
        for _ in range(300):
            changed: dict[str, Any] = {"isolation_level": rng.choice([0, 1])}
            for name, values in (
                ("partition", [0, 0, 0, 1, 2]),
                ("current_leader_epoch", [-1, 0, 0, 5]),
                ("last_fetched_epoch", [-1, 0, 3]),
                ("partition_max_bytes", [0, 60, 300, 1000, 9000]),
                ("max_bytes", [0, 500, 9000]),
                ("max_wait_ms", [0, 500, 500]),
                ("min_bytes", [1, 1, 700, 100_000]),
                ("session_epoch", [-1, 0, 3]),
                ("session_id", [0, 9]),
                ("rack_id", ["", "r"]),
            ):
                if rng.random() < 0.3:
                    changed[name] = rng.choice(values)
            offset = rng.choice([rng.randrange(END), rng.randrange(END), end - 1, end, end, end + 3, -1])
            sent = frame(version, offset, **changed)
            answers = [broker.send(sent) for broker in (straight, ordinary)]
            waits = [isinstance(answer, Deferred) and not answer.done for answer in answers]
            assert waits[0] == waits[1], (seed, changed)
            waited += waits[0]
            if not waits[0] and changed.get("session_epoch") != 0:
                assert whole(answers[0]) == whole(answers[1]), (seed, changed)
        assert straight.taken > 40
        assert waited > 0
        assert ordinary.taken == 0

    on_a_loop(work)


def test_long_answers_are_read_when_they_are_sent() -> None:
    def work() -> None:
        straight, ordinary = twins()
        for broker in (straight, ordinary):
            broker.connection.at_once_bytes = 0
        sent = frame(12, 5, partition_max_bytes=4000)
        answers = [broker.send(sent) for broker in (straight, ordinary)]
        assert [len(answer) for answer in answers] == [4, 4]
        assert whole(answers[0]) == whole(answers[1])
        assert straight.taken == 1

    on_a_loop(work)


def both_wait(sent: bytes, brokers: tuple[Broker, Broker]) -> list[Deferred[Any]]:
    answers = [broker.send(sent) for broker in brokers]
    assert not any(answer.done for answer in answers)
    assert brokers[0].taken == 1
    return answers


def append(broker: Broker, value: bytes) -> None:
    broker.kit.log.append(build_batch([(T0, b"k", value)]), T0)


@pytest.mark.parametrize(("at_once_bytes", "holds"), [(2000, False), (0, True)])
def test_where_much_waits_already_requests_behind_it_wait_themselves(at_once_bytes: int, holds: bool) -> None:
    def work() -> None:
        brokers = twins()
        for broker in brokers:
            broker.connection.at_once_bytes = at_once_bytes
        answers = both_wait(frame(12, brokers[0].kit.log.log_end_offset, max_wait_ms=100, min_bytes=1), brokers)
        assert [answer.holds is not None for answer in answers] == [holds, holds]

    on_a_loop(work)


@pytest.mark.parametrize("isolation", [0, 1])
def test_what_waits_is_woken_by_enough(isolation: int) -> None:
    def work() -> None:
        brokers = twins()
        end = brokers[0].kit.log.log_end_offset
        brokers[0].kit.mark(7, commit=True)
        brokers[1].kit.mark(7, commit=True)
        answers = both_wait(frame(12, end + 1, max_wait_ms=100, min_bytes=200, isolation_level=isolation), brokers)
        for broker in brokers:
            append(broker, b"first" * 10)
        assert not any(answer.done for answer in answers)
        for broker in brokers:
            append(broker, b"second" * 10)
        assert whole(answers[0]) == whole(answers[1])
        assert b"second" in whole(answers[0])

    on_a_loop(work)


def test_what_waits_is_answered_at_its_time() -> None:
    async def main() -> None:
        brokers = twins()
        answers = both_wait(frame(12, brokers[0].kit.log.log_end_offset, max_wait_ms=1, min_bytes=1), brokers)
        for answer in answers:
            told = asyncio.Event()
            answer.when_done(lambda _done, told=told: told.set())  # type: ignore[misc]
            async with asyncio.timeout(20):
                await told.wait()
        assert whole(answers[0]) == whole(answers[1])

    asyncio.run(main())


def test_what_waits_hears_that_its_log_is_gone() -> None:
    def work() -> None:
        brokers = twins()
        answers = both_wait(frame(12, brokers[0].kit.log.log_end_offset, max_wait_ms=100, min_bytes=1), brokers)
        for broker in brokers:
            broker.kit.log.retire("the topic was deleted")
        assert whole(answers[0]) == whole(answers[1])
        assert struct.pack(">ih", 0, 56) in whole(answers[0])

    on_a_loop(work)


def test_rights_are_asked_for_each_time() -> None:
    def work() -> None:
        straight, ordinary = twins()
        allowed = True
        for broker in (straight, ordinary):
            broker.parts.authorizer = SimpleNamespace(authorize=lambda *_action: allowed)
        assert straight.answer(frame(12, 3)) == ordinary.answer(frame(12, 3))
        assert straight.taken == 1
        allowed = False
        assert straight.answer(frame(12, 3)) == ordinary.answer(frame(12, 3))
        assert straight.taken == 1

    on_a_loop(work)
