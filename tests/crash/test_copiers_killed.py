"""Consume, transform, produce with a stock client, while clients and the broker are killed and the group rebalances: every record once."""

from __future__ import annotations

import random
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from oncelog.spark_jobs.demo_parts.patience import Patience
from support import copier
from support.process import BrokerProcess, wait_until

PARTITIONS = 4
COPIERS = 3
HUNG_SECONDS = 20.0
SLICE = 12
SESSION_MS = "1500"
SETTINGS = {"group.min.session.timeout.ms": "500", "group.initial.rebalance.delay.ms": "100"}


class Member:
    """One copier process under a transactional id of its own; started again when it leaves, killed when it hangs."""

    def __init__(self, broker: BrokerProcess, folder: Path, name: str) -> None:
        self.broker, self.name = broker, name
        self.turns = folder / f"{name}.turns"
        self.errors = folder / f"{name}.errors"
        self._process: subprocess.Popen[bytes] | None = None
        self._size, self._patience = 0, Patience(HUNG_SECONDS)

    def start(self) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        if self._process is not None:
            self._reaped()
        command = [sys.executable, copier.__file__, self.broker.bootstrap, "copiers", "in", "out", self.name, "classic", SESSION_MS]
        with self.turns.open("ab") as turns, self.errors.open("ab") as errors:
            self._process = subprocess.Popen(command, stdout=turns, stderr=errors, stdin=subprocess.PIPE)
        self._size, self._patience = 0, Patience(HUNG_SECONDS)

    def end(self, how: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            Patience(10).wait(self._process.wait)
            self._reaped()

    def _reaped(self) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process = None

    def tend(self, counts: Counter[str]) -> None:
        """See that it goes on. librdkafka may wait for ever when the broker dies while offsets are sent to a transaction."""
        if self._process is None:
            return
        status = self._process.poll()
        if status is not None:
            assert status == copier.TAKE_OVER, (status, self.errors.read_text()[-2000:])
            counts["took over"] += 1
            self.start()
            return
        size = self.turns.stat().st_size
        if size != self._size:
            self._size = size
            self._patience.restart()
        elif self._patience.over:
            self.end(signal.SIGABRT)  # it says where it was
            told = self.errors.read_text()
            where = re.findall(r"line \d+ in (\w+)", told[told.rindex("Current thread") :])
            counts["hung in " + " < ".join(where[:2])] += 1
            self.start()


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path / "data", SETTINGS) as process:
        yield process


@pytest.fixture
def members(broker: BrokerProcess, tmp_path: Path) -> Iterator[list[Member]]:
    made = [Member(broker, tmp_path, f"copier-{n}") for n in range(COPIERS)]
    yield made
    for member in made:
        member.end(signal.SIGKILL)


@pytest.mark.timeout(0)
def test_every_record_is_copied_once(
    broker: BrokerProcess, members: list[Member], runs: int | None, seed: int, capsys: pytest.CaptureFixture[str]
) -> None:
    chance = random.Random(seed)
    counts: Counter[str] = Counter()
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for made in admin.create_topics([NewTopic(topic, PARTITIONS, 1) for topic in ("in", "out")]).values():
        made.result(10)
    source = Producer({"bootstrap.servers": broker.bootstrap, "enable.idempotence": True, "linger.ms": 5})
    sent = 0
    for member in members:
        member.start()
    for _ in range(runs or SLICE):
        for _ in range(200):
            source.produce("in", b"%d" % sent, partition=sent % PARTITIONS)
            sent += 1
        source.flush(30)
        some = min(sent, committed_offsets(broker) + chance.randrange(1, 200))
        await_copies(broker, members, counts, some)
        disturb(broker, members, chance, counts)
    for member in members:
        member.start()

    await_copies(broker, members, counts, sent)
    assert committed_offsets(broker) == sent
    for member in members:
        member.end(signal.SIGTERM)
    values = read_committed(broker)
    assert Counter(values) == Counter(b"%d" % n for n in range(sent))
    with capsys.disabled():
        print(f"  seed={seed} records={sent} {dict(counts)} lost=0 doubled=0", flush=True)


def await_copies(broker: BrokerProcess, members: list[Member], counts: Counter[str], wanted: int) -> None:
    def copied() -> bool:
        for member in members:
            member.tend(counts)
        return committed_offsets(broker) >= wanted

    wait_until(copied, 120, f"{wanted} copies ({dict(counts)})")


def disturb(broker: BrokerProcess, members: list[Member], chance: random.Random, counts: Counter[str]) -> None:
    member = chance.choice(members)
    kind = chance.choice(("client killed", "broker killed", "both killed", "client left", "clients back"))
    counts[kind] += 1
    if kind in ("client killed", "both killed"):
        member.end(signal.SIGKILL)
    if kind in ("broker killed", "both killed"):
        broker.kill()
        broker.start()
    if kind == "client left":
        member.end(signal.SIGTERM)
    if kind in ("both killed", "clients back") or chance.random() < 0.5:
        for each in members:
            each.start()


def committed_offsets(broker: BrokerProcess) -> int:
    """The sum of the group's offsets; 0 while a transaction holds them back."""
    asker = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "copiers"})
    try:
        places = asker.committed([TopicPartition("in", n) for n in range(PARTITIONS)], 10)
    finally:
        asker.close()
    return 0 if any(place.error for place in places) else sum(max(place.offset, 0) for place in places)


def read_committed(broker: BrokerProcess) -> list[bytes]:
    """Everything that can be read, up to the end of every partition."""
    reader = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "check", "enable.partition.eof": True})
    reader.assign([TopicPartition("out", n, OFFSET_BEGINNING) for n in range(PARTITIONS)])
    found: list[bytes] = []
    ended: set[int] = set()
    patience = Patience(60)
    while len(ended) < PARTITIONS:
        assert not patience.over, "the last stable offset stands still"
        for message in reader.consume(1000, 0.5):
            if message.error() is not None:  # the end of a partition, the only one that may come
                ended.add(message.partition())
            else:
                found.append(message.value())
    reader.close()
    return found
