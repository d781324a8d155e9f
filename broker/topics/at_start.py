"""Topics that are made when the broker starts, before its first client: `oncelog serve --topic`, and `KAFKA_CREATE_TOPICS` of images.

`NAME:PARTITIONS[:key=value,...]` is the option, `NAME:PARTITIONS:REPLICAS[:CLEANUP_POLICY],...` the variable, as it was in the image
wurstmeister/kafka. What is there already stays as it is.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from oncelog.broker.settings.listeners import refusal
from oncelog.broker.topics.creation import check_new_topic
from oncelog.broker.topics.names import METADATA_TOPIC, topic_name_problem
from oncelog.protocol.errors import KafkaError

if TYPE_CHECKING:
    from oncelog.broker.context import BrokerContext

_log = logging.getLogger(__name__)
OPTION, VARIABLE = "--topic", "KAFKA_CREATE_TOPICS"
_SHAPES = {OPTION: "NAME:PARTITIONS[:key=value,...]", VARIABLE: "NAME:PARTITIONS:REPLICAS[:CLEANUP_POLICY]"}
_MOST_PARTITIONS = 10_000  # what one CreateTopics may make


@dataclass(frozen=True, slots=True)
class WantedTopic:
    """A topic as it was asked for; `source` is where."""

    name: str
    partitions: int
    source: str
    replicas: int = 1
    configs: Mapping[str, str] = field(default_factory=dict)


def wanted_topics(options: Iterable[str], variable: str) -> tuple[WantedTopic, ...]:
    """The topics of `--topic` and of the variable, each once. Raises KafkaError(INVALID_CONFIG) that says what is right."""
    found: dict[str, WantedTopic] = {}
    for topic in (*map(_of_option, options), *_of_variable(variable)):
        before = found.setdefault(topic.name, topic)
        if (before.partitions, before.configs) != (topic.partitions, topic.configs):
            raise refusal(f"{topic.source}: topic {topic.name} is named twice, with different partitions or settings")
    alike = {topic.name.replace(".", "_"): topic.name for topic in found.values()}
    if clash := next((name for name in found if alike[name.replace(".", "_")] != name), None):
        raise refusal(f"{found[clash].source}: topics {clash} and {alike[clash.replace('.', '_')]} differ only in '.' and '_'")
    if sum(topic.partitions for topic in found.values()) > _MOST_PARTITIONS:
        raise refusal(f"{OPTION}: more than {_MOST_PARTITIONS} partitions at one start")
    return tuple(found.values())


def make_topics(wanted: Iterable[WantedTopic], context: BrokerContext) -> None:
    """Make those that are missing; on disk when it returns. Raises KafkaError(INVALID_CONFIG) before the first is made, or 56."""
    missing = [topic for topic in wanted if not _is_there(topic, context)]
    for topic in missing:
        _check(topic, context)
    for topic in missing:
        context.logs.create_topic(topic.name, topic.partitions, dict(topic.configs))
        _log.info("topic %s made: partitions=%d", topic.name, topic.partitions)


def _of_option(text: str) -> WantedTopic:
    name, partitions, configs = [*text.split(":", 2), "", ""][:3]
    return WantedTopic(_name(name, OPTION, text), _count(partitions, OPTION, text), OPTION, configs=_configs(configs, text))


def _of_variable(text: str) -> Iterator[WantedTopic]:
    for entry in filter(None, re.split(r"[,\s]+", text)):
        parts = entry.split(":")
        if len(parts) not in (3, 4) or parts[3:] not in ([], ["delete"], ["compact"]):
            raise _not_so(VARIABLE, entry)
        yield WantedTopic(
            _name(parts[0], VARIABLE, entry),
            _count(parts[1], VARIABLE, entry),
            VARIABLE,
            _count(parts[2], VARIABLE, entry),
            {"cleanup.policy": parts[3]} if parts[3:] else {},
        )


def _name(name: str, source: str, text: str) -> str:
    problem = topic_name_problem(name)
    if name == METADATA_TOPIC:
        problem = f"'{name}' is Kafka's own"
    if problem is not None:
        raise refusal(f"{source} {text!r}: {problem}; it is {_SHAPES[source]}")
    return name


def _count(number: str, source: str, text: str) -> int:
    if not re.fullmatch(r"[1-9]\d{0,8}", number, re.ASCII):
        raise _not_so(source, text)
    return int(number)


def _configs(text: str, whole: str) -> dict[str, str]:
    """`key=value,...`; a part without `=` goes on with the value before it, as in `cleanup.policy=compact,delete`."""
    found: dict[str, str] = {}
    key = ""
    for part in text.split(",") if text else ():
        if "=" in part:
            key, _, value = part.partition("=")
            found[key] = value
        elif key:
            found[key] += f",{part}"
        if not key:
            raise _not_so(OPTION, whole)
    return found


def _not_so(source: str, text: str) -> KafkaError:
    example = "orders:3:retention.ms=60000" if source == OPTION else "orders:3:1,customers:1:1:compact"
    return refusal(f"{source} {text!r} is not {_SHAPES[source]}, as in {example}")


def _is_there(topic: WantedTopic, context: BrokerContext) -> bool:
    """It exists, and a line says where it is another than was asked for."""
    existing = context.logs.topics.get(topic.name)
    if existing is None:
        return False
    if existing.partitions != topic.partitions:
        asked = (topic.name, existing.partitions, topic.source, topic.partitions)
        _log.warning("topic %s has %d partitions, %s asks for %d: left as it is", *asked)
    different = sorted(key for key, value in topic.configs.items() if existing.configs.get(key) != value)
    if different:
        _log.warning("topic %s has another %s than %s asks for: left as it is", topic.name, ", ".join(different), topic.source)
    return True


def _check(topic: WantedTopic, context: BrokerContext) -> None:
    if topic.replicas > 1 and context.config.server.strict_replication_factor:
        raise refusal(
            f"{topic.source}: topic {topic.name} asks for {topic.replicas} replicas of one broker; "
            "ask for 1, or set oncelog.strict.replication.factor=false"
        )
    try:
        check_new_topic(topic.name, context.logs)
        context.dynamic_configs.checked_topic(dict(topic.configs))
    except KafkaError as error:
        raise refusal(f"{topic.source}: topic {topic.name}: {error.message}") from error
