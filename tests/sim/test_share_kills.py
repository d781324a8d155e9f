"""A share session whose broker dies before every change of its disk, killed or by power cut, and goes on with the next one.

What was told accepted or rejected is never delivered again, nothing is lost, and the count of a record never falls behind what was told.
"""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from typing import Any

import pytest
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.records import build_batch
from support.share_facts import ACCEPT, LEAVE, RELEASE, Facts, Record
from support.simbroker import ConnectionLost, SimClient, SimCluster

GROUP_RESOURCE = 32
TOPIC, GROUP = "orders", "workers"
PARTITIONS, BATCHES, BATCH_RECORDS = 2, 20, 3
SETTINGS = {"share.coordinator.state.topic.num.partitions": "2", "share.coordinator.snapshot.update.records.per.snapshot": "3"}
STRIDE = 11  # of the deaths, for a run that is not the long one
BUSY = (6, 14, 15, 16)

pytestmark = pytest.mark.usefixtures("quiet")


class Member:
    """One share session at a time."""

    def __init__(self, cluster: SimCluster, facts: Facts, topic_id: Any, name: str) -> None:
        self.client = SimClient(cluster, random.Random(name), repeats=False)
        self.facts, self.topic_id, self.name = facts, topic_id, name
        self.epoch = 0

    async def fetch(self, acks: dict[Record, int]) -> int:
        """How many records came; `acks` go along."""
        kind = messages.ShareFetchRequest.FetchTopic
        partition = kind.FetchPartition
        named = range(PARTITIONS) if self.epoch == 0 else {number for number, _ in acks}
        topics = [partition(partition_index=n, acknowledgement_batches=batches(partition.AcknowledgementBatch, n, acks)) for n in named]
        self.ask(acks)
        answer = await self.client.call(
            ApiKey.SHARE_FETCH,
            2,
            {
                "group_id": GROUP, "member_id": self.name, "share_session_epoch": self.epoch, "max_wait_ms": 20, "min_bytes": 1,
                "max_bytes": 1 << 20, "max_records": 5, "batch_size": 5, "share_acquire_mode": 0, "is_renew_ack": False,
                "topics": [kind(topic_id=self.topic_id, partitions=topics)] if topics else [], "forgotten_topics_data": [],
            },
        )  # fmt: skip
        assert answer.error_code == 0, answer
        self.epoch += 1
        codes = {each.partition_index: each.acknowledge_error_code for topic in answer.responses for each in topic.partitions}
        self.answered(acks, codes)
        return self.take(answer)

    def take(self, answer: Any) -> int:
        found = 0
        for each in (each for topic in answer.responses for each in topic.partitions):
            assert each.error_code in (0, *BUSY), answer
            for acquired in each.acquired_records:
                for offset in range(acquired.first_offset, acquired.last_offset + 1):
                    self.facts.delivered((each.partition_index, offset), acquired.delivery_count)
                    found += 1
        return found

    async def acknowledge(self, acks: dict[Record, int]) -> None:
        kind = messages.ShareAcknowledgeRequest.AcknowledgeTopic
        partition = kind.AcknowledgePartition
        named = sorted({number for number, _ in acks})
        partitions = [partition(partition_index=n, acknowledgement_batches=batches(partition.AcknowledgementBatch, n, acks)) for n in named]
        self.ask(acks)
        answer = await self.client.call(
            ApiKey.SHARE_ACKNOWLEDGE,
            2,
            {
                "group_id": GROUP, "member_id": self.name, "share_session_epoch": self.epoch, "is_renew_ack": False,
                "topics": [kind(topic_id=self.topic_id, partitions=partitions)],
            },
        )  # fmt: skip
        assert answer.error_code == 0, answer
        self.epoch += 1
        self.answered(acks, {each.partition_index: each.error_code for topic in answer.responses for each in topic.partitions})

    async def leave(self) -> None:
        """Close the session: what it holds is released."""
        asked = {"group_id": GROUP, "member_id": self.name, "share_session_epoch": -1, "topics": [], "is_renew_ack": False}
        answer = await self.client.call(ApiKey.SHARE_ACKNOWLEDGE, 2, asked)
        assert answer.error_code == 0, answer
        for record in list(self.facts.holds):
            self.facts.told(record, RELEASE)

    def ask(self, acks: dict[Record, int]) -> None:
        for record, what in acks.items():
            self.facts.asked(record, what)

    def answered(self, acks: dict[Record, int], codes: dict[int, int]) -> None:
        assert set(codes.values()) <= {0}, codes
        for record, what in acks.items():
            self.facts.told(record, what)

    async def work(self, *, pauses: bool) -> None:
        """Until nothing comes any more. `pauses`: leaves twice on the way, with records in its hands."""
        idle = 0
        for turn in itertools.count():
            planned = {record: self.facts.plan(record) for record in self.facts.holds}
            acks = {record: what for record, what in planned.items() if what != LEAVE or not pauses or turn % 7 > 3}
            acks = {record: what or ACCEPT for record, what in acks.items()}
            if acks and turn % 2:
                await self.acknowledge(acks)
                acks = {}
            found = await self.fetch(acks)
            idle = 0 if found or self.facts.holds else idle + 1
            if idle > 2:
                return
            if pauses and turn in (2, 6):
                await self.leave()
                self.epoch = 0


def batches(kind: Any, partition: int, acks: dict[Record, int]) -> list[Any]:
    """Neighbours in one batch, with a type for each offset."""
    offsets = sorted(offset for number, offset in acks if number == partition)
    made: list[Any] = []
    for _, run in itertools.groupby(enumerate(offsets), key=lambda row: row[1] - row[0]):
        block = [offset for _, offset in run]
        made.append(kind(first_offset=block[0], last_offset=block[-1], acknowledge_types=[acks[partition, offset] for offset in block]))
    return made


async def joined_and_at_work(client: SimClient, member: Member) -> None:
    await joined(client)
    await member.work(pauses=True)


async def prepared(client: SimClient) -> Any:
    """A topic with records in it, and a group that may read it from the beginning; the topic's id."""
    topics = [{"name": TOPIC, "num_partitions": PARTITIONS, "replication_factor": 1, "assignments": [], "configs": []}]
    made = await client.call(ApiKey.CREATE_TOPICS, 7, {"topics": topics, "timeout_ms": 9_000, "validate_only": False})
    topic_id = made.topics[0].topic_id
    data = [{"index": n, "records": bytes(build_batch([(0, None, b"v")] * BATCH_RECORDS))} for n in range(PARTITIONS)]
    for _ in range(BATCHES):
        fields = {"transactional_id": None, "acks": -1, "timeout_ms": 9_000, "topic_data": [{"name": TOPIC, "partition_data": data}]}
        answer = await client.call(ApiKey.PRODUCE, 9, fields)
        assert not any(each.error_code for each in answer.responses[0].partition_responses)
    configs = [{"name": "share.auto.offset.reset", "config_operation": 0, "value": "earliest"}]
    resources = [{"resource_type": GROUP_RESOURCE, "resource_name": GROUP, "configs": configs}]
    await client.call(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, {"resources": resources, "validate_only": False})
    return topic_id


async def joined(client: SimClient) -> None:
    """Become a member, until everything is assigned."""
    epoch = 0
    while True:
        asked = {"group_id": GROUP, "member_id": "first", "member_epoch": epoch, "rack_id": None, "subscribed_topic_names": [TOPIC]}
        answer = await client.call(ApiKey.SHARE_GROUP_HEARTBEAT, 1, asked)
        assert answer.error_code in (0, *BUSY), answer
        epoch = max(answer.member_epoch, 0)
        if answer.assignment is not None and [each.partitions for each in answer.assignment.topic_partitions] == [[*range(PARTITIONS)]]:
            return
        await asyncio.sleep(0.5)


def lived(cluster: SimCluster, main: Coroutine[Any, Any, Any], *, power_cut: bool = False) -> tuple[bool, Any]:
    """Did the broker live until `main` was done? And what that gave."""
    task = cluster.loop.create_task(main)
    for _ in range(300):
        if not cluster.run(1.0):
            cluster.loop.call_soon(partial(cluster.bury, power_cut=power_cut))  # connections end within the loop
            cluster.run(1.0)
            break
        if task.done():
            return True, task.result()
    assert task.done(), "not done in time"
    assert isinstance(task.exception(), ConnectionLost), task.exception()
    return False, None


def everything() -> Iterator[Record]:
    return itertools.product(range(PARTITIONS), range(BATCHES * BATCH_RECORDS))


def died_at(nth: int, *, power_cut: bool) -> bool:
    """One history with a death before the nth change of the disk, if there are so many."""
    cluster, facts = SimCluster(nth, SETTINGS), Facts()
    cluster.start()
    try:
        _, topic_id = lived(cluster, prepared(SimClient(cluster, random.Random(0), repeats=False)))
        cluster.fs.die(nth)
        client = SimClient(cluster, random.Random(0), repeats=False)
        finished, _ = lived(cluster, joined_and_at_work(client, Member(cluster, facts, topic_id, "first")), power_cut=power_cut)
        cluster.fs.die(None)
        if not finished:
            facts.holds.clear()
            cluster.restart()
            lived(cluster, joined(SimClient(cluster, random.Random(0), repeats=False)))
            alive, _ = lived(cluster, Member(cluster, facts, topic_id, "second").work(pauses=False))
            assert alive
        for record in everything():
            assert record in facts.finished or record in facts.unsure, f"{record} is lost"
        cluster.bury(power_cut=True)
        cluster.restart()
        before = facts.deliveries.copy()
        facts.finished |= dict.fromkeys(facts.unsure, ACCEPT)
        lived(cluster, Member(cluster, facts, topic_id, "third").work(pauses=False))
        assert facts.deliveries == before
        assert not cluster.errors, cluster.errors
    finally:
        cluster.close()
    return not finished


@pytest.mark.parametrize("how", ["killed", "power cut"])
def test_at_every_change_of_the_disk(how: str, runs: int | None, seed: int, tell: Callable[[str], None]) -> None:
    """`runs`: all of them."""
    deaths = 0
    for nth in range(1 if runs else 1 + seed % STRIDE, 2000, 1 if runs else STRIDE):
        if not died_at(nth, power_cut=how == "power cut"):
            break
        deaths += 1
    tell(f"{deaths} deaths, {how}: nothing finished came again, nothing was lost, no count fell")
    assert deaths > (70 if runs else 5)
