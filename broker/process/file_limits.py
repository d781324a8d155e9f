"""How many files the process may have open, and who gets how many: logs are closed and opened as needed, connections are not."""

from __future__ import annotations

import logging
from typing import NamedTuple

MOST_LOGS = 8_192  # more would save little: opening one again takes 20 us
RESERVED = 64  # listeners, the loop, indexes and checkpoints while they are written
_LEAST_LOGS = 16

_log = logging.getLogger(__name__)


class FileLimits(NamedTuple):
    """Shares of the descriptors."""

    total: int
    logs: int
    connections: int


def shares(total: int) -> FileLimits:
    """A quarter is for logs, up to as many as are of use; what is neither theirs nor reserved is for connections."""
    logs = max(min(total // 4, MOST_LOGS), _LEAST_LOGS)
    return FileLimits(total, logs, max(total - logs - RESERVED, 1))


def claim() -> FileLimits:
    """Raise the soft limit to the hard one, as brokers do, and share it out."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            soft = hard
        except (ValueError, OSError) as error:  # macOS: above what the kernel allows
            _log.info("limit of open files stays limit=%d wanted=%d error=%s", soft, hard, error)
    limits = shares(soft if soft != resource.RLIM_INFINITY else 1 << 20)
    if limits.total < 10_000:
        _log.info("open files are few limit=%d logs=%d connections=%d (ulimit -n raises the limit)", *limits)
    return limits
