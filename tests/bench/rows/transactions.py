"""Transactions, of stock clients and of raw frames."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from tests.bench import clients, load, raw_transactions
from tests.bench.rows.small import ACKS_ALL, outcome
from tests.bench.stage import Outcome, Row, Stage, both

SECTION = "Transactions"
TOPIC = "transactions"
RECORDS = 100
MOST_COPIES_A_SECOND = 1_500  # the input lasts for as many
BATCH_RECORDS = 5_000


def minimal(stage: Stage, language: str, producers: int) -> Outcome:
    """Begin, one record, commit, again and again."""
    load.create_topic(stage.server.port, TOPIC, producers)
    return _by_client(stage, language, "transactions", producers)


def copy(stage: Stage, language: str) -> Outcome:
    """Consume, transform, produce, in transactions that carry the offsets."""
    port = stage.server.port
    load.create_topic(port, TOPIC)
    load.create_topic(port, f"{TOPIC}-copy")
    wanted = RECORDS * MOST_COPIES_A_SECOND * (stage.seconds + stage.warm_seconds)
    frame = load.produce_frame(TOPIC, range(1), load.batch(100, BATCH_RECORDS), ACKS_ALL)
    load.pump(port, (frame for _ in range(int(wanted / BATCH_RECORDS) + 1)), window=4)
    return _by_client(stage, language, "copy", RECORDS)


def raw(stage: Stage, producers: int) -> Outcome:
    """With how often a transaction was refused because the last one was not over."""
    port, warm_seconds, seconds = stage.server.port, stage.warm_seconds, stage.seconds
    load.create_topic(port, TOPIC)
    result, retries = raw_transactions.run(
        port, TOPIC, producers=producers, seconds=seconds, warm_seconds=warm_seconds, window=stage.window
    )
    found = outcome(result)
    return replace(found, more={**found.more, "refused each": retries / max(result.requests, 1)})


def _by_client(stage: Stage, language: str, mode: str, argument: int) -> Outcome:
    bootstrap, warm_seconds, seconds = stage.server.bootstrap, stage.warm_seconds, stage.seconds
    return outcome(clients.run(language, mode, bootstrap, TOPIC, argument, warm_seconds=warm_seconds, seconds=seconds, window=stage.window))


def _rows() -> list[Row]:
    rows: list[Row] = []
    for language in (clients.LIBRDKAFKA, clients.JAVA):
        for producers in (1, 10, 50):
            title = f"transactions of one record, {language}, {producers} producer{'s' * (producers > 1)}"
            work = partial(minimal, language=language, producers=producers)
            rows += both(f"txn-{language.lower()}-{producers}", title, "txn/s", work, per="transaction")
    rows += both(
        "txn-raw-10", "transactions of one record, raw frames, 10 connections", "txn/s", partial(raw, producers=10), per="transaction"
    )
    for language in (clients.LIBRDKAFKA, clients.JAVA):
        title = f"consume-transform-produce of {RECORDS} records, {language}"
        rows += both(f"copy-{language.lower()}", title, "txn/s", partial(copy, language=language), per="transaction")
    return rows


ROWS = _rows()
