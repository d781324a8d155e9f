"""Whether the transaction coordinator lets a producer write, and how a version is told that it does not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import TopicPartition
from oncelog.protocol.records import build_batch
from support.txn_requests import Pair, add, end, init, initialised, state
from support.whole_broker import WholeBroker

pytestmark = pytest.mark.unit


def batch(pair: Pair, sequence: int = 0, *, transactional: bool = True) -> bytes:
    return bytes(build_batch([(1, None, b"v")], **pair.fields, base_sequence=sequence, is_transactional=transactional))


def begin(whole: WholeBroker, version: int, *batches: bytes, id: str | None = "x") -> Any:
    data = [{"index": index, "records": each} for index, each in enumerate(batches)]
    topic: dict[str, Any] = {"topic_id": whole.topic_id("t")} if version >= 13 else {"name": "t"}
    topics = [{**topic, "partition_data": data}]
    return whole.begin(ApiKey.PRODUCE, version, transactional_id=id, acks=-1, timeout_ms=1000, topic_data=topics)


def errors(asked: Any) -> list[int]:
    return [each.error_code for each in asked.answer().responses[0].partition_responses]


@pytest.mark.parametrize("version", [12, 13])
def test_from_version_12_a_write_adds_its_partition(whole: WholeBroker, version: int) -> None:
    pair = initialised(whole)
    assert errors(begin(whole, version, batch(pair), batch(pair))) == [ErrorCode.NONE] * 2
    described = whole.context.transactions.describe("x")
    assert (described.state, set(described.partitions)) == ("Ongoing", {TopicPartition("t", 0), TopicPartition("t", 1)})


@pytest.mark.parametrize(
    ("version", "error"), [(3, ErrorCode.INVALID_TXN_STATE), (10, ErrorCode.INVALID_TXN_STATE), (11, ErrorCode.TRANSACTION_ABORTABLE)]
)
def test_before_it_must_have_been_added(whole: WholeBroker, version: int, error: ErrorCode) -> None:
    pair = initialised(whole)
    assert add(whole, pair, ("t", [1])) == [("t", 1, 0)]
    assert errors(begin(whole, version, batch(pair), batch(pair))) == [error, ErrorCode.NONE]
    assert (whole.log("t").log_end_offset, whole.log("t", 1).log_end_offset) == (0, 1)


@pytest.mark.parametrize("version", [9, 11, 12])
def test_a_fenced_producer_is_told_47(whole: WholeBroker, version: int) -> None:
    pair = initialised(whole)
    init(whole)
    assert errors(begin(whole, version, batch(pair))) == [ErrorCode.INVALID_PRODUCER_EPOCH]


def test_strangers(whole: WholeBroker) -> None:
    pair = initialised(whole)
    assert errors(begin(whole, 12, batch(pair), id="")) == [ErrorCode.INVALID_REQUEST]
    assert errors(begin(whole, 12, batch(pair), id="unknown")) == [ErrorCode.INVALID_PRODUCER_ID_MAPPING]
    assert whole.log("t").log_end_offset == 0


def test_batches_that_are_not_transactional_are_not_asked_about(whole: WholeBroker) -> None:
    pair = initialised(whole)
    assert errors(begin(whole, 12, batch(pair, transactional=False))) == [ErrorCode.NONE]
    assert state(whole) == "Empty"


def test_without_verification_an_old_client_may_write_at_once(wholes: Callable[..., WholeBroker]) -> None:
    whole = wholes({"t": 1}, {"transaction.partition.verification.enable": "false"})
    assert errors(begin(whole, 9, batch(initialised(whole)))) == [ErrorCode.NONE]


def ending(whole: WholeBroker, monkeypatch: pytest.MonkeyPatch) -> tuple[Pair, Callable[[], None]]:
    """A transaction that is being completed, until the function is called."""
    pair = initialised(whole)
    real, busy = whole.context.transactions.admit, [True]

    def admit(id: str, producer_id: int, epoch: int, partitions: Any, *, implicit_add: bool) -> Any:
        if busy:
            return dict.fromkeys(partitions, ErrorCode.CONCURRENT_TRANSACTIONS), None
        return real(id, producer_id, epoch, partitions, implicit_add=implicit_add)

    monkeypatch.setattr(whole.context.transactions, "admit", admit)
    return pair, busy.clear


def test_while_the_last_one_is_being_completed_it_is_asked_again(whole: WholeBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    pair, completed = ending(whole, monkeypatch)
    asked = begin(whole, 12, batch(pair))
    whole.advance(50)
    assert asked.waits
    completed()
    whole.advance(21)
    assert errors(asked) == [ErrorCode.NONE]
    assert end(whole, pair, version=5).error_code == ErrorCode.NONE


def test_but_not_for_ever(whole: WholeBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    pair, _completed = ending(whole, monkeypatch)
    asked = begin(whole, 12, batch(pair))
    whole.advance(150)
    assert errors(asked) == [ErrorCode.CONCURRENT_TRANSACTIONS]
    assert whole.log("t").log_end_offset == 0


@pytest.mark.parametrize("version", [9, 11])
def test_old_clients_are_told_to_try_again(whole: WholeBroker, monkeypatch: pytest.MonkeyPatch, version: int) -> None:
    pair, _completed = ending(whole, monkeypatch)
    assert errors(begin(whole, version, batch(pair))) == [ErrorCode.NOT_ENOUGH_REPLICAS]


@pytest.mark.parametrize("code", [13, 14, 15, 16])
def test_so_they_are_of_a_coordinator_that_is_not_there(whole: WholeBroker, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    pair = initialised(whole)
    monkeypatch.setattr(whole.context.transactions, "admit", lambda *asked, implicit_add: (dict.fromkeys(asked[3], ErrorCode(code)), None))
    assert errors(begin(whole, 12, batch(pair))) == [ErrorCode.NOT_ENOUGH_REPLICAS]
