"""Streams groups as `oncelog group` shows them."""

from __future__ import annotations

import pytest
from oncelog.broker.commands.client.cluster import Cluster
from oncelog.broker.commands.client.streams_groups import streams_members
from oncelog.protocol.api_keys import ApiKey
from support.group_requests import consumer_member, streams_member
from support.served_broker import ServedBroker
from support.streams_client import info, part

pytestmark = pytest.mark.unit


def test_threads_tasks_and_what_these_read(served: ServedBroker) -> None:
    """Not every topic has a partition for each task; a repartition topic is read, too."""
    served.whole.logs.create_topic("u", 1)
    served.whole.logs.create_topic("r", 1)
    parts = (part("0", "t", "u", repartition_sink_topics=["r"]), part("1", repartition_source_topics=[info("r", 1)]))
    epoch = streams_member(served.whole, parts=parts).member_epoch
    served.whole.advance(3_000)
    served.whole.ask(ApiKey.STREAMS_GROUP_HEARTBEAT, 0, group_id="g", member_id="m1", member_epoch=epoch)
    with Cluster(f"127.0.0.1:{served.port}") as cluster:
        found = streams_members(cluster, "g")
    assert found is not None
    state, (member,) = found
    assert state == "Stable"
    assert member["tasks"] == ["0_0", "0_1", "1_0"]
    assert member["owned"] == [("r", 0), ("t", 0), ("t", 1), ("u", 0)]


def test_topics_that_are_missing(served: ServedBroker) -> None:
    streams_member(served.whole, parts=(part("0", "gone"),))
    with Cluster(f"127.0.0.1:{served.port}") as cluster:
        found = streams_members(cluster, "g")
    assert found is not None
    assert found[0] == "NotReady"
    assert [member["owned"] for member in found[1]] == [[]]


def test_groups_of_other_kinds(served: ServedBroker) -> None:
    consumer_member(served.whole, "consumers")
    with Cluster(f"127.0.0.1:{served.port}") as cluster:
        assert streams_members(cluster, "consumers") is None
        assert streams_members(cluster, "none") is None
