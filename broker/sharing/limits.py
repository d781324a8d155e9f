"""What a share group may have and how its records are read, as the machine of its share partitions needs it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from oncelog.broker.sharing.acquiring import Limits
from oncelog.coordinator.groups.share.config import ShareGroupConfig, limits_of
from oncelog.protocol.names import IsolationLevel

_DURATION = re.compile(r"by_duration:P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?", re.IGNORECASE)
_SECONDS = (86_400, 3_600, 60, 1)


class GroupSettings(NamedTuple):
    """Of one group, at this moment."""

    limits: Limits
    isolation: IsolationLevel
    reset: str
    renews: bool


def group_settings(config: ShareGroupConfig, own: Mapping[str, str]) -> GroupSettings:
    """`own`: what the group has set for itself, by group level name."""
    found = limits_of(config, own)
    return GroupSettings(
        Limits(found.record_lock_duration_ms, found.delivery_count_limit, found.partition_max_record_locks),
        IsolationLevel.READ_COMMITTED if found.isolation_level == "read_committed" else IsolationLevel.READ_UNCOMMITTED,
        found.auto_offset_reset,
        found.renew_acknowledge,
    )


def reset_duration_ms(reset: str) -> int | None:
    """How far back a group begins; None for `earliest` and `latest`."""
    found = _DURATION.fullmatch(reset)
    if found is None:
        return None
    return int(1000 * sum(float(number or 0) * unit for number, unit in zip(found.groups(), _SECONDS, strict=True)))
