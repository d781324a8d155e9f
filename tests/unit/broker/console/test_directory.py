"""The recorded directories of Apache Kafka show what an independent reader found in them; so does one of ours."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from oncelog.broker.console.directory import DirectorySource, open_directory
from oncelog.broker.console.life import life
from oncelog.broker.console.model import Refused
from oncelog.broker.console.partition_view import partition
from oncelog.broker.console.routes import Asked, groups, overview, transactions
from oncelog.broker.console.stuck import stuck
from oncelog.protocol.names import TopicPartition
from oncelog.storage.audit.raw_directory import split_partition_name
from support.console_examples import EXAMPLES, misshapen
from support.console_kit import FIRST, ID, stuck_broker
from support.golden_storage import facts, unpack

pytestmark = pytest.mark.unit
T = TypeVar("T")
NOTHING = Asked({}, {"limit": "1000"}, {})


def of(asked: Awaitable[T]) -> T:
    async def here() -> T:
        return await asked

    return asyncio.run(here())


@pytest.fixture(scope="module", params=["clean", "killed"])
def recorded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[DirectorySource, dict[str, Any]]:
    return open_directory(unpack(request.param, tmp_path_factory.mktemp(request.param))), facts(request.param)


def test_transactions_are_those_listed(recorded: tuple[DirectorySource, dict[str, Any]]) -> None:
    source, listed = recorded
    seen = {
        row["transactional_id"]: (row["state"], row["producer_id"], row["producer_epoch"], row["timeout_ms"], _places(row["partitions"]))
        for row in of(transactions(source, NOTHING)).rows
    }
    assert seen == {
        id: (told["status"], told["pid"], told["epoch"], told["timeoutMs"], sorted(map(tuple, told["partitions"])))
        for id, told in listed["transactions"].items()
    }


def _places(rows: list[dict[str, Any]]) -> list[tuple[str, int]]:
    return [(row["topic"], row["partition"]) for row in rows]


def test_open_and_aborted_transactions_of_every_partition(recorded: tuple[DirectorySource, dict[str, Any]]) -> None:
    source, listed = recorded
    for name, told in listed["partitions"].items():
        split = split_partition_name(name)
        assert split is not None
        view = of(partition(source, TopicPartition(*split), 0, 2000))
        assert misshapen(view, EXAMPLES["GET /api/v1/partitions/{topic}/{n}"]) == [], name
        assert (view["last_stable_offset"], view["log_end_offset"], view["log_start_offset"]) == (
            told["lso"],
            told["leo"],
            told["logStart"],
        )
        opened = [{"pid": each["producer_id"], "first": each["first_offset"]} for each in view["open_transactions"]]
        assert sorted(opened, key=str) == sorted(told["openTxns"], key=str), name
        if name != "comp-0" and view["from_offset"] == told["logStart"]:  # compaction takes batches of aborted transactions away
            aborted = {(each["producer_id"], each["first_offset"], each["last_offset"]) for each in view["aborted"]}
            assert aborted == {(each["pid"], each["first"], each["marker"]) for each in told["abortedTxns"]}, name


def test_offsets_of_groups_committed_and_pending(recorded: tuple[DirectorySource, dict[str, Any]]) -> None:
    source, listed = recorded
    committed, pending = {}, {}
    for row in of(groups(source, NOTHING)).rows:
        for each in row["offsets"]:
            place = f"{each['topic']}-{each['partition']}"
            if each["committed_offset"] is not None:
                committed[row["group_id"], place] = each["committed_offset"]
            for one in each["pending"]:
                pending[row["group_id"], place] = (one["offset"], one["producer_id"])
    assert committed == {
        (group, place): each["offset"] for group, places in listed["committedOffsets"].items() for place, each in places.items()
    }
    assert pending == {
        (group, place): (each["offset"], each["pid"])
        for group, places in listed["pendingOffsets"].items()
        for place, each in places.items()
    }


def test_what_is_stuck(recorded: tuple[DirectorySource, dict[str, Any]]) -> None:
    source, listed = recorded
    rows = of(stuck(source))
    assert {f"{row['topic']}-{row['partition']}" for row in rows} == {
        name for name, told in listed["partitions"].items() if told["openTxns"]
    }
    assert {row["state"] for row in rows} <= {"Ongoing"}
    assert misshapen(of(overview(source, NOTHING)), EXAMPLES["GET /api/v1/overview"]) == []


def test_the_life_of_an_id_with_its_markers(recorded: tuple[DirectorySource, dict[str, Any]]) -> None:
    source, _listed = recorded
    events, whole = of(life(source, "tx-0", 1000))
    kinds = [each["kind"] for each in events]
    assert (whole, kinds[0]) == (True, "init")
    assert kinds.count("marker_commit") > 5 < kinds.count("marker_abort")
    assert kinds.index("prepare_commit") < kinds.index("complete_commit")


def test_a_directory_is_only_read(recorded: tuple[DirectorySource, dict[str, Any]]) -> None:
    source, _listed = recorded
    (transaction, *_) = of(source.transactions())
    with pytest.raises(Refused, match="only read"):
        of(source.abort(transaction))


def test_one_of_ours(tmp_path: Path) -> None:
    with stuck_broker() as stuck_one:
        stuck_one.broker.save(tmp_path / "saved")
        live = stuck_one.get("partitions/orders/0").body
    source = open_directory(tmp_path / "saved")
    (row, *_) = of(stuck(source))
    assert (row["topic"], row["transactional_id"], row["last_stable_offset"], row["groups"]) == ("orders", ID, 4, [])
    seen = of(partition(source, FIRST, None, 500))
    assert [each | {"leader_epoch": 0} for each in seen["batches"]] == [each | {"leader_epoch": 0} for each in live["batches"]]
    assert seen["producers"][0]["batches"] == live["producers"][0]["batches"]


def test_what_is_no_directory(tmp_path: Path) -> None:
    with pytest.raises(NotADirectoryError):
        open_directory(tmp_path / "nothing")
    assert of(overview(open_directory(tmp_path), NOTHING))["counts"]["partitions"] == 0


def test_damage_is_told(tmp_path: Path) -> None:
    saved = unpack("killed", tmp_path)
    log = next((saved / "tx-0").glob("*.log"))
    data = bytearray(log.read_bytes())
    data[200:260] = b"\xff" * 60
    log.write_bytes(data)
    told = of(overview(open_directory(saved), NOTHING))["problem"]
    assert "tx-0/" in told
    assert "oncelog verify" in told
