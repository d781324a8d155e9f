"""Groups whose members all join at once."""

from __future__ import annotations

from functools import partial

from oncelog.protocol import messages

from tests.bench import load
from tests.bench.members import TOPIC, ConsumerMember, Member, groups
from tests.bench.stage import Outcome, Row, Stage

SECTION = "Groups"
COUNT, SIZE = 100, 4


def join(stage: Stage, kind: type[Member]) -> Outcome:
    """All of them, until every group is stable; the broker has had a group before."""
    port = stage.server.port
    load.create_topic(port, TOPIC, SIZE)
    load.exchange(port, load.frame(10, 3, messages.FindCoordinatorRequest(key="g", key_type=0)))
    with groups(port, kind, 1, SIZE) as warm:
        warm.connect()
        warm.join()
    with groups(port, kind, COUNT, SIZE) as made:
        made.connect()
        with stage.window():
            seconds = made.join()
    return Outcome(seconds * 1000, COUNT * SIZE)


ROWS = [
    Row(f"join-{name}", f"{COUNT} groups of {SIZE} join, {title}", "ms", partial(join, kind=kind), per="member", better="less")
    for name, title, kind in (("classic", "classic protocol", Member), ("consumer", "consumer protocol (KIP-848)", ConsumerMember))
]
