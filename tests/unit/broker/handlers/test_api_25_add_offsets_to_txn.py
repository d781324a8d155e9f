"""AddOffsetsToTxn: the group's partition of __consumer_offsets becomes part of the transaction."""

from __future__ import annotations

import pytest
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import CONSUMER_OFFSETS, TopicPartition
from support.txn_requests import RIGHTS_OF_OFFSETS, Pair, init, initialised, state
from support.whole_broker import WholeBroker

pytestmark = pytest.mark.unit


def add_offsets(whole: WholeBroker, pair: Pair, group: str = "g", *, id: str = "x", version: int = 3) -> int:
    answer = whole.ask(ApiKey.ADD_OFFSETS_TO_TXN, version, transactional_id=id, group_id=group, **pair.fields)
    return int(answer.error_code)


@pytest.mark.parametrize("version", range(5))
def test_the_partition_of_a_group_that_need_not_exist(whole: WholeBroker, version: int) -> None:
    assert add_offsets(whole, initialised(whole), version=version) == ErrorCode.NONE
    place = TopicPartition(CONSUMER_OFFSETS, whole.context.groups.partition_for("g"))
    described = whole.context.transactions.describe("x")
    assert (described.state, set(described.partitions)) == ("Ongoing", {place})


@pytest.mark.parametrize(("version", "error"), [(0, ErrorCode.INVALID_PRODUCER_EPOCH), (1, 47), (2, ErrorCode.PRODUCER_FENCED), (4, 90)])
def test_old_clients_are_told_of_a_fence_in_their_way(whole: WholeBroker, version: int, error: int) -> None:
    pair = initialised(whole)
    init(whole)
    assert add_offsets(whole, pair, version=version) == error


def test_strangers(whole: WholeBroker) -> None:
    pair = initialised(whole)
    assert add_offsets(whole, pair, id="") == ErrorCode.INVALID_REQUEST
    assert add_offsets(whole, pair, id="unknown") == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert add_offsets(whole, Pair(pair.producer_id + 1, 0)) == ErrorCode.INVALID_PRODUCER_ID_MAPPING


@pytest.mark.parametrize(("operation", "kind", "name", "error"), RIGHTS_OF_OFFSETS)
def test_both_the_id_and_the_group_are_needed(
    whole: WholeBroker, operation: AclOperation, kind: ResourceType, name: str, error: ErrorCode
) -> None:
    pair = initialised(whole)
    whole.deny(operation, kind, name)
    assert add_offsets(whole, pair) == error
    assert state(whole) == "Empty"
