"""A laboratory: the same crashing worker three times, as at-most-once, at-least-once and exactly-once.

    python -m oncelog.spark_jobs.examples.delivery_semantics [--bootstrap-servers HOST:PORT] [--crashes 5] [--seed 1]

The worker copies records in batches. What differs is only *when* it commits its input offsets: before it writes, after it wrote, or in the
same transaction. It crashes between the two. Prints lost and repeated records for each.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Sequence
from typing import Any

from oncelog.spark_jobs.demo_parts.readback import Times, count_rows, read_all
from oncelog.spark_jobs.examples import common
from oncelog.spark_jobs.examples.consume_transform_produce import CrashError, next_batch, used_up

RECORDS = 4000
Step = Callable[[Any, Any, list[Any], str, bool], None]


def at_most_once(producer: Any, consumer: Any, messages: list[Any], target: str, crash: bool) -> None:
    """Commit, then write."""
    consumer.commit(asynchronous=False)
    if crash:
        raise CrashError
    copy(producer, messages, target)


def at_least_once(producer: Any, consumer: Any, messages: list[Any], target: str, crash: bool) -> None:
    """Write, then commit."""
    copy(producer, messages, target)
    if crash:
        raise CrashError
    consumer.commit(asynchronous=False)


def exactly_once(producer: Any, consumer: Any, messages: list[Any], target: str, crash: bool) -> None:
    """Write and commit in one transaction."""
    producer.begin_transaction()
    copy(producer, messages, target)
    if crash:
        raise CrashError
    producer.send_offsets_to_transaction(consumer.position(consumer.assignment()), consumer.consumer_group_metadata(), 30)
    producer.commit_transaction(30)


def copy(producer: Any, messages: list[Any], target: str) -> None:
    """Write records as they are and wait for them."""
    for message in messages:
        producer.produce(target, message.value(), message.key())
    producer.flush()


def work(bootstrap: str, source: str, target: str, step: Step, crash_in: int) -> None:
    """One worker; it crashes in its batch number `crash_in`, or never if that is 0."""
    transactional = {"transactional_id": target, "transaction_timeout_ms": 10_000} if step is exactly_once else {}
    producer = common.producer(bootstrap, **transactional)
    if transactional:
        producer.init_transactions(30)
    consumer = common.consumer(bootstrap, target, [source])
    try:
        number = 0
        while (messages := next_batch(consumer)) or not used_up(consumer, source):
            if messages:
                number += 1
                step(producer, consumer, messages, target, number == crash_in)
    finally:
        consumer.close()


def experiment(bootstrap: str, source: str, step: Step, crashes: int, seed: int) -> Times:
    """Let workers crash `crashes` times, then one finish; what arrived."""
    target = common.new_topic(bootstrap, step.__name__.replace("_", "-"))
    dice = random.Random(seed)
    for life in range(crashes + 1):
        try:
            work(bootstrap, source, target, step, dice.randint(1, 3) if life < crashes else 0)
            break
        except CrashError:
            continue
    return count_rows((int(message.value or b"-1") for message in read_all(bootstrap, target)), RECORDS)


def main(argv: Sequence[str] | None = None) -> int:
    """Command line; see the text at the top of this file."""
    parser = common.parser("delivery_semantics", __doc__)
    parser.add_argument("--crashes", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(argv)
    with common.kafka(options.bootstrap_servers) as bootstrap:
        source = common.new_topic(bootstrap, "numbers")
        common.send_all(common.producer(bootstrap), source, [(str(number), str(number)) for number in range(RECORDS)])
        steps: tuple[Step, ...] = (at_most_once, at_least_once, exactly_once)
        found = {step.__name__: experiment(bootstrap, source, step, options.crashes, options.seed) for step in steps}
    print(f"{'':<16}{'arrived':>10}{'lost':>10}{'repeated':>10}    records={RECORDS} crashes={options.crashes}")
    for name, times in found.items():
        print(f"{name:<16}{times.rows:>10,}{times.missing:>10,}{times.extra:>10,}")
    right = not found["at_most_once"].extra and not found["at_least_once"].missing and found["exactly_once"].exactly_once
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
