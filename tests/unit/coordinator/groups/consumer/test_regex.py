"""Expressions of RE2, as Apache Kafka takes them, and what they resolve to."""

from __future__ import annotations

import pytest
from oncelog.coordinator.groups.consumer.regex import compile_regex
from oncelog.protocol.errors import ErrorCode, KafkaError

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("text", "name", "matches"),
    [("a.*", "abc", True), ("b", "abc", False), ("a|abc", "abc", True), ("", "", True), ("", "a", False), ("[[:digit:]]+", "12", True)],
)
def test_the_whole_name_has_to_match(text: str, name: str, matches: bool) -> None:
    assert (compile_regex(text).fullmatch(name) is not None) is matches


@pytest.mark.parametrize("text", ["(", "a**", "(?=a)", r"(a)\1", "a{1001}"])
def test_what_re2_does_not_take(text: str) -> None:
    with pytest.raises(KafkaError) as refused:
        compile_regex(text)
    assert refused.value.code is ErrorCode.INVALID_REGULAR_EXPRESSION
    assert (refused.value.message or "").startswith(f"SubscribedTopicRegex `{text}` is not a valid regular expression: ")
