"""What a user would type instead of pressing a button."""

from __future__ import annotations

import shlex

from oncelog.protocol.names import TopicPartition


def kafka_transactions_abort(bootstrap: str, place: TopicPartition, first_offset: int) -> str:
    """The line of Kafka's own tool, safe to paste."""
    words = ("kafka-transactions.sh", "--bootstrap-server", bootstrap, "abort")
    what = ("--topic", place.topic, "--partition", str(place.partition), "--start-offset", str(first_offset))
    return shlex.join((*words, *what))
