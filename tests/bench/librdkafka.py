"""Load from stock librdkafka clients, in a process of their own.

    python tests/bench/librdkafka.py transactions BOOTSTRAP TOPIC WARM_SECONDS SECONDS PRODUCERS
    python tests/bench/librdkafka.py copy BOOTSTRAP TOPIC WARM_SECONDS SECONDS RECORDS
    python tests/bench/librdkafka.py bulk BOOTSTRAP TOPIC WARM_SECONDS SECONDS COMMIT_MS

`copy` consumes TOPIC and produces to `TOPIC-copy`, RECORDS in each transaction; `bulk` sends 1 KB records as fast as it can, outside of
transactions when COMMIT_MS is 0. Prints `begin`, and at the end: how many, seconds, p50 and p99 of one in microseconds.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from confluent_kafka import Consumer, Producer

TIMEOUT = 60
KILOBYTE = b"x" * 1000


class Counter:
    """What one thread did: `count` units, and how long each took since `begin` was set."""

    def __init__(self) -> None:
        self.count = 0
        self.times: list[float] = []

    def done(self, began: float, units: int = 1) -> None:
        self.times.append(time.perf_counter() - began)
        self.count += units


def producer(bootstrap: str, transactional_id: str | None = None, **more: Any) -> Any:
    settings = {"bootstrap.servers": bootstrap, "linger.ms": 0, "log_level": 3, **more}
    if transactional_id is None:
        return Producer({**settings, "acks": "all"})
    made = Producer({**settings, "transactional.id": transactional_id})
    made.init_transactions(TIMEOUT)
    return made


def transactions(bootstrap: str, topic: str, producers: int) -> list[Callable[[Counter], None]]:
    """One record a transaction, each producer on a partition of its own."""

    def once(sender: Any, partition: int, counter: Counter) -> None:
        began = time.perf_counter()
        sender.begin_transaction()
        sender.produce(topic, KILOBYTE[:100], partition=partition)
        sender.commit_transaction(TIMEOUT)
        counter.done(began)

    return [partial(once, producer(bootstrap, f"bench-{number}"), number) for number in range(producers)]


def copy(bootstrap: str, topic: str, records: int) -> list[Callable[[Counter], None]]:
    """Consume, transform, produce."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "bench-copy",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "fetch.queue.backoff.ms": 10,  # its default stops a consumer for a second whenever its queue is full
            "log_level": 3,
        }
    )
    consumer.subscribe([topic])
    sender = producer(bootstrap, "bench-copy")

    def once(counter: Counter) -> None:
        began = time.perf_counter()
        taken = consumer.consume(records, TIMEOUT)
        if len(taken) < records or any(message.error() for message in taken):
            raise RuntimeError(f"{len(taken)} records came, {[str(one.error()) for one in taken if one.error()][:1]}")
        sender.begin_transaction()
        for message in taken:
            sender.produce(f"{topic}-copy", message.value().upper(), partition=0)
        sender.send_offsets_to_transaction(consumer.position(consumer.assignment()), consumer.consumer_group_metadata(), TIMEOUT)
        sender.commit_transaction(TIMEOUT)
        counter.done(began)

    return [once]


def bulk(bootstrap: str, topic: str, commit_ms: int) -> list[Callable[[Counter], None]]:
    """1 KB records on one partition, idempotent either way; counted when they are delivered."""
    more = {"linger.ms": 5, "batch.size": 1_000_000, "queue.buffering.max.messages": 50_000, "delivery.report.only.error": True}
    if commit_ms:
        sender = producer(bootstrap, "bench-bulk", **more)
    else:
        sender = producer(bootstrap, **more, **{"enable.idempotence": True})

    def until(end: float) -> int:
        sent = 0
        while time.perf_counter() < end:
            try:
                for _ in range(100):
                    sender.produce(topic, KILOBYTE, partition=0)
                    sent += 1
            except BufferError:
                sender.poll(0.01)
        return sent

    def once(counter: Counter) -> None:
        began, waiting = time.perf_counter(), len(sender)
        if commit_ms:
            sender.begin_transaction()
        sent = until(began + (commit_ms or 100) / 1000)
        if commit_ms:
            sender.commit_transaction(TIMEOUT)
        counter.done(began, sent + waiting - len(sender))

    return [once]


MODES = {"transactions": transactions, "copy": copy, "bulk": bulk}


def main(mode: str, bootstrap: str, topic: str, warm_seconds: float, seconds: float, argument: int) -> int:
    works = MODES[mode](bootstrap, topic, argument)
    counters = [Counter() for _ in works]
    ended = threading.Event()
    failed: list[BaseException] = []

    def again_and_again(work: Callable[[Counter], None], counter: Counter) -> None:
        try:
            while not ended.is_set():
                work(counter)
        except BaseException as error:
            failed.append(error)
            ended.set()

    threads = [threading.Thread(target=again_and_again, args=pair, daemon=True) for pair in zip(works, counters, strict=True)]
    for thread in threads:
        thread.start()
    while not ended.is_set() and not all(one.times for one in counters):
        ended.wait(0.01)  # the first one joins groups and finds coordinators
    ended.wait(warm_seconds)
    before = [(one.count, len(one.times)) for one in counters]
    begin = time.perf_counter()
    print("begin", flush=True)
    ended.wait(seconds)
    taken = time.perf_counter() - begin
    count = sum(one.count - was for one, (was, _) in zip(counters, before, strict=True))
    times = sorted(each for one, (_, was) in zip(counters, before, strict=True) for each in one.times[was:])
    ended.set()
    for thread in threads:
        thread.join(TIMEOUT)
    if failed:
        raise failed[0]
    if not times:
        raise RuntimeError("nothing was done in time")
    p50, p99 = (times[int(len(times) * share)] * 1e6 for share in (0.5, 0.99))
    print(count, f"{taken:.6f} {p50:.0f} {p99:.0f}", flush=True)
    return 0


if __name__ == "__main__":
    name, address, where, warm, measured, number = sys.argv[1:]
    sys.exit(main(name, address, where, float(warm), float(measured), int(number)))
