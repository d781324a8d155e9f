"""What a share group may have and how it reads: its own settings over the broker's (`ShareGroupConfig`, `GroupConfig`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from oncelog.broker.sharing.acquiring import Limits
from oncelog.protocol.names import IsolationLevel

_RESET = "share.auto.offset.reset"
_LIMITS = {"share.record.lock.duration.ms": 30_000, "share.delivery.count.limit": 5, "share.partition.max.record.locks": 2_000}
_DURATION = re.compile(r"by_duration:P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?", re.IGNORECASE)
_SECONDS = (86_400, 3_600, 60, 1)


class GroupSettings(NamedTuple):
    """Of one group, at this moment."""

    limits: Limits
    isolation: IsolationLevel
    reset: str
    renews: bool


def group_settings(own: Mapping[str, str], broker: Mapping[str, str]) -> GroupSettings:
    """`own`: what the group has set, by group level name; `broker`: what was given to the broker, by its names."""
    limits = [int(own.get(name) or broker.get(f"group.{name}") or default) for name, default in _LIMITS.items()]
    committed = own.get("share.isolation.level") == "read_committed"
    return GroupSettings(
        Limits(*limits),
        IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED,
        own.get(_RESET, "latest"),
        own.get("share.renew.acknowledge.enable", "true").lower() == "true",
    )


def reset_duration_ms(reset: str) -> int | None:
    """How far back a group begins; None for `earliest` and `latest`."""
    found = _DURATION.fullmatch(reset)
    return (
        None if found is None else int(1000 * sum(float(number or 0) * unit for number, unit in zip(found.groups(), _SECONDS, strict=True)))
    )
