"""Whether a topic may be made: its name, those that are there, and those that would be told by the same metric."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from oncelog.broker.topics.creation import check_new_topic
from oncelog.protocol.errors import ErrorCode, KafkaError
from support.whole_broker import WholeBroker

pytestmark = pytest.mark.unit


@pytest.fixture
def whole() -> Iterator[WholeBroker]:
    made = WholeBroker({"a.b": 1, "c_d_e": 1, "plain": 1})
    yield made
    made.close()


@pytest.mark.parametrize("name", ["new", "a.b.", "a-b", "plai", "A.b", "c_d"])
def test_new_names(whole: WholeBroker, name: str) -> None:
    check_new_topic(name, whole.logs)
    assert whole.logs.topics.get(name) is None  # asking makes nothing


@pytest.mark.parametrize(
    ("name", "code", "why"),
    [
        ("", ErrorCode.INVALID_TOPIC_EXCEPTION, "Topic name is invalid: the empty string is not allowed"),
        ("a b", ErrorCode.INVALID_TOPIC_EXCEPTION, "Topic name is invalid: 'a b' contains"),
        ("plain", ErrorCode.TOPIC_ALREADY_EXISTS, "Topic 'plain' already exists."),
        ("a.b", ErrorCode.TOPIC_ALREADY_EXISTS, "Topic 'a.b' already exists."),
        ("a_b", ErrorCode.INVALID_TOPIC_EXCEPTION, "Topic 'a_b' collides with existing topic: a.b"),
        ("c.d_e", ErrorCode.INVALID_TOPIC_EXCEPTION, "Topic 'c.d_e' collides with existing topic: c_d_e"),
    ],
)
def test_names_that_are_taken(whole: WholeBroker, name: str, code: ErrorCode, why: str) -> None:
    with pytest.raises(KafkaError) as refused:
        check_new_topic(name, whole.logs)
    assert refused.value.code is code
    assert why in str(refused.value.message)


def test_a_deleted_name_is_free_again(whole: WholeBroker) -> None:
    told: list[object] = []
    whole.logs.begin_delete_topic("plain", told.append)
    whole.logs.folders.rename_all()
    assert told == [None]
    check_new_topic("plain", whole.logs)
