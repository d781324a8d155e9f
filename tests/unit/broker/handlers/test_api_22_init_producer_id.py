"""InitProducerId: pairs for idempotent and transactional producers, who gets one, and how old clients hear of a fence."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.protocol.errors import ErrorCode
from support.txn_requests import begun, init, state
from support.whole_broker import CLUSTER, WholeBroker

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("version", range(6))
def test_every_idempotent_producer_gets_its_own_id(whole: WholeBroker, version: int) -> None:
    first, second = init(whole, None, version=version), init(whole, None, version=version)
    assert (first.error_code, first.producer_epoch, second.producer_epoch) == (ErrorCode.NONE, 0, 0)
    assert second.producer_id == first.producer_id + 1


@pytest.mark.parametrize("version", range(6))
def test_a_transactional_id_keeps_its_producer_id(whole: WholeBroker, version: int) -> None:
    answers = [init(whole, version=version) for _ in range(3)]
    assert [answer.producer_epoch for answer in answers] == [0, 1, 2]
    assert len({answer.producer_id for answer in answers}) == 1


@pytest.mark.parametrize(
    ("id", "timeout_ms", "error"),
    [
        ("", 1, ErrorCode.INVALID_REQUEST),
        ("x", 0, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        ("x", -1, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        ("x", 900_001, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        ("x", 900_000, ErrorCode.NONE),
        (None, 0, ErrorCode.NONE),  # without an id there is nothing to time out
    ],
)
def test_limits(whole: WholeBroker, id: str | None, timeout_ms: int, error: ErrorCode) -> None:
    answer = init(whole, id, transaction_timeout_ms=timeout_ms)
    assert (answer.error_code, answer.producer_id >= 0) == (error, error is ErrorCode.NONE)


@pytest.mark.parametrize(("version", "error"), [(3, ErrorCode.INVALID_PRODUCER_EPOCH), (4, ErrorCode.PRODUCER_FENCED)])
def test_a_fenced_producer_that_comes_back(whole: WholeBroker, version: int, error: ErrorCode) -> None:
    first = init(whole)
    init(whole)
    init(whole)
    answer = init(whole, version=version, producer_id=first.producer_id, producer_epoch=first.producer_epoch)
    assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (error, -1, -1)


def test_half_a_pair_is_none(whole: WholeBroker) -> None:
    for id, epoch in ((5, -1), (-1, 5)):
        assert init(whole, producer_id=id, producer_epoch=epoch).error_code == ErrorCode.INVALID_REQUEST


def test_the_transaction_of_the_one_before_is_aborted_first(whole: WholeBroker) -> None:
    begun(whole)
    assert init(whole).error_code == ErrorCode.CONCURRENT_TRANSACTIONS
    whole.advance(10)
    assert state(whole) == "CompleteAbort"
    assert whole.log("t").open_transactions() == []
    assert init(whole).error_code == ErrorCode.NONE


def test_who_may_not_write_with_the_id(whole: WholeBroker) -> None:
    whole.deny(AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, "x")
    assert init(whole).error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert init(whole, "y").error_code == ErrorCode.NONE


def test_who_may_write_anywhere_may_be_idempotent(whole: WholeBroker) -> None:
    whole.deny(AclOperation.IDEMPOTENT_WRITE, *CLUSTER)
    assert init(whole, None).error_code == ErrorCode.NONE  # by its right to write to some topic
    whole.deny(AclOperation.WRITE, ResourceType.TOPIC, "*")
    assert init(whole, None).error_code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def test_two_phase_commit_needs_the_right_to_it(wholes: Callable[..., WholeBroker]) -> None:
    whole = wholes(settings={"transaction.two.phase.commit.enable": "true"})
    assert init(whole, version=6, enable2_pc=True).error_code == ErrorCode.NONE
    whole.deny(AclOperation.TWO_PHASE_COMMIT, ResourceType.TRANSACTIONAL_ID, "x")
    assert init(whole, version=6, enable2_pc=True).error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert init(whole, version=6).error_code == ErrorCode.NONE


def test_a_prepared_transaction_may_be_kept(wholes: Callable[..., WholeBroker]) -> None:
    whole = wholes({"t": 1}, {"transaction.two.phase.commit.enable": "true"})
    pair = begun(whole)
    kept = init(whole, version=6, enable2_pc=True, keep_prepared_txn=True)
    assert (kept.error_code, kept.ongoing_txn_producer_id) == (ErrorCode.NONE, pair.producer_id)
    assert (kept.ongoing_txn_producer_epoch, kept.producer_epoch) == (pair.producer_epoch, pair.producer_epoch + 1)
    assert state(whole) == "Ongoing"
