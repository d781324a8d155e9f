"""Case 4: directories written by Apache Kafka 4.3.0, after an orderly stop and after kill -9, open with everything they hold."""

from __future__ import annotations

from pathlib import Path

import pytest
from oncelog.protocol.names import TopicPartition
from oncelog.protocol.records import check_crc, iter_headers
from oncelog.storage.config import LogConfig
from oncelog.storage.directory.manager import LogManager
from oncelog.storage.env import system_env
from oncelog.storage.log.log import Log
from oncelog.storage.log.producer_state import ProducerStateEntry
from support.golden_storage import facts, unpack
from support.inline import InlineFlusher
from support.storage_kit import offset_for_timestamp

pytestmark = pytest.mark.unit


def tp(name: str) -> TopicPartition:
    topic, _, partition = name.rpartition("-")
    return TopicPartition(topic, int(partition))


def first_of(entry: ProducerStateEntry) -> int:
    return -1 if entry.current_txn_first_offset is None else entry.current_txn_first_offset


def check(log: Log, known: dict[str, object], served: dict[str, object] | None) -> None:
    assert (log.log_start_offset, log.log_end_offset, log.last_stable_offset) == (known["logStart"], known["leo"], known["lso"])
    assert [list(entry) for entry in log.epochs.entries] == known["leaderEpochs"]
    producers = {
        (
            e.producer_id,
            e.epoch,
            e.last_sequence,
            e.last_data_offset,
            e.last_timestamp,
            e.coordinator_epoch,
            first_of(e),
        )
        for e in log.producers()
    }
    listed = {
        (e["pid"], e["epoch"], e["lastSequence"], e["lastOffset"], e["timestamp"], e["coordinatorEpoch"], e["currentTxnFirstOffset"])
        for e in known["producers"]  # type: ignore[attr-defined]
    }
    assert producers >= listed  # a producer whose records retention removed lives on in the snapshot alone
    assert {(pid, first) for pid, _, first in log.open_transactions()} == {(e["pid"], e["first"]) for e in known["openTxns"]}  # type: ignore[attr-defined]
    assert log.reader.txn_indexes_are_checked()
    aborted = [tuple(entry) for segment in log.segments for entry in segment.aborted]
    assert aborted == [(e["pid"], e["first"], e["marker"], e["lastStableOffset"]) for e in known["abortedTxns"]]  # type: ignore[attr-defined]
    if served is not None:
        offset, timestamp, _ = offset_for_timestamp(log, -3, 0)
        assert [timestamp, offset] == served["maxTimestamp"]
        assert list(log.end_offset_for_epoch(0)) == served["leaderEpoch0End"]


@pytest.mark.parametrize("name", ["clean", "killed"])
def test_case_4_directory_of_kafka(tmp_path: Path, name: str) -> None:
    data_dir = unpack(name, tmp_path)
    known, served = facts(name), facts(f"{name}.served")
    before = {path: path.read_bytes() for path in data_dir.rglob("*.log")}
    config = LogConfig(producer_id_expiration_ms=2**31 - 1)
    for _ in range(2):  # and once more after our own orderly stop
        manager = LogManager(system_env(), data_dir, config, InlineFlusher())
        manager.start()
        assert manager.cluster_id == known["meta"]["cluster.id"]
        for partition, expected in known["partitions"].items():
            log = manager.log(tp(partition))
            assert log is not None, partition
            check(log, expected, served.get(partition))
        assert {path: path.read_bytes() for path in data_dir.rglob("*.log")} == before
        manager.stop()


def test_every_batch_of_kafka_is_served_verbatim(tmp_path: Path) -> None:
    data_dir = unpack("killed", tmp_path)
    manager = LogManager(system_env(), data_dir, LogConfig(), InlineFlusher())
    manager.start()
    for log in manager.logs():
        stored = b"".join(Path(segment.log_path).read_bytes() for segment in log.segments)
        offset, parts = log.segments[0].base_offset, []
        log.log_start_offset = offset
        while offset < log.high_watermark:
            data = bytes(log.read(offset, 3000, isolation=0, min_one_message=True).records)
            headers = list(iter_headers(data))
            assert all(check_crc(data[at : at + header.size_bytes]) for at, header in headers)
            parts.append(data)
            offset = headers[-1][1].next_offset
        assert b"".join(parts) == stored
    manager.stop()
