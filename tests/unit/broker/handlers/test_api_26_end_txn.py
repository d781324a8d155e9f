"""EndTxn: markers before the answer, the pair to go on with, and what a client is told that may not end it."""

from __future__ import annotations

import pytest
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.protocol.errors import ErrorCode
from support.txn_requests import Pair, begun, end, init, initialised, state
from support.whole_broker import WholeBroker

pytestmark = pytest.mark.unit


@pytest.mark.parametrize("committed", [True, False])
@pytest.mark.parametrize("version", range(6))
def test_what_was_begun_is_ended(whole: WholeBroker, version: int, committed: bool) -> None:
    pair = begun(whole)
    assert whole.log("t").last_stable_offset == 0
    answer = end(whole, pair, committed=committed, version=version)
    assert answer.error_code == ErrorCode.NONE
    assert state(whole) == ("CompleteCommit" if committed else "CompleteAbort")
    assert (whole.log("t").log_end_offset, whole.log("t").last_stable_offset) == (2, 2)  # the record, its marker
    next_pair = (pair.producer_id, pair.producer_epoch + 1) if version >= 5 else (-1, -1)
    assert (answer.producer_id, answer.producer_epoch) == next_pair


def test_said_twice_it_is_true_twice(whole: WholeBroker) -> None:
    pair = begun(whole)
    assert [end(whole, pair).error_code for _ in range(2)] == [ErrorCode.NONE] * 2
    assert whole.log("t").log_end_offset == 2
    assert end(whole, pair, committed=False).error_code == ErrorCode.INVALID_TXN_STATE


@pytest.mark.parametrize(("version", "error"), [(4, ErrorCode.INVALID_TXN_STATE), (5, ErrorCode.INVALID_TXN_STATE)])
def test_nothing_to_commit(whole: WholeBroker, version: int, error: ErrorCode) -> None:
    assert end(whole, initialised(whole), version=version).error_code == error


def test_from_version_5_an_empty_transaction_may_be_aborted(whole: WholeBroker) -> None:
    pair = initialised(whole)
    assert end(whole, pair, committed=False, version=4).error_code == ErrorCode.INVALID_TXN_STATE
    answer = end(whole, pair, committed=False, version=5)
    assert (answer.error_code, answer.producer_epoch) == (ErrorCode.NONE, pair.producer_epoch + 1)


@pytest.mark.parametrize(("version", "error"), [(0, 47), (1, 47), (2, ErrorCode.PRODUCER_FENCED), (5, ErrorCode.PRODUCER_FENCED)])
def test_old_clients_are_told_of_a_fence_in_their_way(whole: WholeBroker, version: int, error: int) -> None:
    pair = initialised(whole)
    init(whole)
    assert end(whole, pair, version=version).error_code == error


def test_strangers(whole: WholeBroker) -> None:
    pair = begun(whole)
    assert end(whole, pair, id="").error_code == ErrorCode.INVALID_REQUEST
    assert end(whole, pair, id="unknown").error_code == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert end(whole, Pair(pair.producer_id + 1, 0)).error_code == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert state(whole) == "Ongoing"


def test_who_may_not_write_with_the_id(whole: WholeBroker) -> None:
    pair = begun(whole)
    whole.deny(AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, "x")
    answer = end(whole, pair, version=5)
    assert (answer.error_code, answer.producer_id) == (ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, -1)
    assert state(whole) == "Ongoing"
