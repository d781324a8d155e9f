"""What a single group may set for itself (`GroupConfig` of Kafka's group coordinator, KIP-1043), and the bounds its broker gives.

A name that stands behind `group.` among the broker's settings overrides that one; its bounds are the broker's `min` and `max` of it.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping

from oncelog.protocol.config_def import BOOLEAN, INT, STRING, Option, config_class, option, options_of
from oncelog.protocol.errors import ErrorCode, KafkaError

_DURATION = re.compile(r"by_duration:P(?=\d|T\d)(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+(\.\d{1,9})?S)?)?", re.IGNORECASE)


def _reset_problem(value: str) -> str | None:
    """`ShareGroupAutoOffsetResetStrategy`."""
    known = value in ("earliest", "latest") or (value.startswith("by_duration:") and _DURATION.fullmatch(value) is not None)
    if known:
        return None
    wanted = "'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."
    return f"Invalid value `{value}` for configuration share.auto.offset.reset. The value must be either {wanted}"


@config_class
class GroupOverrideConfig:
    """Names, defaults and bounds as in Apache Kafka 4.3.0."""

    consumer_session_timeout_ms: int = option(
        "consumer.session.timeout.ms", INT, 45_000, "A member of this group that is silent for so long is removed.", at_least=1
    )
    consumer_heartbeat_interval_ms: int = option(
        "consumer.heartbeat.interval.ms", INT, 5_000, "How often members of this group are told to send heartbeats.", at_least=1
    )
    consumer_assignment_interval_ms: int = option(
        "consumer.assignment.interval.ms", INT, 1_000, "This group gets a new target assignment at most once in this time.", at_least=0
    )
    share_session_timeout_ms: int = option(
        "share.session.timeout.ms", INT, 45_000, "A member of this share group that is silent for so long is removed.", at_least=1
    )
    share_heartbeat_interval_ms: int = option(
        "share.heartbeat.interval.ms", INT, 5_000, "How often members of this share group are told to send heartbeats.", at_least=1
    )
    share_assignment_interval_ms: int = option(
        "share.assignment.interval.ms", INT, 1_000, "This share group gets a new target assignment at most once in this time.", at_least=0
    )
    share_record_lock_duration_ms: int = option(
        "share.record.lock.duration.ms",
        INT,
        30_000,
        "How long a record stays with the member that acquired it, unless it says what became of it.",
        at_least=1_000,
    )
    share_delivery_count_limit: int = option(
        "share.delivery.count.limit", INT, 5, "A record that was given out so often and not accepted is given out no more.", at_least=2
    )
    share_partition_max_record_locks: int = option(
        "share.partition.max.record.locks", INT, 2_000, "The most records of a partition that are acquired at a time.", at_least=100
    )
    share_auto_offset_reset: str = option(
        "share.auto.offset.reset",
        STRING,
        "latest",
        "Where this share group begins in a partition: latest, earliest, or by_duration:PT1H, so long ago.",
        validate=_reset_problem,
    )
    share_isolation_level: str = option(
        "share.isolation.level",
        STRING,
        "read_uncommitted",
        "Whether this share group is given records of open and aborted transactions.",
        one_of=("read_committed", "read_uncommitted"),
    )
    share_renew_acknowledge_enable: bool = option(
        "share.renew.acknowledge.enable", BOOLEAN, True, "Whether members may keep a record for longer (KIP-1222)."
    )
    streams_session_timeout_ms: int = option(
        "streams.session.timeout.ms", INT, 45_000, "A member of this streams group that is silent for so long is removed.", at_least=1
    )
    streams_heartbeat_interval_ms: int = option(
        "streams.heartbeat.interval.ms", INT, 5_000, "How often members of this streams group are told to send heartbeats.", at_least=1
    )
    streams_assignment_interval_ms: int = option(
        "streams.assignment.interval.ms",
        INT,
        1_000,
        "This streams group gets a new target assignment at most once in this time.",
        at_least=0,
    )
    streams_initial_rebalance_delay_ms: int = option(
        "streams.initial.rebalance.delay.ms",
        INT,
        3_000,
        "How long the first assignment of this streams group, while it is empty, waits for more members.",
        at_least=0,
    )
    streams_num_standby_replicas: int = option(
        "streams.num.standby.replicas",
        INT,
        0,
        "How many processes follow each task with state of this streams group, ready to take it over.",
        at_least=0,
    )


def group_options() -> dict[str, Option]:
    """Group level name -> option."""
    return {declared.kafka_name: dataclasses.replace(declared, dynamic=True) for declared in options_of(GroupOverrideConfig).values()}


def of_broker(name: str) -> str:
    """The broker's setting that a group's overrides, if the broker has one of that name."""
    return f"group.{name}"


def check_bounds(values: Mapping[str, str], limit: Callable[[str], str | None]) -> None:
    """Raises KafkaError(INVALID_CONFIG) outside the broker's bounds, or where they contradict each other.

    `limit(name)`: a broker setting's value, None where there is none.
    """
    for name, text in values.items():
        kind, _, rest = name.partition(".")
        for word, bound in (("greater", "min"), ("less", "max")):
            bound_name = f"group.{kind}.{bound}.{rest.removeprefix('num.')}"
            at = limit(bound_name)
            if at is not None and (int(text) < int(at) if bound == "min" else int(text) > int(at)):
                raise KafkaError(ErrorCode.INVALID_CONFIG, f"{name} must be {word} than or equal to {bound_name}")
    for kind in {name.partition(".")[0] for name in values}:
        session, interval = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
        texts = [values.get(name) or limit(of_broker(name)) for name in (session, interval)]
        if None not in texts and int(texts[0] or 0) <= int(texts[1] or 0):
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"{session} must be greater than {interval}")
