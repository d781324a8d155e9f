"""Requests that arrive in pieces: what they may hold, who waits for whom, who is given up."""

from __future__ import annotations

import asyncio
import gc
import random
import threading

import pytest
from oncelog.broker.net.request_memory import FREE_BYTES, PATIENCE_MS, IncompleteRequest, RequestMemory

pytestmark = pytest.mark.unit
MIB = 1 << 20


class Client:
    """Sends one request of `length` bytes, prefix included."""

    def __init__(self, memory: RequestMemory, length: int, head: int = 4) -> None:
        self.given_up = self.told = False
        self.sent = head
        self.incomplete: IncompleteRequest | None = IncompleteRequest(
            memory, self, bytes(range(256)) * (head // 256) + bytes(head % 256), length
        )

    def send(self, count: int) -> int:
        """As much of `count` as there is room for; what was taken."""
        taken = 0
        incomplete = self.incomplete
        assert incomplete is not None
        while taken < count and not incomplete.waits and not incomplete.whole:
            room = incomplete.room()
            part = min(len(room), count - taken)
            room[:part] = bytes((self.sent + n) & 255 for n in range(part)) if part < 10_000 else bytes(part)
            incomplete.add(part)
            self.sent += part
            taken += part
        return taken

    def memory_granted(self) -> None:
        self.told = True

    def request_too_slow(self) -> None:
        self.given_up = True
        assert self.incomplete is not None
        self.incomplete.drop()
        self.incomplete = None


class Time:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def memory(time: Time) -> RequestMemory:
    return RequestMemory(100 * MIB, time)


def test_an_announced_length_is_not_allocated(memory: RequestMemory) -> None:
    crowd = [Client(memory, 100 * MIB) for _ in range(40)]
    assert memory.used == 0
    assert all(len(client.incomplete.buffer) <= FREE_BYTES for client in crowd if client.incomplete is not None)


@pytest.mark.parametrize("seed", range(20))
def test_memory_follows_what_arrives_and_no_byte_is_changed(memory: RequestMemory, seed: int) -> None:
    chance = random.Random(seed)
    length = chance.choice([5, 4096, 4097, 70_000, 300_000, 3 * MIB])
    data = chance.randbytes(length)
    head = min(chance.choice([1, 3, 4, 5, 5000, 200_000]), length - 1)
    client = Client(memory, length if head >= 4 else 4, 0)
    client.incomplete = incomplete = IncompleteRequest(memory, client, data[:head], length if head >= 4 else 4)
    sent = head
    while not incomplete.whole or incomplete.length != length:
        if incomplete.whole:
            incomplete.has_length(length)
        room = incomplete.room()
        part = min(len(room), chance.choice([1, 100, 10_000, 500_000]))
        room[:part] = data[sent : sent + part]
        incomplete.add(part)
        sent += part
        assert incomplete.reserved <= 8 * sent
    assert bytes(incomplete.finish()) == data[4:]


def test_the_memory_counts_as_long_as_anybody_holds_the_bytes(memory: RequestMemory) -> None:
    client = Client(memory, MIB)
    client.send(MIB)
    assert client.incomplete is not None
    view = client.incomplete.finish()
    part = view[1000:]
    client.incomplete = None
    del view
    assert memory.used == MIB
    thread = threading.Thread(target=part.release)
    thread.start()
    thread.join()
    del part
    gc.collect()
    assert memory.used == 0


def test_who_finds_no_room_waits_in_order_and_is_told(memory: RequestMemory) -> None:
    async def scenario() -> None:
        large = Client(memory, 100 * MIB)
        large.send(70 * MIB)
        waiting = [Client(memory, 10 * MIB) for _ in range(3)]
        taken = [client.send(10 * MIB) for client in waiting]
        assert all(1000 < part < 10 * MIB for part in taken)
        assert memory.scarce
        assert memory.used <= memory.limit
        assert large.send(100 * MIB) == 30 * MIB - 4  # it has what it needs, and can complete
        assert large.incomplete is not None
        large.incomplete.finish()
        large.incomplete = None
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        for client, part in zip(waiting, taken, strict=True):
            assert client.told
            assert client.send(10 * MIB) + part == 10 * MIB - 4
        assert not memory.scarce

    asyncio.run(scenario())


def test_a_crowd_that_drips_keeps_nobody_out(memory: RequestMemory) -> None:
    crowd = [Client(memory, 100 * MIB) for _ in range(2000)]
    for client in crowd:
        client.send(100)
    good = Client(memory, 20 * MIB)
    assert good.send(20 * MIB) == 20 * MIB - 4


def test_when_all_wait_for_each_other_the_largest_slow_one_is_given_up(memory: RequestMemory, time: Time) -> None:
    async def scenario() -> None:
        clients = [Client(memory, 60 * MIB) for _ in range(5)]
        for part in (5 * MIB, 60 * MIB):
            for client in clients:
                client.send(part)
        assert all(client.incomplete is not None and client.incomplete.waits for client in clients)
        memory.tick()
        assert not any(client.given_up for client in clients)
        done = 0
        for _ in range(20):
            time.now += PATIENCE_MS
            memory.tick()
            await asyncio.sleep(0)
            for client in clients:
                if client.incomplete is not None:
                    client.send(60 * MIB)
                    if client.incomplete.whole:
                        client.incomplete.finish()
                        client.incomplete = None
                        done += 1
        assert done >= 1
        assert all(client.incomplete is None for client in clients)
        assert memory.used == 0

    asyncio.run(scenario())


def test_who_waits_is_forgotten_with_its_connection(memory: RequestMemory) -> None:
    async def scenario() -> None:
        first, second, third = (Client(memory, 100 * MIB) for _ in range(3))
        first.send(70 * MIB)
        second.send(MIB)
        third.send(MIB)
        assert memory.scarce
        for client in (second, third, first):
            assert client.incomplete is not None
            client.incomplete.drop()
            client.incomplete = None
        assert memory.used == 0
        assert not memory.scarce

    asyncio.run(scenario())


def test_the_deadline_is_when_somebody_is_given_up(memory: RequestMemory, time: Time) -> None:
    async def scenario() -> None:
        assert memory.next_deadline_ms() is None
        clients = []
        for _ in range(3):
            time.now += 700
            clients.append(Client(memory, 90 * MIB))
            clients[-1].send(20 * MIB)
        for client in clients:
            time.now += 70
            client.send(60 * MIB)
        deadline = memory.next_deadline_ms()
        assert deadline is not None
        time.now = deadline - 1
        memory.tick()
        assert not any(client.given_up for client in clients)
        time.now = deadline
        memory.tick()
        assert sum(client.given_up for client in clients) == 1

    asyncio.run(scenario())
