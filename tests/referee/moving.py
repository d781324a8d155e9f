"""The move of a data directory into a real Apache Kafka, step by step as `oncelog graduate` prints it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka.admin import AdminClient, NewTopic
from oncelog.broker.commands.graduate import graduate
from oncelog.protocol.names import CONSUMER_OFFSETS, TRANSACTION_STATE
from oncelog.storage.moving.graduate import Plan, check_target, plan
from referee.apache_kafka import ApacheKafka, free_ports, run_class

FAR = str(2**31 - 1)
# nothing may expire, be cleaned or be aborted while the test compares
FROZEN = {
    "log.retention.ms": "-1",
    "log.retention.check.interval.ms": FAR,
    "log.cleaner.backoff.ms": FAR,
    "offsets.retention.minutes": "10000000",
    "producer.id.expiration.ms": FAR,
    "transactional.id.expiration.ms": FAR,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": FAR,
    "auto.create.topics.enable": "false",
}


def wait_for(what: str, seconds: float = 30.0) -> Iterator[None]:
    deadline = time.monotonic() + seconds
    while True:
        yield
        assert time.monotonic() < deadline, f"waited {seconds} s for {what}"
        time.sleep(0.1)


def prepare(kafka: ApacheKafka, moving: Plan) -> None:
    """Steps 2 and 3 of what `oncelog graduate` prints."""
    admin = AdminClient({"bootstrap.servers": kafka.bootstrap})
    topics = [NewTopic(topic.name, topic.partitions, 1, config=topic.configs) for topic in moving.topics_to_make()]
    for future in admin.create_topics(topics).values():
        future.result()
    run_class(
        "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand", "--bootstrap-server", kafka.bootstrap, "--describe", "--group", "x"
    )
    run_class("org.apache.kafka.tools.TransactionsCommand", "--bootstrap-server", kafka.bootstrap, "describe", "--transactional-id", "x")
    for _ in wait_for("the internal topics"):
        if {CONSUMER_OFFSETS, TRANSACTION_STATE} <= admin.list_topics().topics.keys():
            return


@contextmanager
def moved_into_kafka(source: Path, folder: Path) -> Iterator[ApacheKafka]:
    """`source` inside a Kafka in `folder`, which runs."""
    moving = plan(source)
    options = {
        **FROZEN,
        "offsets.topic.num.partitions": str(moving.partitions_of(CONSUMER_OFFSETS)),
        "transaction.state.log.num.partitions": str(moving.partitions_of(TRANSACTION_STATE)),
    }
    with ApacheKafka(folder, free_ports(), options) as kafka:
        kafka.start()
        assert graduate(source, to=kafka.data) == 1  # refused: it runs
        prepare(kafka, moving)
        kafka.stop()
        assert check_target(moving, kafka.data) == []
        assert graduate(source, to=kafka.data) == 0
        kafka.start()
        yield kafka


def dump_problems(files: Iterable[Path], *options: str) -> list[str]:
    """What Kafka's own dump tool finds wrong in files of a cleanly stopped broker; it reads every one of them."""
    given = [str(file) for file in files]
    output = run_class("org.apache.kafka.tools.DumpLogSegments", *options, "--files", ",".join(given))
    unread = [file for file in given if f"Dumping {file}" not in output]
    wrong = ("isvalid: false", "ismatch", "Exception", "out of order timestamp", "Unable")
    return [*unread, *(line for line in output.splitlines() if any(word in line for word in wrong))]
