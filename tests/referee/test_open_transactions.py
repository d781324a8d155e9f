"""Transactions that are open when a directory moves: a real Apache Kafka goes on with ours, and oncelog with Kafka's.

Each way the producers come back with what they had: the next record, EndTxn, a batch they are not sure of; or another instance comes.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from oncelog.storage.audit.verify import verify
from referee.apache_kafka import ApacheKafka, available, free_ports, run_class
from referee.moving import FROZEN, dump_problems, moved_into_kafka
from support import open_transactions
from support.golden_storage import unpack
from support.open_transactions import Moved, leave_open, recorded
from support.process import BrokerProcess

KINDS = {".log", ".index", ".timeindex", ".txnindex", ".snapshot"}
pytestmark = [pytest.mark.referee, pytest.mark.timeout(400), pytest.mark.skipif(not available(), reason="needs Java and Maven")]


@dataclass(frozen=True)
class Running:
    """The broker that goes on."""

    moved: Moved
    data_dir: Path
    stop: Callable[[], object]

    def tool(self, *arguments: str) -> list[list[str]]:
        """The rows of kafka-transactions.sh, header first."""
        output = run_class("org.apache.kafka.tools.TransactionsCommand", "--bootstrap-server", self.moved.bootstrap, *arguments)
        return [line.split() for line in output.splitlines() if line.strip()]


@contextmanager
def ours_in_kafka(folder: Path) -> Iterator[Running]:
    with BrokerProcess(folder / "ours") as process:
        transactions = leave_open(process.bootstrap)
        process.stop()
    with moved_into_kafka(folder / "ours", folder / "kafka") as kafka:
        yield Running(Moved(kafka.bootstrap, folder / "ours", transactions), kafka.data, kafka.stop)


@contextmanager
def recorded_in_kafka(folder: Path) -> Iterator[Running]:
    """What a killed Kafka left, through oncelog's hands into a new one."""
    source = unpack("killed", folder)
    with moved_into_kafka(source, folder / "kafka") as kafka:
        yield Running(Moved(kafka.bootstrap, source, recorded()), kafka.data, kafka.stop)


@contextmanager
def kafkas_in_ours(folder: Path) -> Iterator[Running]:
    """No step between: its directory is opened as it is."""
    with ApacheKafka(folder / "kafka", free_ports(), FROZEN) as kafka:
        kafka.start()
        transactions = leave_open(kafka.bootstrap)
        kafka.stop()
        as_left = Path(shutil.copytree(kafka.data, folder / "as left"))
    with BrokerProcess(kafka.data) as process:
        yield Running(Moved(process.bootstrap, as_left, transactions), kafka.data, process.stop)


WAYS: dict[str, Callable[[Path], AbstractContextManager[Running]]] = {
    "ours in Kafka": ours_in_kafka,
    "recorded in Kafka": recorded_in_kafka,
    "Kafka's in ours": kafkas_in_ours,
}


@pytest.fixture(scope="module", params=list(WAYS))
def running(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with WAYS[request.param](tmp_path_factory.mktemp("moved")) as found:
        yield found


def test_open_and_aborted_are_hidden(running: Running) -> None:
    open_transactions.check_open_and_aborted_are_hidden(running.moved)


def test_the_coordinator_knows_them(running: Running) -> None:
    open_transactions.check_coordinator_knows_them(running.moved)


def test_kafkas_tool_finds_them_open_and_none_hanging(running: Running) -> None:
    listed = {row[0]: row[1:] for row in running.tool("list")}
    for transaction in running.moved.transactions:
        id, (producer_id, epoch) = transaction.transactional_id, transaction.pair
        assert listed[id] == ["1", str(producer_id), "Ongoing"]
        header, row = running.tool("describe", "--transactional-id", id)
        told = dict(zip(header, row, strict=True))
        assert (told["ProducerId"], told["ProducerEpoch"], told["TransactionState"]) == (str(producer_id), str(epoch), "Ongoing")
        for place, batch in open_transactions.last_batches(running.moved.directory, transaction).items():
            assert str(place) in told["TopicPartitions"].split(",")
            first = open_transactions.open_batches(running.moved.directory, place)[producer_id][0].header.base_offset
            header, *rows = running.tool("describe-producers", "--topic", place.topic, "--partition", str(place.partition))
            producers = {row[0]: dict(zip(header, row, strict=True)) for row in rows}
            known = producers[str(producer_id)]
            assert (known["ProducerEpoch"], known["LastSequence"]) == (str(epoch), str(batch.header.last_sequence))
            assert known["CurrentTransactionStartOffset"] == str(first)
    hanging = running.tool("find-hanging", "--broker-id", "1", "--max-transaction-timeout", "1")
    assert [row[0] for row in hanging] == ["Topic"], hanging


def test_pending_offsets_are_unstable(running: Running) -> None:
    open_transactions.check_pending_offsets_are_unstable(running.moved)


def test_a_resent_batch_is_recognised(running: Running) -> None:
    open_transactions.check_resent_batch_is_recognised(running.moved)


def test_the_next_instance_fences(running: Running) -> None:
    open_transactions.check_next_instance_fences(running.moved)


def test_the_others_go_on_and_commit(running: Running) -> None:
    open_transactions.check_the_others_go_on_and_commit(running.moved)


def test_nothing_is_wrong_with_any_file_afterwards(running: Running) -> None:
    """Kafka's dump tool on every file of every partition, and our auditor. Last, because the broker is stopped here."""
    running.stop()
    report = verify(running.data_dir)
    assert report.errors == ()
    internal = {"__consumer_offsets": "--offsets-decoder", "__transaction_state": "--transaction-log-decoder"}
    folders = [folder for folder in running.data_dir.iterdir() if (folder / "partition.metadata").exists()]
    read = 0
    for decoder in (None, *internal.values()):
        mine = [folder for folder in folders if internal.get(folder.name.rpartition("-")[0]) == decoder]
        files = [file for folder in mine for file in sorted(folder.iterdir()) if file.suffix in KINDS and file.stat().st_size]
        assert dump_problems(files, *([decoder] if decoder else ["--deep-iteration"])) == []
        read += len(files)
    assert read > len(running.moved.places())
