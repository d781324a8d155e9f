"""Topics of the start: what is asked for and how, what is made of it, what is refused and with which words."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from oncelog.broker.topics.at_start import WantedTopic, make_topics, wanted_topics
from oncelog.protocol.errors import ErrorCode, KafkaError
from support.whole_broker import WholeBroker

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("option", "name", "partitions", "configs"),
    [
        ("orders:3", "orders", 3, {}),
        ("a.b_c-D:1:retention.ms=60000", "a.b_c-D", 1, {"retention.ms": "60000"}),
        ("t:1:", "t", 1, {}),
        ("t:2:cleanup.policy=compact,delete,retention.ms=5", "t", 2, {"cleanup.policy": "compact,delete", "retention.ms": "5"}),
        ("t:2:a=b=c:d,e=", "t", 2, {"a": "b=c:d", "e": ""}),
    ],
)
def test_the_option(option: str, name: str, partitions: int, configs: dict[str, str]) -> None:
    assert wanted_topics([option], "") == (WantedTopic(name, partitions, "--topic", configs=configs),)


def test_the_variable_of_images() -> None:
    found = wanted_topics([], "orders:3:1,customers:1:1:compact, \n spaced:2:3:delete,")
    assert [(topic.name, topic.partitions, topic.replicas, topic.configs) for topic in found] == [
        ("orders", 3, 1, {}),
        ("customers", 1, 1, {"cleanup.policy": "compact"}),
        ("spaced", 2, 3, {"cleanup.policy": "delete"}),
    ]
    assert wanted_topics([], "") == ()


OPTION_SHAPE = r"is not NAME:PARTITIONS\[:key=value,...\], as in orders:3:retention.ms=60000"
VARIABLE_SHAPE = r"is not NAME:PARTITIONS:REPLICAS\[:CLEANUP_POLICY\], as in orders:3:1,customers:1:1:compact"


@pytest.mark.parametrize(
    ("option", "variable", "said"),
    [
        ("orders", "", f"^--topic 'orders' {OPTION_SHAPE}"),
        ("orders:x", "", OPTION_SHAPE),
        ("orders:0", "", OPTION_SHAPE),
        ("orders:-1", "", OPTION_SHAPE),
        ("orders:٣", "", OPTION_SHAPE),
        ("orders:9999999999", "", OPTION_SHAPE),
        ("orders:1:compact", "", OPTION_SHAPE),
        (":1", "", "the empty string is not allowed; it is NAME:PARTITIONS"),
        ("or ders:1", "", "contains one or more characters other than ASCII"),
        ("__cluster_metadata:1", "", "'__cluster_metadata' is Kafka's own"),
        ("a:9999,b:1", "", OPTION_SHAPE),
        ("a:10001", "", "more than 10000 partitions at one start"),
        ("", "orders", f"^KAFKA_CREATE_TOPICS 'orders' {VARIABLE_SHAPE}"),
        ("", "orders:1", VARIABLE_SHAPE),
        ("", "orders:1:x", VARIABLE_SHAPE),
        ("", "orders:1:1:squash", VARIABLE_SHAPE),
        ("", "orders:1:1:compact:more", VARIABLE_SHAPE),
        ("a:1", "a:2:1", "^KAFKA_CREATE_TOPICS: topic a is named twice, with different partitions or settings"),
        ("a.b:1", "a_b:1:1", "^--topic: topics a.b and a_b differ only in"),
    ],
)
def test_what_is_none_is_refused_with_what_is_right(option: str, variable: str, said: str) -> None:
    with pytest.raises(KafkaError, match=said) as refused:
        wanted_topics([option] if option else [], variable)
    assert refused.value.code == ErrorCode.INVALID_CONFIG


def test_named_twice_alike_is_once() -> None:
    assert [topic.source for topic in wanted_topics(["a:2", "a:2"], "a:2:1")] == ["--topic"]


Make = Callable[..., WholeBroker]


@pytest.fixture
def made() -> Iterator[Make]:
    """Brokers with topics and settings, closed at the end."""
    with contextlib.ExitStack() as closing:

        def make(*args: Any, **kwargs: Any) -> WholeBroker:
            whole = WholeBroker(*args, **kwargs)
            closing.callback(whole.close)
            return whole

        yield make


def partitions(whole: WholeBroker, name: str) -> int:
    topic = whole.logs.topics.get(name)
    return topic.partitions if topic is not None else 0


def test_what_is_missing_is_made_with_its_settings(made: Make) -> None:
    whole = made({"old": 1})
    make_topics(wanted_topics(["new:3:max.message.bytes=7777,retention.ms=5", "old:1"], ""), whole.context)
    assert [partitions(whole, name) for name in ("old", "new")] == [1, 3]
    assert whole.logs.wanted_configs("new") == {"max.message.bytes": "7777", "retention.ms": "5"}
    whole.append("new", b"x", partition=2)


def test_what_is_there_stays_and_a_line_says_where_it_differs(made: Make, caplog: pytest.LogCaptureFixture) -> None:
    whole = made({"old": 1})
    with caplog.at_level("WARNING", logger="oncelog"):
        make_topics(wanted_topics(["old:1"], ""), whole.context)
        assert caplog.messages == []
        make_topics(wanted_topics(["old:3:retention.ms=5"], ""), whole.context)
    assert caplog.messages == [
        "topic old has 1 partitions, --topic asks for 3: left as it is",
        "topic old has another retention.ms than --topic asks for: left as it is",
    ]
    assert partitions(whole, "old") == 1
    assert whole.logs.wanted_configs("old") == {}


@pytest.mark.parametrize(
    ("option", "variable", "said"),
    [
        ("new:1:retention.msx=5", "", "^--topic: topic new: Unknown topic config name: retention.msx"),
        ("new:1:retention.ms=x", "", "^--topic: topic new: Invalid value x for configuration retention.ms"),
        ("an_old:1", "", "^--topic: topic an_old: Topic 'an_old' collides with existing topic: an.old"),
        ("", "new:1:3", "^KAFKA_CREATE_TOPICS: topic new asks for 3 replicas of one broker; ask for 1, or set oncelog.strict"),
    ],
)
def test_one_that_cannot_be_made_keeps_the_others_from_it(made: Make, option: str, variable: str, said: str) -> None:
    whole = made({"an.old": 1})
    wanted = (*wanted_topics(["good:1"], ""), *wanted_topics([option] if option else [], variable))
    with pytest.raises(KafkaError, match=said):
        make_topics(wanted, whole.context)
    assert whole.logs.topics.get("good") is None


def test_replicas_are_taken_where_the_settings_take_any(made: Make) -> None:
    whole = made(settings={"oncelog.strict.replication.factor": "false"})
    make_topics(wanted_topics([], "new:2:3"), whole.context)
    assert partitions(whole, "new") == 2
