"""Short pauses of Python's cycle collector.

A full collection looks at every object there is: 100 ms and more with ten thousand open logs, in which nobody is served. What has survived
one is there to stay, so after a long one it is set aside (`gc.freeze`) and the next looks at what is new. Reference counting goes on as
ever; cycles among such survivors (the logs of deleted topics) wait until everything is looked at again, which is seldom.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Mapping

LONG_SECONDS = 0.01
FREEZES = 20  # so many long collections until one looks at everything
_OLDEST = 2
# A request for thousands of partitions should not meet a collection at every thousandth object; what has survived three of the shortest,
# of ten thousand connections that came at once perhaps, is looked at again in 10 ms.
_THRESHOLDS = (10_000, 3, 30)


class ShortCollections:
    """A callback of the collector."""

    def __init__(self) -> None:
        self._begin = 0.0
        self._frozen = 0

    def __call__(self, phase: str, info: Mapping[str, int]) -> None:
        if info["generation"] < _OLDEST:
            return
        if phase == "start":
            self._begin = time.perf_counter()
        elif time.perf_counter() - self._begin > LONG_SECONDS:
            self._frozen += 1
            if self._frozen % FREEZES:
                gc.freeze()
            else:
                gc.unfreeze()


def keep_collections_short() -> None:
    """From now on, in this process."""
    gc.set_threshold(*_THRESHOLDS)
    gc.callbacks.append(ShortCollections())
    gc.enable()
