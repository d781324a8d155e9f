"""A broker that nobody asks for anything: CPU and memory."""

from __future__ import annotations

import time
from functools import partial

from tests.bench import load
from tests.bench.stage import MIB, Outcome, Row, Stage

SECTION = "At rest"
PARTITIONS_A_TOPIC = 1_000


def idle_cpu(stage: Stage, partitions: int) -> Outcome:
    """Percent of one core."""
    _make(stage, partitions)
    with stage.window():
        time.sleep(stage.seconds)
    assert stage.taken is not None
    return Outcome(stage.taken.broker_cpu / stage.taken.seconds * 100)


def memory(stage: Stage, partitions: int) -> Outcome:
    """Resident, after a few requests."""
    with stage.window():
        _make(stage, partitions)
        load.exchange(stage.server.port, load.metadata_frame(None))
        value = stage.server.resident_bytes() / MIB
    return Outcome(value)


def _make(stage: Stage, partitions: int) -> None:
    if partitions == 0:
        load.create_topic(stage.server.port, "rest")
    for number in range(partitions // PARTITIONS_A_TOPIC):
        load.create_topic(stage.server.port, f"rest-{number}", PARTITIONS_A_TOPIC)
    time.sleep(stage.warm_seconds)


ROWS = [
    Row(f"{name}{'-6000' if partitions else ''}", f"{title}{', 6,000 partitions' if partitions else ''}", unit, work, better="less")
    for partitions in (0, 6_000)
    for name, title, unit, work in (
        ("idle-cpu", "idle CPU", "% of a core", partial(idle_cpu, partitions=partitions)),
        ("memory", "memory", "MiB", partial(memory, partitions=partitions)),
    )
]
