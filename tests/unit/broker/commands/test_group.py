"""`oncelog group`: members, lag, and where a group's offsets are moved to."""

from __future__ import annotations

import json
from typing import Any

import pytest
from oncelog.broker.commands import group
from oncelog.protocol.api_keys import ApiKey
from support.group_requests import commit, consumer_member, stable, streams_member
from support.scripted_broker import run
from support.served_broker import ServedBroker

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def records(served: ServedBroker) -> None:
    """Ten in partition 0, of which the first two are deleted, and one in partition 1."""
    for _ in range(10):
        served.whole.append("t", b"v")
        served.whole.advance(1_000)
    served.whole.log("t").advance_log_start(2)
    served.whole.append("t", b"v", partition=1)


def told(served: ServedBroker, capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    capsys.readouterr()
    assert run(group.app, *arguments, "--format", "json", broker=served) == 0
    return json.loads(capsys.readouterr().out)


def offsets(rows: Any) -> dict[int, tuple[int | None, int]]:
    return {row["partition"]: (row["committed"], row["new"]) for row in rows}


def test_groups_are_listed(served: ServedBroker, capsys: pytest.CaptureFixture[str]) -> None:
    stable(served.whole, "classic")
    consumer_member(served.whole, "newer")
    commit(served.whole, "alone", 1)
    assert [tuple(row.values()) for row in told(served, capsys, "list")] == [
        ("alone", "classic", "Empty", None),
        ("classic", "classic", "Stable", "consumer"),
        ("newer", "consumer", "Stable", "consumer"),
    ]
    assert [row["group"] for row in told(served, capsys, "list", "--state", "empty")] == ["alone"]


def test_a_group_of_the_consumer_protocol(served: ServedBroker, capsys: pytest.CaptureFixture[str]) -> None:
    consumer_member(served.whole, "g")
    (found,) = told(served, capsys, "describe", "g")
    assert (found["group"], found["state"]) == ("g", "Stable")
    assert [(row["partition"], row["committed"], row["end"], row["lag"], row["member"]) for row in found["offsets"]] == [
        (0, None, 10, None, "m1"),
        (1, None, 1, None, "m1"),
    ]
    assert [(member["member"], member["partitions"]) for member in found["members"]] == [("m1", ["t-0", "t-1"])]


def test_a_streams_group(served: ServedBroker, capsys: pytest.CaptureFixture[str]) -> None:
    """Its threads, their tasks, and how far these are behind; deleted once nobody is in it."""
    epoch = streams_member(served.whole, "g").member_epoch
    served.whole.advance(3_000)
    beat = {"group_id": "g", "member_id": "m1"}
    served.whole.ask(ApiKey.STREAMS_GROUP_HEARTBEAT, 0, **beat, member_epoch=epoch)
    assert [tuple(row.values()) for row in told(served, capsys, "list")] == [("g", "streams", "Stable", "streams")]
    (found,) = told(served, capsys, "describe", "g")
    assert (found["group"], found["state"]) == ("g", "Stable")
    assert [(row["topic"], row["partition"], row["end"], row["member"]) for row in found["offsets"]] == [
        ("t", 0, 10, "m1"),
        ("t", 1, 1, "m1"),
    ]
    (member,) = found["members"]
    assert (member["process"], member["tasks"], member["standbys"]) == ("process of m1", ["0_0", "0_1"], [])
    assert run(group.app, "describe", "g", broker=served) == 0
    assert "standbys" in capsys.readouterr().out
    assert run(group.app, "delete", "g", broker=served) == 1
    served.whole.ask(ApiKey.STREAMS_GROUP_HEARTBEAT, 0, **beat, member_epoch=-1)
    assert offsets(told(served, capsys, "reset-offsets", "g", "--topic", "t", "--to-latest", "--execute")) == {0: (None, 10), 1: (None, 1)}
    assert told(served, capsys, "delete", "g") == {"deleted": ["g"]}


def test_a_group_of_offsets_alone(served: ServedBroker, capsys: pytest.CaptureFixture[str]) -> None:
    commit(served.whole, "g", 4)
    (found,) = told(served, capsys, "describe", "g")
    assert [(row["partition"], row["committed"], row["end"], row["lag"], row["member"]) for row in found["offsets"]] == [
        (0, 4, 10, 6, None)
    ]
    assert (found["state"], found["members"]) == ("Empty", [])
    assert run(group.app, "describe", "g", broker=served) == 0
    assert capsys.readouterr().out.startswith("g  Empty\n")
    assert run(group.app, "describe", "unknown", broker=served) == 1
    assert run(group.app, "describe", broker=served) == 2


def test_an_offset_of_0_is_one(served: ServedBroker, capsys: pytest.CaptureFixture[str]) -> None:
    commit(served.whole, "g", 0)
    ((row,),) = [found["offsets"] for found in told(served, capsys, "describe", "g")]
    assert (row["committed"], row["lag"]) == (0, 10)


def test_groups_are_deleted(served: ServedBroker, capsys: pytest.CaptureFixture[str]) -> None:
    commit(served.whole, "a", 1)
    commit(served.whole, "b", 1)
    assert told(served, capsys, "delete", "a", "b") == {"deleted": ["a", "b"]}
    assert told(served, capsys, "list") == []
    stable(served.whole, "busy")
    for name, why in (("busy", "NON_EMPTY_GROUP"), ("none", "GROUP_ID_NOT_FOUND")):
        assert run(group.app, "delete", name, broker=served) == 1
        seen = capsys.readouterr().err
        assert f"group {name}" in seen
        assert why in seen
    assert run(group.app, "delete", broker=served) == 2


@pytest.mark.parametrize(
    ("target", "new"),
    [
        (["--to-earliest"], 2),
        (["--to-latest"], 10),
        (["--to-offset", "5"], 5),
        (["--to-offset", "0"], 2),  # what is not there any more
        (["--to-offset", "99"], 10),
        (["--shift-by", "3"], 7),
        (["--shift-by", "-1"], 3),
        (["--shift-by", "-9"], 2),
        (["--shift-by", "90"], 10),
        (["--to-datetime", "2001-01-01"], 2),
        (["--to-datetime", "2099-01-01"], 10),  # no record is that young
    ],
    ids=str,
)
def test_where_offsets_are_moved_to(served: ServedBroker, capsys: pytest.CaptureFixture[str], target: list[str], new: int) -> None:
    commit(served.whole, "g", 4)
    assert offsets(told(served, capsys, "reset-offsets", "g", *target)) == {0: (4, new)}
    assert offsets(told(served, capsys, "reset-offsets", "g", *target)) == {0: (4, new)}  # nothing was changed
    assert offsets(told(served, capsys, "reset-offsets", "g", *target, "--execute")) == {0: (4, new)}
    (found,) = told(served, capsys, "describe", "g")
    assert [row["committed"] for row in found["offsets"]] == [new]


def test_it_says_that_nothing_was_changed(served: ServedBroker, capsys: pytest.CaptureFixture[str]) -> None:
    commit(served.whole, "g", 4)
    run(group.app, "reset-offsets", "g", "--to-latest", broker=served)
    assert "nothing was changed: add --execute" in capsys.readouterr().err


def test_partitions_that_are_named(served: ServedBroker, capsys: pytest.CaptureFixture[str]) -> None:
    commit(served.whole, "g", 4)
    reset = ("reset-offsets", "g", "--to-latest", "--topic")
    assert offsets(told(served, capsys, *reset, "t")) == {0: (4, 10), 1: (None, 1)}
    assert offsets(told(served, capsys, *reset, "t:1")) == {1: (None, 1)}
    assert offsets(told(served, capsys, *reset, "t:1,0")) == {0: (4, 10), 1: (None, 1)}
    for text, why in (("t:7", "has no partition '7'"), ("t:x", "has no partition 'x'"), ("gone", "UNKNOWN_TOPIC_OR_PARTITION")):
        assert run(group.app, *reset, text, broker=served) == 1
        assert why in capsys.readouterr().err


def test_a_group_that_cannot_be_moved(served: ServedBroker, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(group.app, "reset-offsets", "none", "--to-latest", broker=served) == 1
    assert "group none has committed nothing: name its topics with --topic" in capsys.readouterr().err
    stable(served.whole, "busy")
    assert run(group.app, "reset-offsets", "busy", "--to-latest", "--topic", "t", "--execute", broker=served) == 1
    assert "group busy has members: stop them first" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["--to-latest", "--to-offset", "0"], ["--shift-by", "1", "--to-earliest"]], ids=str)
def test_one_target_is_needed(served: ServedBroker, capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    assert run(group.app, "reset-offsets", "g", *arguments, broker=served) == 2
    assert "give one of --to-earliest" in capsys.readouterr().err
