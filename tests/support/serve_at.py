"""`oncelog serve` at another time of day: run as a script with serve's arguments. ONCELOG_TEST_NOW_MS is the time at its start."""

from __future__ import annotations

import os
import sys
import time

from oncelog.storage.env import SystemClock

NOW_MS = "ONCELOG_TEST_NOW_MS"


def main() -> None:
    behind_ms = time.time_ns() // 1_000_000 - int(os.environ[NOW_MS])
    real = SystemClock.time_ms
    SystemClock.time_ms = lambda clock: real(clock) - behind_ms  # type: ignore[method-assign]
    from oncelog.broker.__main__ import main as serve

    sys.argv[0] = "oncelog"
    serve()


if __name__ == "__main__":
    main()
