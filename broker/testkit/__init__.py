"""A broker within a test's own process: `from oncelog.broker.testkit import Broker`.

Nothing here is imported by `oncelog serve`.
"""

from oncelog.broker.testkit.broker import Broker
from oncelog.broker.testkit.observing import Record

__all__ = ["Broker", "Record"]
