"""Case T18: which partitions an instance can be asked for."""

from __future__ import annotations

from oncelog.coordinator.groups.streams.endpoints import by_endpoint
from oncelog.coordinator.groups.streams.tasks import HeldTasks
from oncelog.coordinator.groups.streams.topology import fit
from oncelog.protocol.internal.streams_groups import Endpoint
from oncelog.protocol.internal.streams_topology import Subtopology, TopicInfo
from support.streams_group import group_of, member, tasks, topology

COUNTS = {"a": 3, "b": 1, "r": 3}
APPLICATION = topology(
    Subtopology("0", ("b", "a"), repartition_source_topics=(TopicInfo("r"),)),
    Subtopology("1", ("a",), repartition_sink_topics=("r",)),
)


def test_source_and_repartition_topics_of_active_and_standby_tasks() -> None:
    asked = member("x", user_endpoint=Endpoint("h", 1), assigned=HeldTasks({"0": {2: 5, 0: 5}}, tasks(1, of="1")))
    found = by_endpoint(group_of(asked, member("y")), fit(APPLICATION, COUNTS.get), COUNTS.get)
    assert found == ((Endpoint("h", 1), (("a", (0, 2)), ("b", (0,)), ("r", (0, 2))), (("a", (1,)),)),)


def test_nothing_while_topics_do_not_fit() -> None:
    asked = member("x", user_endpoint=Endpoint("h", 1), assigned=HeldTasks({"0": {0: 5}}))
    assert by_endpoint(group_of(asked), fit(APPLICATION, {}.get), {}.get) == ((Endpoint("h", 1), (), ()),)
