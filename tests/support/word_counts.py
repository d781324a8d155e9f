"""The word counts of a Kafka Streams application (`clients/java/WordCounts.java`): instances, input, and what must come out."""

from __future__ import annotations

import itertools
import random
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic, OffsetSpec, ResourceType

from support.process import wait_until
from support.programs import Program

PARTITIONS = 4
WORDS = [f"word{n}" for n in range(12)]
AHEAD_LINES = 300
MINUTE_MS = 60_000


class Lines:
    """The input: lines of words, never more than AHEAD_LINES before the counts, and what must come out."""

    def __init__(self, bootstrap: str, name: str, seed: int) -> None:
        self.topic = f"{name}-lines"
        self.counts: Counter[str] = Counter()
        self.minutes: Counter[str] = Counter()
        self._random = random.Random(seed)
        self._numbers = itertools.count()
        self._start_ms = int(time.time() * 1000) // MINUTE_MS * MINUTE_MS
        self._producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True, "linger.ms": 5})

    def send(self) -> None:
        number = next(self._numbers)
        words = self._random.choices(WORDS, k=4)
        time_ms = self._start_ms + number * 300
        self.counts.update(words)
        self.minutes.update(f"{word}@{time_ms // MINUTE_MS * MINUTE_MS}" for word in words)
        self._producer.produce(self.topic, " ".join(words), key=str(number), timestamp=time_ms, on_delivery=_delivered)
        self._producer.poll(0)

    def flush(self) -> None:
        assert self._producer.flush(60) == 0


def _delivered(error: Any, _message: Any) -> None:
    assert error is None, error


class Updates:
    """What a topic with counts tells readers of committed data, by word, in order."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.seen: dict[str, list[int]] = defaultdict(list)
        self.number = 0
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": f"{topic}-reader",
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
            }
        )
        self._consumer.assign([TopicPartition(topic, n, 0) for n in range(PARTITIONS)])

    def poll(self, seconds: float) -> None:
        for message in self._consumer.consume(500, seconds):
            if message.error() is None:
                self.seen[message.key().decode(errors="replace")].append(int.from_bytes(message.value()[-8:], "big"))
                self.number += 1

    def until(self, number: int, what: str) -> None:
        """Read until so many came."""

        def enough() -> bool:
            self.poll(0.2)
            return self.number >= number

        wait_until(enough, 90, f"{number} updates {what} ({self.number} so far)")

    def close(self) -> None:
        self._consumer.close()


def told_once(expected: Counter[str]) -> dict[str, list[int]]:
    return {word: list(range(1, count + 1)) for word, count in expected.items()}


class Application:
    """The instances, the input and the output of one application."""

    def __init__(
        self, bootstrap: str, name: str, seed: int, command: Callable[..., list[str]], folder: Path, *options: str, instances: int = 2
    ) -> None:
        self.bootstrap, self.name, self.folder = bootstrap, name, folder
        self.admin = AdminClient({"bootstrap.servers": bootstrap})
        topics = [NewTopic(f"{name}-{kind}", PARTITIONS, 1) for kind in ("lines", "counts", "minutes")]
        for made in self.admin.create_topics(topics).values():
            made.result(20)
        self.lines = Lines(bootstrap, name, seed)
        self.updates = Updates(bootstrap, f"{name}-counts")
        self.instances = [Program(self._command(command, n, options), folder / f"instance-{n}.log") for n in range(instances)]

    def _command(self, command: Callable[..., list[str]], number: int, options: tuple[str, ...]) -> list[str]:
        state = str(self.folder / f"state-{number}")
        own = [option.replace("INSTANCE", f"instance-{number}") for option in options]
        return command("WordCounts", self.bootstrap, self.name, state, f"client.id=instance-{number}", *own)

    def advance(self, updates: int) -> None:
        """Feed and read until so many updates more came; then there is input on its way at every stage."""
        aim = self.updates.number + updates

        def enough() -> bool:
            while self.lines.counts.total() - self.updates.number < AHEAD_LINES * 4:
                self.lines.send()
            self.updates.poll(0.05)
            return self.updates.number >= aim

        wait_until(enough, 90, f"{aim} updates ({self.updates.number} so far)")

    def finish(self) -> None:
        """No more input: what is left is counted, and each word's updates came once and in order."""
        self.lines.flush()
        self.updates.until(self.lines.counts.total(), "in all")
        assert dict(self.updates.seen) == told_once(self.lines.counts)
        assert self.read("minutes", self.lines.minutes) == told_once(self.lines.minutes)
        assert self.read("counts-changelog", self.lines.counts) == told_once(self.lines.counts)

    def read(self, kind: str, expected: Counter[str]) -> dict[str, list[int]]:
        updates = Updates(self.bootstrap, f"{self.name}-{kind}")
        updates.until(expected.total(), f"in {kind}")
        updates.close()
        return dict(updates.seen)

    def ends(self, topic: str) -> list[int]:
        return self._offsets(topic, OffsetSpec.latest())

    def starts(self, topic: str) -> list[int]:
        return self._offsets(topic, OffsetSpec.earliest())

    def _offsets(self, topic: str, which: OffsetSpec) -> list[int]:
        asked = self.admin.list_offsets({TopicPartition(topic, n): which for n in range(PARTITIONS)})
        return [asked[TopicPartition(topic, n)].result(20).offset for n in range(PARTITIONS)]

    def committed(self, topic: str) -> list[int]:
        places = [TopicPartition(topic, n) for n in range(PARTITIONS)]
        found = self.admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(self.name, places)])
        return [place.offset for place in found[self.name].result(20).topic_partitions]

    def configs(self, topic: str) -> dict[str, str]:
        resource = ConfigResource(ResourceType.TOPIC, topic)
        described = self.admin.describe_configs([resource])[resource].result(20)
        return {key: entry.value for key, entry in described.items()}

    def warnings(self) -> list[str]:
        lines = "".join(instance.text() for instance in self.instances).splitlines()
        return [line for line in lines if " WARN " in line or " ERROR " in line]

    def __enter__(self) -> Application:
        for instance in self.instances:
            instance.start()
        return self

    def __exit__(self, *exc: object) -> None:
        for instance in self.instances:
            instance.__exit__(*exc)
        self.updates.close()
