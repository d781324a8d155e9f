"""Share groups as `oncelog group` shows and moves them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from oncelog.broker.commands import group
from oncelog.broker.commands.client.cluster import Cluster
from oncelog.broker.commands.client.share_groups import share_group
from oncelog.coordinator.share.persister import SharePartitionKey, StateBatch
from support.group_requests import consumer_member
from support.scripted_broker import run
from support.served_broker import ServedBroker
from support.share_groups import share_beat, share_member

pytestmark = pytest.mark.unit


def told(served: ServedBroker, capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    capsys.readouterr()
    assert run(group.app, *arguments, "--format", "json", broker=served) == 0
    return json.loads(capsys.readouterr().out)


@pytest.fixture
def reading(served: ServedBroker) -> ServedBroker:
    """Ten records in partition 0 of t, of which the first two were deleted and three more accepted; nobody has read partition 1."""
    for _ in range(10):
        served.whole.append("t", b"v")
    served.whole.log("t").advance_log_start(2)
    share_member(served.whole)
    persister, key = served.whole.context.persister, SharePartitionKey("g", served.whole.topic_id("t"), 0)
    persister.write(key, 2, 0, 2, 3, [StateBatch(2, 4, 2, 1)])
    served.whole.settle()
    return served


def test_where_it_begins_and_what_is_left(reading: ServedBroker, capsys: pytest.CaptureFixture[str]) -> None:
    assert told(reading, capsys, "list")[0] == {"group": "g", "type": "share", "state": "Stable", "protocol": "share"}
    (shown,) = told(reading, capsys, "describe", "g")
    assert (shown["group"], shown["state"]) == ("g", "Stable")
    assert shown["offsets"] == [
        {"topic": "t", "partition": 0, "start": 2, "end": 10, "lag": 5, "member": "m"},
        {"topic": "t", "partition": 1, "start": None, "end": 0, "lag": None, "member": "m"},
    ]
    assert shown["members"] == [{"member": "m", "client_id": "client", "host": "/10.0.0.1", "partitions": ["t-0", "t-1"]}]
    assert run(group.app, "describe", "g", broker=reading) == 0
    assert "start" in capsys.readouterr().out


def test_its_beginning_is_moved_when_nobody_is_in_it(reading: ServedBroker, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(group.app, "reset-offsets", "g", "--to-earliest", "--execute", broker=reading) != 0
    assert "group g has members: stop them first" in capsys.readouterr().err
    share_beat(reading.whole, "m", -1)
    rows = told(reading, capsys, "reset-offsets", "g", "--topic", "t:0", "--to-offset", "7", "--execute")
    assert rows == [{"topic": "t", "partition": 0, "committed": 2, "new": 7}]
    (shown,) = told(reading, capsys, "describe", "g")
    assert [(row["partition"], row["start"], row["lag"]) for row in shown["offsets"]] == [(0, 7, 3), (1, None, None)]
    assert told(reading, capsys, "reset-offsets", "g", "--shift-by", "-1")[0]["new"] == 6


def test_it_is_deleted(reading: ServedBroker, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(group.app, "delete", "g", broker=reading) != 0
    share_beat(reading.whole, "m", -1)
    told(reading, capsys, "delete", "g")
    assert told(reading, capsys, "list") == []


def test_several_members_have_one_partition(served: ServedBroker) -> None:
    for member in "mno":
        share_member(served.whole, member)
    for member in "mno":
        share_beat(served.whole, member, served.whole.context.groups.share.find("g").members[member].epoch)  # type: ignore[union-attr]
    with Cluster(f"127.0.0.1:{served.port}") as cluster:
        found = share_group(cluster, "g")
    assert found is not None
    assert found.partitions() == [("t", 0), ("t", 1)]
    owners = [row["member"] for row in found.rows({("t", 0): 0, ("t", 1): 0})]
    assert all(len(owner.split(", ")) == 2 for owner in owners)


def test_groups_of_other_kinds(served: ServedBroker) -> None:
    consumer_member(served.whole, "consumers")
    with Cluster(f"127.0.0.1:{served.port}") as cluster:
        assert share_group(cluster, "consumers") is None
        assert share_group(cluster, "none") is None
