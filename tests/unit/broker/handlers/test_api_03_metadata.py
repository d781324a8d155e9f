"""Metadata: all topics or some, by name or by id, made on demand, and what is kept from whom."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from oncelog.broker.auth.acls import AclOperation, ResourceType
from oncelog.broker.handlers import api_03_metadata
from oncelog.protocol.api_keys import ApiKey
from oncelog.protocol.errors import ErrorCode
from support.whole_broker import CLUSTER, WholeBroker

pytestmark = pytest.mark.unit
NOT_REQUESTED = -(2**31)


@pytest.fixture(autouse=True, params=[0, 500])
def topics_a_turn(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a request takes turns or not: the answers are the same."""
    monkeypatch.setattr(api_03_metadata, "TOPICS_A_TURN", request.param or 1)


def ask(whole: WholeBroker, version: int, *names: str, make: bool = False, **fields: Any) -> Any:
    topics = fields.pop("topics", [{"name": name} for name in names])
    asked = {"topics": topics} | ({"allow_auto_topic_creation": make} if version >= 4 else {})
    return whole.ask(ApiKey.METADATA, version, **asked, **fields)


def told(answer: Any) -> list[tuple[str, int, int]]:
    """(name, error, partitions)"""
    return [(topic.name, topic.error_code, len(topic.partitions)) for topic in answer.topics]


@pytest.mark.parametrize("version", range(14))
def test_a_topic_and_its_cluster(whole: WholeBroker, version: int) -> None:
    answer = ask(whole, version, "t")
    assert told(answer) == [("t", ErrorCode.NONE, 2)]
    assert [(broker.node_id, broker.host, broker.port) for broker in answer.brokers] == [(1, "127.0.0.1", 9092)]
    if version >= 1:
        assert (answer.controller_id, answer.topics[0].is_internal) == (1, False)
    if version >= 2:
        assert answer.cluster_id == whole.context.cluster_id
    if version >= 10:
        assert answer.topics[0].topic_id == whole.topic_id("t")
    if version >= 8:
        assert answer.topics[0].topic_authorized_operations == NOT_REQUESTED


@pytest.mark.parametrize(("version", "all_of_them", "none"), [(0, [], None), (1, None, []), (12, None, [])])
def test_all_topics(whole: WholeBroker, version: int, all_of_them: Any, none: Any) -> None:
    whole.logs.create_topic("a", 1)
    assert [name for name, *_ in told(ask(whole, version, topics=all_of_them))] == ["a", "t"]
    if none is not None:
        assert told(ask(whole, version, topics=none)) == []


def test_named_twice_is_told_once(whole: WholeBroker) -> None:
    assert told(ask(whole, 9, "t", "gone", "t")) == [("t", 0, 2), ("gone", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0)]


@pytest.mark.parametrize("name", ["", "a b", "x" * 250])
def test_names_that_no_topic_has(whole: WholeBroker, name: str) -> None:
    assert told(ask(whole, 9, name, make=True)) == [(name, ErrorCode.INVALID_TOPIC_EXCEPTION, 0)]


# -- on demand


@pytest.mark.parametrize("version", [0, 3, 4, 12])
def test_made_on_demand_it_is_told_as_unknown_once(whole: WholeBroker, version: int) -> None:
    """Before version 4 every client wants it so."""
    answers = [told(ask(whole, version, "fresh", make=True)) for _ in range(2)]
    assert answers == [[("fresh", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0)], [("fresh", ErrorCode.NONE, 1)]]


def test_only_who_wants_it_makes_one(whole: WholeBroker) -> None:
    assert [told(ask(whole, 4, "fresh", make=False)) for _ in range(2)] == [[("fresh", 3, 0)]] * 2
    assert whole.logs.topics.get("fresh") is None


def test_and_only_where_topics_are_made_so(wholes: Callable[..., WholeBroker]) -> None:
    whole = wholes(settings={"auto.create.topics.enable": "false"})
    assert [told(ask(whole, 4, "fresh", make=True)) for _ in range(2)] == [[("fresh", 3, 0)]] * 2


def test_with_the_default_number_of_partitions(wholes: Callable[..., WholeBroker]) -> None:
    whole = wholes(settings={"num.partitions": "3"})
    ask(whole, 9, "fresh", make=True)
    assert told(ask(whole, 9, "fresh")) == [("fresh", 0, 3)]


@pytest.mark.parametrize(("name", "partitions"), [("__consumer_offsets", 2), ("__transaction_state", 2), ("__share_group_state", 50)])
def test_internal_topics_are_made_as_their_coordinators_do(whole: WholeBroker, name: str, partitions: int) -> None:
    ask(whole, 9, name, make=True)
    answer = ask(whole, 9, name)
    assert (told(answer), answer.topics[0].is_internal) == ([(name, 0, partitions)], True)


def test_names_that_collide_are_not_made(whole: WholeBroker) -> None:
    whole.logs.create_topic("a.b", 1)
    assert told(ask(whole, 9, "a_b", make=True)) == [("a_b", ErrorCode.INVALID_TOPIC_EXCEPTION, 0)]


def test_a_disk_that_refuses_is_told_with_the_topic(whole: WholeBroker) -> None:
    whole.fs.fail(1, only=("pwrite", "create", "datasync", "rename", "mkdir"))
    ((name, error, _),) = told(ask(whole, 9, "fresh", make=True))
    assert (name, error) == ("fresh", ErrorCode.KAFKA_STORAGE_ERROR)
    assert whole.logs.topics.get("fresh") is None


# -- by id


def test_by_id_from_version_12(whole: WholeBroker) -> None:
    known, unknown = whole.topic_id("t"), uuid.UUID(int=5)
    answer = ask(whole, 12, topics=[{"name": None, "topic_id": each} for each in (unknown, known, known)])
    found = [(topic.topic_id, topic.name, topic.error_code) for topic in answer.topics]
    assert found == [(unknown, None, ErrorCode.UNKNOWN_TOPIC_ID), (known, "t", ErrorCode.NONE)]


@pytest.mark.parametrize(
    ("version", "topic", "error"),
    [
        (10, {"name": None}, ErrorCode.INVALID_REQUEST),
        (11, {"name": "t", "topic_id": uuid.UUID(int=5)}, ErrorCode.INVALID_REQUEST),
        (12, {"name": None}, ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_entries_that_name_nothing_refuse_the_whole(whole: WholeBroker, version: int, topic: dict[str, Any], error: ErrorCode) -> None:
    answer = ask(whole, version, topics=[topic, {"name": "t", **({"topic_id": None} if "topic_id" in topic else {})}])
    assert [each.error_code for each in answer.topics] == [error, error]
    assert (answer.brokers, answer.controller_id, answer.cluster_id) == ([], -1, None)


# -- rights


def test_topics_that_may_not_be_described(whole: WholeBroker) -> None:
    whole.logs.create_topic("secret", 1)
    whole.deny(AclOperation.DESCRIBE, ResourceType.TOPIC, "secret")
    whole.deny(AclOperation.DESCRIBE, ResourceType.TOPIC, "gone")  # whether it exists is not told
    assert [name for name, *_ in told(ask(whole, 9, topics=None))] == ["t"]
    assert told(ask(whole, 9, "secret", "gone", "t", make=True)) == [("secret", 29, 0), ("gone", 29, 0), ("t", 0, 2)]
    (answer,) = ask(whole, 12, topics=[{"name": None, "topic_id": whole.topic_id("secret")}]).topics
    assert (answer.error_code, answer.name) == (ErrorCode.TOPIC_AUTHORIZATION_FAILED, None)
    assert whole.logs.topics.get("gone") is None


def test_to_make_one_the_cluster_or_the_topic_is_needed(whole: WholeBroker) -> None:
    whole.deny(AclOperation.CREATE, *CLUSTER)
    assert told(ask(whole, 9, "a", make=True)) == [("a", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 0)]
    whole.deny(AclOperation.CREATE, ResourceType.TOPIC, "b")
    assert told(ask(whole, 9, "b", make=True)) == [("b", ErrorCode.TOPIC_AUTHORIZATION_FAILED, 0)]
    assert (whole.logs.topics.get("a") is not None, whole.logs.topics.get("b")) == (True, None)


def test_operations_are_told_to_whom_asks(whole: WholeBroker) -> None:
    wanted = {"include_topic_authorized_operations": True, "include_cluster_authorized_operations": True}
    answer = ask(whole, 10, "t", "gone", **wanted)
    assert [topic.topic_authorized_operations for topic in answer.topics] == [3576, 3576]
    assert answer.cluster_authorized_operations == 8096
    whole.deny(AclOperation.WRITE, ResourceType.TOPIC, "t")
    answer = ask(whole, 10, "t", **wanted)
    assert answer.topics[0].topic_authorized_operations == 3576 - (1 << AclOperation.WRITE)


# -- what is kept


def test_a_kept_answer_is_forgotten_with_a_change(whole: WholeBroker) -> None:
    assert told(ask(whole, 9, topics=None)) == [("t", 0, 2)]
    whole.logs.create_topic("u", 1)
    assert told(ask(whole, 9, topics=None)) == [("t", 0, 2), ("u", 0, 1)]


def test_every_listener_is_told_its_own_address(whole: WholeBroker) -> None:
    assert [broker.port for broker in ask(whole, 9, "t").brokers] == [9092]
    whole.connection.local_address = ("127.0.0.1", 9999)
    assert [broker.port for broker in ask(whole, 9, "t").brokers] == [9999]


def test_with_an_authorizer_nothing_is_kept_for_others(whole: WholeBroker) -> None:
    assert [name for name, *_ in told(ask(whole, 9, topics=None))] == ["t"]
    whole.deny(AclOperation.DESCRIBE, ResourceType.TOPIC, "t")
    assert told(ask(whole, 9, topics=None)) == []
