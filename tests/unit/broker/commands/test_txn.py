"""`oncelog txn` against the transaction handlers, without a socket."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest
from oncelog.broker.commands import txn
from oncelog.broker.commands.client.cluster import Node
from oncelog.broker.commands.client.options import Connection
from oncelog.broker.commands.client.output import Format
from oncelog.broker.context import RequestContext
from oncelog.coordinator.txn.producer_ids import FIRST_PRODUCER_ID as P
from oncelog.protocol import messages
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode, KafkaError
from support.txn_bench import Bench

JSON = Connection(format=Format.JSON)
HANDLERS = {
    ApiKey.WRITE_TXN_MARKERS: "api_27_write_txn_markers",
    ApiKey.DESCRIBE_PRODUCERS: "api_61_describe_producers",
    ApiKey.DESCRIBE_TRANSACTIONS: "api_65_describe_transactions",
    ApiKey.LIST_TRANSACTIONS: "api_66_list_transactions",
}


class OneNode:
    """A cluster of one broker, whose handlers are called directly, by way of the codec."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench

    def send(self, key: ApiKey, request: Any) -> Any:
        version = messages.valid_versions(key)[1]
        request = messages.decode_request(key, version, messages.encode_request(key, version, request))
        broker = SimpleNamespace(transactions=self.bench.service, logs=self.bench.logs, authorizer=None)
        connection = SimpleNamespace(principal="User:ANONYMOUS", client_host="127.0.0.1")
        ctx = RequestContext(cast(Any, broker), cast(Any, connection), version, "cli", self.bench.clock.now_ms)
        answer = importlib.import_module(f"oncelog.broker.handlers.{HANDLERS[key]}").handle(request, ctx)
        return messages.decode_response(key, version, messages.encode_response(key, version, answer))

    def nodes(self) -> list[Node]:
        return [Node(1, "localhost", 9092)]

    def node(self, node_id: int) -> OneNode:
        return self

    def leaders(self, topics: list[str] | None = None) -> dict[tuple[str, int], int]:
        return dict.fromkeys((log.topic_partition for log in self.bench.logs.logs()), 1)

    def leader(self, topic: str, partition: int) -> OneNode:
        return self

    def coordinator_id(self, kind: int, name: str) -> int:
        return 1

    def until_ready(self, ask: Callable[[], Any]) -> Any:
        return ask()


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    bench = Bench()

    @contextmanager
    def opened(self: Connection) -> Iterator[OneNode]:
        yield OneNode(bench)

    monkeypatch.setattr(Connection, "open", opened)
    bench.init()
    bench.produce((P, 0), 0)
    return bench


def printed(capsys: pytest.CaptureFixture[str]) -> Any:
    return json.loads(capsys.readouterr().out)


def test_list(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    bench.init("idle")
    txn.list_transactions(state=("Ongoing",), connection=JSON)
    assert printed(capsys) == [{"TransactionalId": "t", "Coordinator": 1, "ProducerId": P, "TransactionState": "Ongoing"}]
    txn.list_transactions(pattern="id.*", connection=JSON)
    assert [row["TransactionalId"] for row in printed(capsys)] == ["idle"]
    with pytest.raises(SystemExit):
        txn.list_transactions(state=("ongoing",), connection=JSON)


def test_describe(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    txn.describe("t", connection=JSON)
    (row,) = printed(capsys)
    assert list(row) == txn.DESCRIBE_COLUMNS
    assert (row["TransactionState"], row["TopicPartitions"], row["CurrentTransactionStartTimeMs"]) == (
        "Ongoing",
        ["a-0"],
        bench.clock.now_ms,
    )
    bench.end((P, 0), commit=True)
    txn.describe("t", connection=JSON)
    assert printed(capsys)[0]["TransactionDurationMs"] is None
    with pytest.raises(KafkaError):
        txn.describe("nobody", connection=JSON)


def test_producers(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    txn.producers("a", 0, connection=JSON)
    (row,) = printed(capsys)
    assert list(row) == txn.PRODUCER_COLUMNS
    assert (row["ProducerId"], row["CurrentTransactionStartOffset"]) == (P, 0)


def test_hanging_is_what_no_id_knows_and_abort_ends_it(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    bench.logs.at("a", 1).write(77, 3, 1000)  # as if its transactional id had expired
    txn.hanging(connection=JSON)
    (row,) = printed(capsys)
    assert list(row) == txn.HANGING_COLUMNS
    assert (row["Topic"], row["Partition"], row["ProducerId"], row["StartOffset"]) == ("a", 1, 77, 0)
    txn.abort("a", 1, start_offset=0, yes=True, connection=JSON)
    capsys.readouterr()
    assert [marker[1:] for marker in bench.logs.at("a", 1).markers()] == [(77, 3, False)]
    txn.hanging(connection=JSON)
    assert printed(capsys) == []
    assert bench.end((P, 0), commit=True).error is ErrorCode.NONE  # the live one was left alone


def test_abort_wants_one_way_to_name_the_transaction(bench: Bench) -> None:
    for choice in ({}, {"start_offset": 0, "producer_id": 1, "producer_epoch": 0}, {"producer_id": 1}):
        with pytest.raises(SystemExit):
            txn.abort("a", 0, **choice, connection=JSON)
    with pytest.raises(SystemExit):
        txn.abort("a", 0, start_offset=99, yes=True, connection=JSON)
