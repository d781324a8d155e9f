"""Subscriptions by regular expression, resolved by the broker with RE2 as Kafka does: in time linear in the topic's name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import re2
from oncelog.coordinator.groups.consumer.draft import Draft, update_epoch
from oncelog.protocol.errors import ErrorCode, KafkaError
from oncelog.protocol.internal.consumer_groups import ConsumerGroupRegularExpressionKey, ConsumerGroupRegularExpressionValue
from oncelog.protocol.topics import Topics

_OPTIONS = re2.Options()
_OPTIONS.log_errors = False


def compile_regex(text: str) -> Any:
    """The expression; it has to match a whole name. Raises KafkaError 128."""
    try:
        return re2.compile(text, options=_OPTIONS)
    except re2.error as error:
        reason = error.args[0].decode() if error.args and isinstance(error.args[0], bytes) else str(error)
        raise KafkaError(
            ErrorCode.INVALID_REGULAR_EXPRESSION, f"SubscribedTopicRegex `{text}` is not a valid regular expression: {reason}."
        ) from error


def resolve(draft: Draft, topics: Topics, visible: Callable[[str], bool], now_ms: int) -> None:
    """Resolve every expression in use and forget the others. The group epoch rises when somebody's topics changed."""
    group_id, before = draft.group.group_id, _subscriptions(draft)
    used = draft.group.used_regexes()
    for text in sorted(set(draft.group.regexes) - used):
        draft.write(ConsumerGroupRegularExpressionKey(group_id, text), None)
    for text in sorted(used):
        pattern = compile_regex(text)
        matched = frozenset(topic.name for topic in topics.all() if pattern.fullmatch(topic.name) is not None and visible(topic.name))
        known = draft.group.regexes.get(text)
        if known is None or known.topics != matched:
            value = ConsumerGroupRegularExpressionValue(sorted(matched), topics.generation, now_ms)
            draft.write(ConsumerGroupRegularExpressionKey(group_id, text), value)
    update_epoch(draft, topics, changed=_subscriptions(draft) != before)


def _subscriptions(draft: Draft) -> dict[str, frozenset[str]]:
    return {member_id: draft.group.subscribed_names(member) for member_id, member in draft.group.members.items()}
