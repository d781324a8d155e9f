"""What is told of a broker when a test has failed; in pytest's report: `../test_pytest_plugin.py`."""

from __future__ import annotations

import logging

import pytest
from oncelog.broker.faults.engine import NeverHit
from oncelog.broker.testkit import Broker
from oncelog.broker.testkit.watch import Watch

pytestmark = pytest.mark.unit
LOGGER = logging.getLogger("oncelog")


def test_lines_are_kept_from_begin_to_end_and_levels_are_as_before() -> None:
    before = LOGGER.level, list(LOGGER.handlers)
    with Broker() as broker:
        with Watch("one", broker) as one, Watch("two", broker):
            LOGGER.getChild("x").info("first")
            LOGGER.getChild("x").debug("not this")
        LOGGER.getChild("x").warning("second")
    (begin, line) = one.told().split("\nlog lines:\n")
    assert line.endswith("INFO    oncelog.x first")
    assert begin.endswith("open transactions: none\nfenced: none\ncontradictions in the journal: none\nrules: none")
    assert (LOGGER.level, LOGGER.handlers) == before


def test_a_broker_that_is_down_says_so() -> None:
    with Broker() as broker, Watch("one", broker) as watch:
        broker.faults.add(api="EndTxn", action={"type": "delay", "ms": 5}, times=None)
        broker.crash()
        assert "the broker is down" in watch.told()
        assert "rule-1: delay, ms=5, when=before where api=EndTxn; 0 hits" in watch.told()
        broker.close()
        assert "the broker is down" in watch.told()


@pytest.mark.parametrize("failed", [True, False])
def test_a_rule_that_had_to_hit_is_no_second_failure(failed: bool) -> None:
    with Broker() as broker:
        watch = Watch("one", broker)
        watch.failed = failed
        watch.__enter__()
        broker.faults.add(api="EndTxn", action="close", must_hit=True)
        if failed:
            watch.__exit__(None, None, None)
        else:
            with pytest.raises(NeverHit):
                watch.__exit__(None, None, None)
        assert broker.faults.list() == []
