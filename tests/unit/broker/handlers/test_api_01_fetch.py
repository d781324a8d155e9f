"""Fetch: what is read of which partition, within which limits, and when a request waits."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.broker.handlers import api_01_fetch
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.records import iter_headers
from support.txn_requests import begun, end
from support.whole_broker import CLUSTER, Asked, WholeBroker

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True, params=[0, 50])
def partitions_a_turn(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a request takes turns or not: the answers are the same."""
    monkeypatch.setattr(api_01_fetch, "PARTITIONS_A_TURN", request.param or 1)
    monkeypatch.setattr(api_01_fetch, "PARKED_PARTITIONS", request.param)


def partition(index: int, offset: int = 0, **fields: int) -> dict[str, int]:
    return {
        "partition": index,
        "current_leader_epoch": -1,
        "fetch_offset": offset,
        "last_fetched_epoch": -1,
        "log_start_offset": -1,
        "partition_max_bytes": 1 << 20,
        **fields,
    }


def begin(whole: WholeBroker, *partitions: dict[str, int], version: int = 12, topic: str = "t", **fields: Any) -> Asked:
    named: dict[str, Any] = {"topic_id": fields.pop("topic_id", None) or whole.topic_id(topic)} if version >= 13 else {"topic": topic}
    limits = {"max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1 << 20, "isolation_level": 0}
    replica = {"replica_id": fields.pop("replica_id", -1)} if version < 15 else {}
    session = {"session_id": 0, "session_epoch": -1, "forgotten_topics_data": []} if version >= 7 else {}
    topics = [{**named, "partitions": list(partitions)}] if partitions else []
    return whole.begin(ApiKey.FETCH, version, **{**limits, **replica, **session, "topics": topics, **fields})


def fetch(whole: WholeBroker, *partitions: dict[str, int], **fields: Any) -> list[Any]:
    answer = begin(whole, *partitions, **fields).answer()
    assert answer.error_code == ErrorCode.NONE
    return [each for topic in answer.responses for each in topic.partitions]


def offsets(told: Any) -> list[int]:
    """Base offsets of the batches."""
    return [header.base_offset for _position, header in iter_headers(memoryview(bytes(told.records or b"")))]


@pytest.mark.parametrize("version", [4, 5, 7, 9, 11, 12, 13, 15, 17, 18])
def test_from_an_offset_on(whole: WholeBroker, version: int) -> None:
    whole.append("t", b"a", b"b")
    whole.append("t", b"c")
    told, empty = fetch(whole, partition(0, 1), partition(1), version=version)
    assert offsets(told) == [0, 2]  # the batch that holds it, whole
    assert (told.error_code, told.high_watermark, told.last_stable_offset) == (ErrorCode.NONE, 3, 3)
    assert (empty.error_code, empty.high_watermark, offsets(empty)) == (ErrorCode.NONE, 0, [])
    if version >= 5:
        assert told.log_start_offset == 0


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        (partition(0, 4), ErrorCode.OFFSET_OUT_OF_RANGE),
        (partition(0, -1), ErrorCode.OFFSET_OUT_OF_RANGE),
        (partition(2), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (partition(-1), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (partition(0, current_leader_epoch=1), ErrorCode.UNKNOWN_LEADER_EPOCH),
        (partition(0, last_fetched_epoch=1), ErrorCode.OFFSET_OUT_OF_RANGE),
        (partition(0, 3, current_leader_epoch=0), ErrorCode.NONE),
    ],
    ids=str,
)
def test_errors_stand_with_their_partition(whole: WholeBroker, asked: dict[str, int], error: ErrorCode) -> None:
    whole.append("t", b"a", b"b", b"c")
    told, other = fetch(whole, asked, partition(1))
    assert (told.error_code, offsets(told), other.error_code) == (error, [], ErrorCode.NONE)


def test_an_older_epoch_is_fenced(whole: WholeBroker) -> None:
    whole.log("t").leader_epoch = 3
    told = [fetch(whole, partition(0, current_leader_epoch=epoch))[0].error_code for epoch in (2, 3, 4)]
    assert told == [ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.NONE, ErrorCode.UNKNOWN_LEADER_EPOCH]


def test_topics_by_id_from_version_13(whole: WholeBroker) -> None:
    (told,) = fetch(whole, partition(0), version=13, topic_id=uuid.UUID(int=5))
    assert told.error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_without_the_topic(whole: WholeBroker) -> None:
    whole.append("t", b"secret")
    whole.deny(AclOperation.READ, ResourceType.TOPIC, "t")
    (told,) = fetch(whole, partition(0))
    assert (told.error_code, told.high_watermark, offsets(told)) == (ErrorCode.TOPIC_AUTHORIZATION_FAILED, -1, [])


def test_followers_are_not_served(whole: WholeBroker) -> None:
    (told,) = fetch(whole, partition(0), replica_id=2)
    assert told.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    whole.deny(AclOperation.CLUSTER_ACTION, *CLUSTER)
    (refused,) = fetch(whole, partition(0), replica_id=2)
    assert refused.error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED


# -- limits


def test_the_first_batch_comes_whole_and_then_limits_bind(whole: WholeBroker) -> None:
    for number in (0, 1):
        for _ in range(3):
            whole.append("t", b"x" * 1000, partition=number)
    first, second = fetch(whole, partition(0, partition_max_bytes=1), partition(1, partition_max_bytes=1))
    assert (offsets(first), offsets(second)) == ([0], [])  # a consumer must get on, with one of them
    first, second = fetch(whole, partition(0, partition_max_bytes=2500), partition(1), max_bytes=4000)
    assert (offsets(first), offsets(second)) == ([0, 1], [0])
    first, second = fetch(whole, partition(0), partition(1), max_bytes=0)
    assert (offsets(first), offsets(second)) == ([0], [])


def test_the_brokers_own_limit(wholes: Any) -> None:
    whole = wholes({"t": 2}, {"fetch.max.bytes": "1024"})
    for _ in range(3):
        whole.append("t", b"x" * 900)
    (told,) = fetch(whole, partition(0), max_bytes=1 << 20)
    assert offsets(told) == [0]


# -- transactions


@pytest.mark.parametrize(("isolation", "seen"), [(0, [0, 1]), (1, [0])])
def test_an_open_transaction_hides_what_is_behind_it(whole: WholeBroker, isolation: int, seen: list[int]) -> None:
    whole.append("t", b"before")
    begun(whole)
    (told,) = fetch(whole, partition(0), isolation_level=isolation)
    assert (offsets(told), told.high_watermark, told.last_stable_offset) == (seen, 2, 1)


@pytest.mark.parametrize("isolation", [0, 1])
def test_aborted_ones_are_listed_for_readers_of_committed(whole: WholeBroker, isolation: int) -> None:
    pair = begun(whole)
    end(whole, pair, committed=False)
    (told,) = fetch(whole, partition(0), isolation_level=isolation)
    assert offsets(told) == [0, 1]  # with the marker
    listed = [(each.producer_id, each.first_offset) for each in told.aborted_transactions or ()]
    assert listed == ([(pair.producer_id, 0)] if isolation else [])


# -- waiting


def test_it_waits_for_data(whole: WholeBroker) -> None:
    asked = begin(whole, partition(0), partition(1), max_wait_ms=500)
    assert asked.waits
    whole.append("t", b"a", partition=1)
    whole.settle()
    told = [each for topic in asked.answer().responses for each in topic.partitions]
    assert [offsets(each) for each in told] == [[], [0]]


def test_no_longer_than_it_may(whole: WholeBroker) -> None:
    asked = begin(whole, partition(0), max_wait_ms=500)
    whole.advance(498)
    assert asked.waits
    whole.advance(3)
    assert [each.error_code for topic in asked.answer().responses for each in topic.partitions] == [ErrorCode.NONE]


def test_until_there_is_enough(whole: WholeBroker) -> None:
    asked = begin(whole, partition(0), max_wait_ms=500, min_bytes=1500)
    whole.append("t", b"x" * 1000)
    whole.settle()
    assert asked.waits
    whole.append("t", b"x" * 1000)
    whole.settle()
    assert offsets(asked.answer().responses[0].partitions[0]) == [0, 1]


@pytest.mark.parametrize("fields", [{"max_wait_ms": 0}, {"max_wait_ms": 500, "min_bytes": 0}, {"max_wait_ms": -1}], ids=str)
def test_not_at_all(whole: WholeBroker, fields: dict[str, int]) -> None:
    assert not begin(whole, partition(0), **fields).waits


def test_an_error_is_not_waited_for(whole: WholeBroker) -> None:
    asked = begin(whole, partition(0, 9), partition(1), max_wait_ms=500)
    assert [each.error_code for each in asked.answer().responses[0].partitions] == [ErrorCode.OFFSET_OUT_OF_RANGE, ErrorCode.NONE]


def test_nor_is_nothing(whole: WholeBroker) -> None:
    assert begin(whole, max_wait_ms=500).answer().responses == []
    gone = begin(whole, partition(7), max_wait_ms=500)
    assert gone.answer().responses[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


# -- sessions


def test_a_session_tells_what_changed(whole: WholeBroker) -> None:
    first = begin(whole, partition(0), partition(1), session_epoch=0).answer()
    assert first.session_id != 0
    whole.append("t", b"a", partition=1)
    second = begin(whole, session_id=first.session_id, session_epoch=1).answer()
    assert [(each.partition_index, offsets(each)) for topic in second.responses for each in topic.partitions] == [(1, [0])]


@pytest.mark.parametrize(
    ("session", "epoch", "error"), [(12345, 1, ErrorCode.FETCH_SESSION_ID_NOT_FOUND), (None, 7, ErrorCode.INVALID_FETCH_SESSION_EPOCH)]
)
def test_sessions_that_are_none(whole: WholeBroker, session: int | None, epoch: int, error: ErrorCode) -> None:
    known = begin(whole, partition(0), session_epoch=0).answer().session_id
    answer = begin(whole, partition(0), session_id=known if session is None else session, session_epoch=epoch).answer()
    assert (answer.error_code, answer.responses) == (error, [])
