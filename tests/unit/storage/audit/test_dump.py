"""Dumps against what Kafka's own DumpLogSegments found in the recorded directories."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from oncelog.storage.audit.dump import dump
from oncelog.storage.recovery.missing import tell_missing
from support.golden_storage import facts, unpack
from support.own_files import Directory
from support.storage_kit import SMALL, TP

pytestmark = pytest.mark.unit


Rows = list[dict[str, Any]]


@pytest.fixture(scope="module", params=["clean", "killed"])
def golden(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    return request.param, unpack(request.param, tmp_path_factory.mktemp("dump"))


@pytest.fixture(scope="module")
def rows(golden: tuple[str, Path]) -> dict[str, Rows]:
    grouped: dict[str, Rows] = {}
    for row in dump(golden[1]):
        grouped.setdefault(row["file"], []).append(row)
    return grouped


def dump_log_facts(name: str) -> list[tuple[str, dict[str, Any]]]:
    """(partition, facts by file) of Kafka's tool; names with an underscore in front and no partition are remarks."""
    return [(partition, files) for partition, files in facts(f"{name}.dumplog").items() if isinstance(files, dict)]


def of_kind(rows: Rows, kind: str) -> Rows:
    return [row for row in rows if row["kind"] == kind]


def test_logs_agree_with_kafkas_tool(golden: tuple[str, Path], rows: dict[str, Rows]) -> None:
    compared = 0
    for partition, files in dump_log_facts(golden[0]):
        for name, known in files.items():
            if not name.endswith(".log"):
                continue
            found = rows.get(f"{partition}/{name}", [])
            batches = of_kind(found, "batch")
            assert len(batches) == known["batches"]
            assert len(of_kind(found, "record")) == known["records"]
            assert Counter(row["codec"] for row in batches) == known.get("codecs", {})
            assert Counter(row["control"] for row in found if "control" in row) == +Counter(known.get("markers", {}))
            assert all(row["crc_valid"] for row in batches)
            compared += 1
    assert compared > 50


def test_aborted_transactions_and_producers_agree_with_kafkas_tool(golden: tuple[str, Path], rows: dict[str, Rows]) -> None:
    for partition, files in dump_log_facts(golden[0]):
        for name, known in files.items():
            found = rows.get(f"{partition}/{name}", [])
            if "aborted" in known:
                fields = ("producer_id", "first_offset", "last_offset", "last_stable_offset")
                assert [[row[field] for field in fields] for row in found] == known["aborted"]
            if "producers" in known:
                fields = ("producer_id", "producer_epoch", "last_sequence", "last_offset", "coordinator_epoch", "current_txn_first_offset")
                assert {tuple(row[field] for field in fields) for row in found} == {tuple(producer) for producer in known["producers"]}


def test_internal_topics_are_decoded_without_exception(rows: dict[str, Rows]) -> None:
    records = [row for name, found in rows.items() if name.startswith("__") and "metadata" not in name for row in of_kind(found, "record")]
    assert len(records) > 500
    assert not [row for row in records if "error" in row]
    kinds = {row["type"] for row in records if "type" in row}
    assert {"TransactionLog", "OffsetCommit", "GroupMetadata", "ConsumerGroupMetadata"} <= kinds


def test_the_latest_transaction_states_agree_with_an_independent_reader(golden: tuple[str, Path], rows: dict[str, Rows]) -> None:
    latest: dict[str, dict[str, Any]] = {}
    for name in sorted(rows):
        for row in of_kind(rows[name], "record") if name.startswith("__transaction_state") else []:
            if "type" in row:
                latest[row["key"]["transactional_id"]] = row["value"]
    known = facts(golden[0])["transactions"]
    assert {who: (value["producer_id"], value["producer_epoch"]) for who, value in latest.items()} == {
        who: (value["pid"], value["epoch"]) for who, value in known.items()
    }


def test_checkpoints_agree(golden: tuple[str, Path], rows: dict[str, Rows]) -> None:
    for name, known in facts(golden[0])["checkpoints"].items():
        assert {f"{row['topic']}-{row['partition']}": row["offset"] for row in rows[name]} == known


def test_a_dump_shows_them_without_secrets(tmp_path: Path) -> None:
    directory = Directory(tmp_path)
    directory.kit.stop()
    (tmp_path / "oncelog.topics.copy").write_bytes(b"garbage")
    tell_missing(directory.kit.fs, directory.kit.folder, TP, [], [(3, 5)])
    rows = list(dump(tmp_path))
    topics = [(row["file"], row["name"], row["configs"]) for row in rows if row["kind"] == "topic"]
    assert ("oncelog.topics", "unwritten", {"retention.ms": "123456"}) in topics
    assert ("t-0/oncelog.topic", "t", {**SMALL, "retention.ms": "-1"}) in topics
    assert [row["file"] for row in rows if row["kind"] == "damaged"] == ["oncelog.topics.copy"]
    assert {row["key"] for row in rows if row["kind"] == "metadata"} == {"alice", "cluster.id", "directory.id", "node.id"}
    assert [(row["first_offset"], row["last_offset"]) for row in rows if row["kind"] == "missing"] == [(3, 4)]
    assert "secret" not in str(rows)
