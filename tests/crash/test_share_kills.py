"""A share session over a real process that dies before the Nth write, sync or rename, or at any moment, and goes on with the next one.

Every change of the disk in turn, without processes: `sim/test_share_kills.py`.
"""

from __future__ import annotations

import itertools
import random
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.killing import KillingBroker
from support.share_facts import ACCEPT, LEAVE, Facts
from support.share_wire import ShareClient, World

pytestmark = pytest.mark.timeout(0)
SLICE = 3
RECORDS = 60
CHANGES = 40  # about so many there are in a session


class Member:
    """A share session; ConnectionError when the broker is gone."""

    def __init__(self, client: ShareClient, facts: Facts) -> None:
        self.client, self.facts = client, facts

    def work(self) -> None:
        """Until nothing comes any more."""
        idle = 0
        for turn in itertools.count():
            acks = {record: what or ACCEPT for record in self.facts.holds if (what := self.facts.plan(record)) != LEAVE or turn % 7 > 3}
            batches = [(offset, offset, [what]) for (_, offset), what in sorted(acks.items())]
            for record, what in acks.items():
                self.facts.asked(record, what)
            if batches and turn % 2:
                assert self.asked(self.client.acknowledge, *batches) == 0
                batches = []
                self.told(acks)
            answer = self.asked(self.client.fetch, *batches, max_wait_ms=20, max_records=5, batch_size=5)
            assert answer.error_code == 0, answer
            if batches:
                assert not [each for topic in answer.responses for each in topic.partitions if each.acknowledge_error_code], answer
                self.told(acks)
            found = self.take(answer)
            idle = 0 if found or self.facts.holds else idle + 1
            if idle > 2:
                return

    def told(self, acks: dict[tuple[int, int], int]) -> None:
        for record, what in acks.items():
            self.facts.told(record, what)

    def take(self, answer: Any) -> int:
        found = 0
        for each in (each for topic in answer.responses for each in topic.partitions):
            for acquired in each.acquired_records:
                for offset in range(acquired.first_offset, acquired.last_offset + 1):
                    self.facts.delivered((0, offset), acquired.delivery_count)
                    found += 1
        return found

    def asked(self, call: Callable[..., Any], *args: Any, **fields: Any) -> Any:
        try:
            return call(*args, **fields)
        except AssertionError as error:
            if "connection closed" in str(error):
                raise ConnectionError from error
            raise


def test_at_any_change_of_the_disk_and_at_any_moment(tmp_path: Path, runs: int | None, seed: int, tell: Callable[[str], None]) -> None:
    died = 0
    overrides = {"share.coordinator.snapshot.update.records.per.snapshot": "3"}
    with KillingBroker(tmp_path / "data", overrides) as broker:
        world = World(broker.bootstrap)
        topic = world.topic()
        world.produce(*[3] * (RECORDS // 3))
        for number in range(seed, seed + (runs or SLICE)):
            died += session(broker, world, topic, number)
        world.close()
    tell(f"{died} of {runs or SLICE} sessions lost their broker: nothing finished came again, nothing was lost, no count fell")
    assert died or runs is None  # of few, none may have met its moment


def session(broker: KillingBroker, world: World, topic: uuid.UUID, number: int) -> bool:
    """Did the broker die on the way? The group is a new one each time."""
    chance, facts = random.Random(number), Facts()
    group = world.group(f"g-{number}", topic)
    how = broker.doom(chance, range(1, CHANGES), 0.1)
    try:
        Member(world.member(group, topic), facts).work()
    except OSError:
        facts.holds.clear()
    died = not broker.running
    broker.revive()
    world.moved(broker.bootstrap)
    try:
        facts.holds.clear()
        Member(world.member(group, topic), facts).work()
        lost = [offset for offset in range(RECORDS) if (0, offset) not in facts.finished and (0, offset) not in facts.unsure]
        assert not lost, f"lost: {lost}"
    except AssertionError as error:
        raise AssertionError(f"seed {number}, killed {how}: {error}") from error
    return died
