"""A broker within a test's own process: `from oncelog.broker.testkit import Broker`.

Nothing here is imported by a plain `oncelog serve`; with a control port it is (`broker/control`).
"""

from oncelog.broker.testkit.assertions import assert_exactly_once, assert_no_open_transactions
from oncelog.broker.testkit.broker import Broker
from oncelog.broker.testkit.observing import Record
from oncelog.broker.testkit.process import Process

__all__ = ["Broker", "Process", "Record", "assert_exactly_once", "assert_no_open_transactions"]
