"""`oncelog serve` that measures itself: the processor time of its longest turn of the loop, in ms, is kept in the file `TURN_METER`.

Processor time, because other programs on the machine do not count. SIGUSR1 begins anew.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from pathlib import Path

from oncelog.broker import lifecycle
from oncelog.broker.__main__ import main

TURN_METER = "ONCELOG_TURN_METER"


class Measured(lifecycle.Broker):
    """Looks at the clock once a turn, from when it serves."""

    async def start(self) -> None:
        await super().start()
        self._file = Path(os.environ[TURN_METER])
        self._loop = asyncio.get_running_loop()
        self._loop.add_signal_handler(signal.SIGUSR1, self._begin)
        self._begin()
        self._since = time.thread_time()
        self._turn()

    def _begin(self) -> None:
        self._longest_ms = 0.0
        self._file.write_text("0")

    def _turn(self) -> None:
        took_ms = (time.thread_time() - self._since) * 1000
        if took_ms > self._longest_ms:
            self._longest_ms = took_ms
            self._file.write_text(f"{took_ms:.1f}")
        self._since = time.thread_time()
        self._loop.call_later(0, self._turn)


if __name__ == "__main__":
    lifecycle.Broker = Measured  # type: ignore[misc]
    sys.exit(main())
