"""TxnOffsetCommit: offsets that wait for their transaction, and what keeps them out."""

from __future__ import annotations

from typing import Any

import pytest
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import TopicPartition
from support.group_requests import stable
from support.txn_requests import RIGHTS_OF_OFFSETS, Pair, end, init, initialised, state
from support.whole_broker import WholeBroker

pytestmark = pytest.mark.unit
PLACE = TopicPartition("t", 0)


def commit(whole: WholeBroker, pair: Pair, *topics: tuple[str, list[int]], version: int = 5, **fields: Any) -> list[tuple[str, int, int]]:
    asked = {"transactional_id": "x", "group_id": "g", **pair.fields, **fields}
    asked["topics"] = [
        {"name": name, "partitions": [{"partition_index": each, "committed_offset": 7} for each in numbers]}
        for name, numbers in (topics or (("t", [0]),))
    ]
    answer = whole.ask(ApiKey.TXN_OFFSET_COMMIT, version, **asked)
    return [(topic.name, each.partition_index, each.error_code) for topic in answer.topics for each in topic.partitions]


def committed(whole: WholeBroker, *, stable: bool = False) -> Any:
    found = whole.context.groups.offsets.fetch("g", [PLACE], require_stable=stable)
    assert isinstance(found, dict)
    return found[PLACE]


@pytest.mark.parametrize("ends_in", [True, False])
def test_they_count_when_the_transaction_is_committed(whole: WholeBroker, ends_in: bool) -> None:
    pair = initialised(whole)
    assert commit(whole, pair) == [("t", 0, ErrorCode.NONE)]
    assert (committed(whole).offset, committed(whole, stable=True).error) == (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)
    assert end(whole, pair, committed=ends_in).error_code == ErrorCode.NONE
    assert (committed(whole).offset, committed(whole, stable=True).error) == (7 if ends_in else -1, ErrorCode.NONE)


@pytest.mark.parametrize("version", range(6))
def test_before_version_5_the_group_must_have_been_added(whole: WholeBroker, version: int) -> None:
    pair = initialised(whole)
    added = whole.ask(ApiKey.ADD_OFFSETS_TO_TXN, 3, transactional_id="x", group_id="other", **pair.fields)
    assert added.error_code == ErrorCode.NONE
    assert whole.context.groups.partition_for("other") != whole.context.groups.partition_for("g")
    # transaction verification: clients of old versions know only a state that does not fit
    error = ErrorCode.NONE if version >= 5 else ErrorCode.TRANSACTION_ABORTABLE if version == 4 else ErrorCode.INVALID_TXN_STATE
    assert commit(whole, pair, version=version) == [("t", 0, error)]
    whole.ask(ApiKey.ADD_OFFSETS_TO_TXN, 3, transactional_id="x", group_id="g", **pair.fields)
    assert commit(whole, pair, version=version) == [("t", 0, ErrorCode.NONE)]


@pytest.mark.parametrize("version", [0, 2, 5])
def test_a_fenced_producer_is_told_47_in_every_version(whole: WholeBroker, version: int) -> None:
    pair = initialised(whole)
    init(whole)
    assert commit(whole, pair, version=version) == [("t", 0, ErrorCode.INVALID_PRODUCER_EPOCH)]


def test_partitions_are_refused_one_by_one(whole: WholeBroker) -> None:
    whole.logs.create_topic("secret", 1)
    whole.deny(AclOperation.READ, ResourceType.TOPIC, "secret")
    told = commit(whole, initialised(whole), ("secret", [0]), ("t", [0, 9]), ("gone", [0]))
    assert told == [("secret", 0, 29), ("t", 0, 0), ("t", 9, 3), ("gone", 0, 3)]


def test_refused_ones_alone_open_no_transaction(whole: WholeBroker) -> None:
    assert commit(whole, initialised(whole), ("gone", [0])) == [("gone", 0, 3)]
    assert state(whole) == "Empty"


@pytest.mark.parametrize(("operation", "kind", "name", "error"), RIGHTS_OF_OFFSETS)
def test_both_the_id_and_the_group_are_needed(
    whole: WholeBroker, operation: AclOperation, kind: ResourceType, name: str, error: ErrorCode
) -> None:
    pair = initialised(whole)
    whole.deny(operation, kind, name)
    assert commit(whole, pair, ("t", [0]), ("gone", [0])) == [("t", 0, error), ("gone", 0, error)]
    assert state(whole) == "Empty"


def test_a_group_without_name(whole: WholeBroker) -> None:
    assert commit(whole, initialised(whole), group_id="") == [("t", 0, ErrorCode.INVALID_GROUP_ID)]


def test_a_member_of_an_older_generation_is_kept_out(whole: WholeBroker) -> None:
    member, pair = stable(whole), initialised(whole)
    stale = commit(whole, pair, member_id=member.id, generation_id=member.generation - 1)
    assert stale == [("t", 0, ErrorCode.ILLEGAL_GENERATION)]
    stranger = commit(whole, pair, member_id="stranger", generation_id=member.generation)
    assert stranger == [("t", 0, ErrorCode.UNKNOWN_MEMBER_ID)]
    assert commit(whole, pair, member_id=member.id, generation_id=member.generation) == [("t", 0, ErrorCode.NONE)]


def test_nothing_to_commit(whole: WholeBroker) -> None:
    answer = whole.ask(ApiKey.TXN_OFFSET_COMMIT, 5, transactional_id="x", group_id="g", **initialised(whole).fields, topics=[])
    assert answer.topics == []
    assert state(whole) == "Empty"
