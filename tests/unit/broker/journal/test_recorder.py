"""The journal of a broker, in memory and as a file."""

from __future__ import annotations

import errno
import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from oncelog.broker.journal.check import check
from oncelog.broker.journal.recorder import SMALL_BYTES, FileJournal, Kept, MemoryJournal, read
from oncelog.broker.testkit import Broker
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.names import TopicPartition
from oncelog.protocol.primitives import uuid_from_kafka
from oncelog.protocol.records import build_batch
from support.txn_client import TV0, TV2, Client, Dialect
from support.wire import Connection

pytestmark = pytest.mark.unit
PLACE = TopicPartition("a", 0)


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker() as made:
        made.create_topic("a")
        yield made


def transaction(client: Client, dialect: Dialect, pair: tuple[int, int], commit: bool, sequence: int = 0) -> tuple[int, int]:
    assert client.produce(dialect, "t", pair, sequence, PLACE, b"x") == 0
    assert client.send_offsets(dialect, "t", pair, "g", [(PLACE, 7)]) == 0
    error, after = client.end(dialect, "t", pair, commit)
    assert error == 0
    return after


def produced_by_id(broker: Broker, value: bytes, topic_id: str) -> None:
    """A Produce of version 13, which names its topic by id only."""
    kind = messages.ProduceRequest.TopicProduceData
    part = kind.PartitionProduceData(index=0, records=bytes(build_batch([(0, None, value)])))
    topic = kind(name="", topic_id=uuid_from_kafka(topic_id), partition_data=[part])
    request = messages.ProduceRequest(transactional_id=None, acks=-1, timeout_ms=1000, topic_data=[topic])
    with Connection(broker.bootstrap) as connection:
        connection.request(ApiKey.PRODUCE, 13, request)


@pytest.mark.parametrize("size", [10, 2 * SMALL_BYTES], ids=["kept as it came", "read at once"])
def test_topics_are_named_as_they_were_also_when_they_are_gone(broker: Broker, size: int) -> None:
    produced_by_id(broker, bytes(size), broker.state()["topics"]["a"]["id"])
    assert [isinstance(each, Kept) for each in broker._life.journal._entries] == [size < SMALL_BYTES]
    with Connection(broker.bootstrap) as connection:
        request = messages.DeleteTopicsRequest(topic_names=["a"], timeout_ms=1000)
        connection.request(ApiKey.DELETE_TOPICS, 4, request)
    assert broker.state()["topics"] == {}
    (entry,) = broker.journal()
    assert [(batch["partition"], batch["offset"], batch["error"]) for batch in entry["batches"]] == [("a-0", 0, "NONE")]
    assert broker.journal() == [entry]


def test_what_cannot_be_read_is_left_out() -> None:
    journal = MemoryJournal()
    journal.write({"start": True})
    journal.keep(Kept(1, 2, 3, "here", b"\0\0\0\x0b", b"", lambda _id: None))
    assert journal.read() == [{"start": True}]
    journal.clear()
    assert journal.read() == []


def test_a_transaction_of_old_clients_request_by_request(broker: Broker) -> None:
    with Client(broker.bootstrap) as client:
        pair = client.init("t")
        transaction(client, TV0, pair, True)
        assert client.group_offset("g", PLACE, stable=True)[1] == 7
    entries = broker.journal()
    told = [{name: value for name, value in entry.items() if name not in ("begun", "ended", "time_ms", "connection")} for entry in entries]
    assert [entry["api"] for entry in told] == [
        "InitProducerId",
        "AddPartitionsToTxn",
        "Produce",
        "AddOffsetsToTxn",
        "TxnOffsetCommit",
        "EndTxn",
        "OffsetFetch",
    ]
    who = {"client_id": told[0]["client_id"], "transactional_id": "t", "producer": list(pair)}
    assert told[0] == {"api": "InitProducerId", "version": 4, **who, "producer": [-1, -1], "answered": list(pair), "error": "NONE"}
    assert told[1] == {"api": "AddPartitionsToTxn", "version": 3, **who, "partitions": {"a-0": "NONE"}}
    batch = {"partition": "a-0", "producer": list(pair), "sequence": [0, 0], "offset": 0, "error": "NONE"}
    assert told[2] == {
        "api": "Produce",
        "version": 11,
        "client_id": who["client_id"],
        "transactional_id": "t",
        "acks": -1,
        "batches": [batch],
    }
    assert told[3] == {"api": "AddOffsetsToTxn", "version": 3, **who, "group": "g", "error": "NONE"}
    assert told[4] == {"api": "TxnOffsetCommit", "version": 3, **who, "group": "g", "offsets": {"a-0": 7}, "partitions": {"a-0": "NONE"}}
    assert told[5]["committed"] is True
    assert told[5]["error"] == "NONE"
    assert told[6]["groups"] == {"g": {"a-0": 7}}
    moments = [moment for entry in entries for moment in (entry["begun"], entry["ended"])]
    assert moments == sorted(moments)
    assert check(entries) == []


def test_what_was_refused_and_what_comes_later_is_told_too(broker: Broker) -> None:
    with Client(broker.bootstrap) as zombie, Client(broker.bootstrap) as client:
        old = zombie.init("t")
        new = client.init("t")
        assert zombie.end(TV2, "t", old, True)[0] != 0
        for commit in (False, True):
            new = transaction(client, TV2, new, commit)
    refused = [entry for entry in broker.journal() if entry.get("error") not in (None, "NONE")]
    assert [(entry["api"], entry["error"], entry["producer"]) for entry in refused] == [("EndTxn", "PRODUCER_FENCED", list(old))]
    assert check(broker.journal()) == []
    broker.restart()
    assert broker.journal() != []
    broker.reset()
    assert broker.journal() == []


def test_a_lost_answer_was_given(broker: Broker) -> None:
    broker.faults.add(api="EndTxn", action="drop_answer")
    with Client(broker.bootstrap) as client:
        pair = client.init("t")
        with pytest.raises(AssertionError, match="connection closed"):
            client.end(TV2, "t", pair, True)
    assert broker.journal()[-1]["api"] == "EndTxn"


def test_a_file_goes_on_where_its_lines_are_whole(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    first = FileJournal(path, 1000)
    first.write({"api": "EndTxn", "client_id": "x" * 70_000})
    first.close()
    with path.open("ab") as file:
        file.write(b'{"api":"EndTxn","torn' + b"x" * 100_000)
    assert [entry.get("api", "start") for entry in read(path)] == ["start", "EndTxn"]
    FileJournal(path, 2000).close()
    assert [entry.get("api", "start") for entry in read(path)] == ["start", "EndTxn", "start"]
    path.write_bytes(b"torn")
    FileJournal(path, 3000).close()
    assert read(path) == [{"start": True, "time_ms": 3000}]


@pytest.mark.parametrize("line", [b"garbage", b"[1]", b'{"a": 1}'])
def test_what_is_no_journal_is_said(tmp_path: Path, line: bytes) -> None:
    path = tmp_path / "journal"
    path.write_bytes(json.dumps({"start": True}).encode() + b"\n" + line + b"\n")
    with pytest.raises(ValueError, match="line 2 is no entry"):
        read(path)


def test_a_full_disk_ends_the_journal_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    journal = FileJournal(tmp_path / "journal", 1)

    def full(_file: int, _data: bytes) -> int:
        raise OSError(errno.ENOSPC, "no space")

    with monkeypatch.context() as patch, caplog.at_level(logging.ERROR, "oncelog"):
        patch.setattr(os, "write", full)
        journal.write({"api": "EndTxn"})
        journal.write({"api": "EndTxn"})
    journal.write({"api": "EndTxn"})
    assert caplog.text.count("journal ends here") == 1
    assert len(read(tmp_path / "journal")) == 1
    journal.close()
