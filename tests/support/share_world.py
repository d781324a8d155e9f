"""One seed of a simulated share group: members that fetch and acknowledge under faults, and what must hold of every record.

* what was acknowledged for good (accepted, rejected, gap) and answered is acquired by nobody again: accepted once;
* a delivery count goes up by one at each delivery while the broker lives, is never beyond the limit, and after a death is above the
  count of every release that was answered;
* with read_committed nothing is acquired beyond the last stable offset, and no record of an aborted transaction is handed out;
* in the end every visible record is accepted, rejected, or was delivered as often as allowed: archived only at the limit or by reject,
  and none is lost.

Acquisitions are looked at in the broker, in its order; a member sees them late or never.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

from oncelog.broker.sharing.acquiring import Wanted
from oncelog.broker.sharing.hosting import Fetched, ShareHost
from oncelog.coordinator.share.persister import SharePartitionKey
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode as E
from oncelog.protocol.names import IsolationLevel, TopicPartition
from oncelog.protocol.records import build_batch, iter_headers, iter_records
from oncelog.storage.log.log import Log

from support.simbroker import ConnectionLost, SimClient, SimCluster
from support.txn_clients import BANK, PARTITIONS, PLAIN, Ledger, Producer, Transfer
from support.txn_world import committed_records

GROUP_ID = "workers"
LIMIT = 5
LOCK_MS = 1_000
LIVES = 6
LIFE_SECONDS = 4.0
DRAIN_SECONDS = 40.0
MEMBERS = 6
GAP, ACCEPT, RELEASE, REJECT, RENEW = range(5)
FOR_GOOD = (GAP, ACCEPT, REJECT)
SETTINGS = {
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.record.lock.duration.ms": str(LOCK_MS),
    "share.coordinator.state.topic.num.partitions": "2",
    "share.coordinator.snapshot.update.records.per.snapshot": "20",
}
Offset = tuple[TopicPartition, int]


class Register:
    """What is known of every record."""

    def __init__(self) -> None:
        self.over: set[Offset] = set()  # acknowledged for good, and answered
        self.perhaps_over: set[Offset] = set()  # asked for, and perhaps done
        self.released_at: dict[Offset, int] = {}  # the highest count of a release that was answered
        self.deliveries: dict[Offset, int] = {}  # in this life
        self.most: dict[Offset, int] = {}  # ever
        self.counts: Counter[str] = Counter()

    def acquired(self, where: TopicPartition, fetched: Fetched) -> None:
        """The broker has just handed these out."""
        for first, last, count in fetched.acquired:
            for number in range(first, last + 1):
                offset = where, number
                assert offset not in self.over, f"{offset} was acknowledged for good and comes again, delivery {count}"
                assert 1 <= count <= LIMIT, f"{offset} delivery {count}"
                before = self.deliveries.get(offset)
                assert before is None or count == before + 1, f"{offset} delivery {count} after {before}"
                assert count > self.released_at.get(offset, 0), f"{offset} delivery {count}, released at {self.released_at[offset]}"
                self.deliveries[offset] = count
                self.most[offset] = max(count, self.most.get(offset, 0))
                self.counts["acquired"] += 1

    def asked(self, where: TopicPartition, batches: list[tuple[int, int, list[int]]]) -> None:
        """A member wants these acknowledged."""
        self.perhaps_over |= {(where, number) for number, kind in numbers(batches) if kind in FOR_GOOD}

    def told(self, where: TopicPartition, batches: list[tuple[int, int, list[int]]], counts: dict[int, int]) -> None:
        """It was."""
        for number, kind in numbers(batches):
            offset = where, number
            if kind in FOR_GOOD:
                self.over.add(offset)
            elif kind == RELEASE and self.deliveries.get(offset) == counts[number]:
                self.released_at[offset] = max(counts[number], self.released_at.get(offset, 0))
            self.counts["acknowledged"] += 1


def numbers(batches: list[tuple[int, int, list[int]]]) -> Iterator[tuple[int, int]]:
    """(offset, type) of each."""
    for first, last, types in batches:
        for index, number in enumerate(range(first, last + 1)):
            yield number, types[index] if len(types) > 1 else types[0]


class Worker(SimClient):
    """A member without membership: opens a session, works off what it gets, dies and comes back with its connections."""

    def __init__(self, world: ShareWorld, number: int) -> None:
        super().__init__(world.cluster, random.Random(world.cluster.chance.getrandbits(64)), repeats=True)
        self.world = world
        self.register = world.register
        self.member = f"worker-{number}"
        self.epoch = 0
        self.running = True
        self.draining = False

    async def run(self) -> None:
        while self.running:
            try:
                await self.turn()
            except ConnectionLost:
                self.register.counts["lost"] += 1
                self.epoch = 0
                await asyncio.sleep(self.chance.random() * 0.1)

    async def turn(self) -> None:
        if self.epoch and self.chance.random() < 0.03 and not self.draining:
            await self.ask(ApiKey.SHARE_ACKNOWLEDGE, -1, {"is_renew_ack": False}, {})
            self.epoch = 0
            return
        for where, counts in (await self.fetch({})).items():
            if self.chance.random() < 0.05 and not self.draining:
                continue  # forgotten: its lock runs out
            if self.chance.random() < 0.1 and not self.draining:
                await asyncio.sleep(self.chance.random() * 2 * LOCK_MS / 1000)
            batches = self.decide(counts)
            if self.chance.random() < 0.3:
                for at, more in (await self.fetch({where: (batches, counts)})).items():
                    await self.acknowledge(at, self.decide(more), more)
            else:
                await self.acknowledge(where, batches, counts)

    async def fetch(self, acks: dict[TopicPartition, Any]) -> dict[TopicPartition, dict[int, int]]:
        """Delivery counts by offset of what was acquired."""
        if self.epoch == 0 and acks:
            return {}
        exact = self.chance.random() < 0.3
        fields = {
            "max_wait_ms": 100,
            "min_bytes": 1,
            "max_bytes": self.chance.choice((200, 5_000, 1 << 20)),
            "max_records": self.chance.choice((1, 5, 20, 200)),
            "batch_size": self.chance.choice((1, 10, 500)),
            "share_acquire_mode": int(exact),
            "is_renew_ack": False,
            "forgotten_topics_data": [],
        }
        answer = await self.ask(ApiKey.SHARE_FETCH, self.epoch, fields, {at: batches for at, (batches, _) in acks.items()})
        found: dict[TopicPartition, dict[int, int]] = {}
        for topic in answer.responses if answer is not None else ():
            for partition in topic.partitions:
                where = self.world.names[topic.topic_id, partition.partition_index]
                if where in acks and not partition.acknowledge_error_code:
                    self.register.told(where, *acks[where])
                if partition.acquired_records:
                    found[where] = self.got(where, partition)
        return found

    def got(self, where: TopicPartition, partition: Any) -> dict[int, int]:
        counts = {
            number: each.delivery_count for each in partition.acquired_records for number in range(each.first_offset, each.last_offset + 1)
        }
        data = memoryview(bytes(partition.records))
        there = set()
        for position, header in iter_headers(data):
            for record in () if header.is_control else iter_records(data[position : position + header.size_bytes]):
                if record.offset in counts:
                    there.add(record.offset)
                    self.world.seen(where, bytes(record.value or b""))
            there |= set(range(header.base_offset, header.last_offset + 1)) if header.is_control else set()
        assert counts.keys() <= there, f"{where}: acquired {sorted(counts.keys() - there)[:5]}, which were not sent"
        return counts

    def decide(self, counts: dict[int, int]) -> list[tuple[int, int, list[int]]]:
        """Runs of offsets, acknowledged alike or one by one."""
        batches: list[tuple[int, int, list[int]]] = []
        left = sorted(counts)
        while left:
            size = next((n for n in range(1, len(left)) if left[n] != left[0] + n), len(left))
            size = min(size, self.chance.choice((1, 5, 100)))
            some, left = left[:size], left[size:]
            if not self.draining and self.chance.random() < 0.03:
                continue
            types = [self.type(counts[number]) for number in some]
            batches.append((some[0], some[-1], types if self.chance.random() < 0.2 else types[:1]))
        return batches

    def type(self, count: int) -> int:
        if self.draining:
            return ACCEPT
        return self.chance.choices((ACCEPT, RELEASE, REJECT), (80, 17, 3))[0]

    async def acknowledge(self, where: TopicPartition, batches: list[tuple[int, int, list[int]]], counts: dict[int, int]) -> None:
        if not batches or not self.epoch:
            return
        answer = await self.ask(ApiKey.SHARE_ACKNOWLEDGE, self.epoch, {"is_renew_ack": False}, {where: batches})
        if answer is None:
            return
        (partition,) = answer.responses[0].partitions
        if partition.error_code:
            self.register.counts[f"refused {E(partition.error_code).name}"] += 1
        else:
            self.register.told(where, batches, counts)

    async def ask(self, key: ApiKey, epoch: int, fields: dict[str, Any], acks: dict[TopicPartition, Any]) -> Any:
        """The answer; None when there is no such session (any more). Raises ConnectionLost."""
        for where, batches in acks.items():
            self.register.asked(where, batches)
        places = list(self.world.ids) if epoch == 0 else list(acks)
        topics: dict[Any, list[Any]] = {}
        for where in places:
            batches = [
                {"first_offset": first, "last_offset": last, "acknowledge_types": types} for first, last, types in acks.get(where, ())
            ]
            topics.setdefault(self.world.ids[where], []).append({"partition_index": where.partition, "acknowledgement_batches": batches})
        named = [{"topic_id": topic_id, "partitions": partitions} for topic_id, partitions in topics.items()]
        known = {"group_id": GROUP_ID, "member_id": self.member, "share_session_epoch": epoch, "topics": named}
        answer = await self.call(key, 2, known | fields)
        if answer.error_code:
            assert answer.error_code in (E.SHARE_SESSION_NOT_FOUND, E.INVALID_SHARE_SESSION_EPOCH), answer
            self.epoch = 0
            return None
        self.epoch = epoch + 1
        return answer


class Feeder(SimClient):
    """Gives the workers something to do, all the time."""

    def __init__(self, world: ShareWorld) -> None:
        super().__init__(world.cluster, random.Random(world.cluster.chance.getrandbits(64)), repeats=False)
        self.running = True

    async def run(self) -> None:
        while self.running:
            await asyncio.sleep(self.chance.random() * 0.05)
            now_ms = self.cluster.clock.time_ms()
            batch = build_batch([(now_ms, None, b"plain")] * self.chance.choice((1, 1, 3, 20, 50)))
            data = [{"index": self.chance.randrange(PARTITIONS), "records": bytes(batch)}]
            fields = {"transactional_id": None, "acks": -1, "timeout_ms": 1_000, "topic_data": [{"name": PLAIN, "partition_data": data}]}
            with contextlib.suppress(ConnectionLost):
                await self.call(ApiKey.PRODUCE, 11, fields)


class ShareWorld:
    """One seed."""

    def __init__(self, seed: int) -> None:
        self.chance = chance = random.Random(seed)
        self.faults = chance.choice((0.1, 0.2, 0.3))
        self.power_cuts = chance.choice((0.0, 0.5, 0.9))
        self.jumps = chance.choice((0.0, 0.3, 0.6))
        self.committed = chance.random() < 0.6
        self.cluster = SimCluster(seed, SETTINGS)
        self.register = Register()
        self.ledger = Ledger()
        self.ids: dict[TopicPartition, Any] = {}
        self.names: dict[tuple[Any, int], TopicPartition] = {}
        self.cluster.start()
        self.begin()
        self.workers = [Worker(self, number) for number in range(MEMBERS)]
        self.feeders: list[Producer | Feeder] = [Feeder(self) for _ in range(3)]
        self.feeders += [Transfer(self.cluster, self.ledger, f"bank-{n}", tv2=n % 2 == 0) for n in range(3)]
        for client in (*self.workers, *self.feeders):
            client.faults = self.faults
        self.tasks = [self.cluster.loop.create_task(client.run()) for client in (*self.workers, *self.feeders)]

    def begin(self) -> None:
        """The topics, and what the group coordinator does when a first member joins."""
        broker = self.cluster.broker
        assert broker is not None
        for name in (BANK, PLAIN):
            topic = broker.logs.create_topic(name, PARTITIONS, {"internal.segment.bytes": "20000"})
            for partition in range(PARTITIONS):
                where = TopicPartition(name, partition)
                self.ids[where] = topic.topic_id
                self.names[topic.topic_id, partition] = where
                broker.context.persister.initialize(SharePartitionKey(GROUP_ID, topic.topic_id, partition), 1, -1)
        self.configure()
        self.cluster.run(0.5)

    def configure(self) -> None:
        broker = self.cluster.broker
        assert broker is not None
        own = {"share.auto.offset.reset": "earliest", "share.isolation.level": "read_committed" if self.committed else "read_uncommitted"}
        broker.context.groups.overrides = lambda _group_id: own

    def log(self, where: TopicPartition) -> Log:
        assert self.cluster.broker is not None
        log = self.cluster.broker.logs.log(where)
        assert log is not None
        return log

    # -- what is looked at

    def fetched(self, host: ShareHost, fetched: Fetched | E) -> None:
        """In the broker, when it is decided."""
        if not isinstance(fetched, Fetched) or not fetched.acquired:
            return
        log = host.log
        isolation = IsolationLevel.READ_COMMITTED if self.committed else IsolationLevel.READ_UNCOMMITTED
        assert fetched.acquired[-1].last < log.readable_end(isolation), f"{log}: {fetched.acquired} is beyond what may be read"
        self.register.acquired(log.topic_partition, fetched)

    def seen(self, where: TopicPartition, value: bytes) -> None:
        """In a member."""
        if self.committed and where.topic == BANK:
            number = int(value.split()[0])
            assert self.ledger.outcome[number] is not False, f"{where}: {value!r} was aborted"

    # -- faults

    def live(self) -> None:
        """One life of the broker."""
        cluster, chance = self.cluster, self.chance
        died = not cluster.run(chance.random() * LIFE_SECONDS)
        if chance.random() < self.jumps:
            cluster.clock.jump(chance.choice((-2_000, -100, 100, 3_000, 20_000)))
        if not died and chance.random() < 0.8:
            cluster.fs.die(chance.randrange(1, 60))
            cluster.run(1.0)
        cluster.bury(power_cut=chance.random() < self.power_cuts)
        self.register.deliveries.clear()
        cluster.run(chance.random() * 0.3)
        cluster.fs.die(None)
        cluster.restart()
        self.configure()
        self.check_tasks()

    def check_tasks(self) -> None:
        for task in self.tasks:
            if task.done():
                task.result()

    def drain(self) -> None:
        """Faults stop; everything that may still be had is accepted."""
        for client in self.feeders:
            client.faults = 0.0
            client.running = False
        for worker in self.workers:
            worker.faults = 0.0
            worker.draining = True
        assert self.cluster.run(DRAIN_SECONDS)
        for worker in self.workers:
            worker.running = False
        assert self.cluster.run(5.0)
        for task in self.tasks:
            assert task.done(), "stuck"
            task.result()

    def check_end(self) -> None:
        assert self.cluster.errors == []
        register = self.register
        for where in self.ids:
            log = self.log(where)
            values = committed_records(log) if self.committed else [(n, b"") for n in range(log.log_start_offset, log.high_watermark)]
            for number, _ in values:
                offset = where, number
                done = offset in register.over or offset in register.perhaps_over or register.most.get(offset) == LIMIT
                assert done, f"{offset} is lost: delivered {register.most.get(offset)} times"
        archived = sum(count == LIMIT for count in register.most.values())
        register.counts["at the limit"] = archived


def lead(seed: int) -> Counter[str]:
    """Live through a seed; what happened. Raises AssertionError for anything that must not."""
    fetch = ShareHost.fetch
    worlds: list[ShareWorld] = []

    def watched(host: ShareHost, wanted: Wanted, max_bytes: int, in_memory: int) -> Fetched | E:
        fetched = fetch(host, wanted, max_bytes, in_memory)
        worlds[0].fetched(host, fetched)
        return fetched

    with patch.object(ShareHost, "fetch", watched):
        world = ShareWorld(seed)
        worlds.append(world)
        try:
            for _ in range(LIVES):
                world.live()
            world.drain()
            world.check_end()
        finally:
            world.cluster.close()
    counts = world.register.counts
    counts["deaths"] = world.cluster.deaths
    counts["under faults"] = sum(client.struck for client in world.workers)
    return counts
