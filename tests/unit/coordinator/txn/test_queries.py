"""DescribeTransactions and ListTransactions."""

from __future__ import annotations

from oncelog.protocol.errors import ErrorCode as E
from oncelog.protocol.names import TopicPartition
from support.txn_machine import Machine


def test_case_91_and_92_describe_and_list(machine: Machine) -> None:
    pair = machine.init()
    machine.init("prefix-u")
    machine.produce(pair, 2, 0)
    found = machine.service.describe("t")
    assert (found.state, found.partitions, found.start_timestamp_ms) == ("Ongoing", {TopicPartition("a", 2)}, machine.clock.now_ms)
    assert machine.service.describe("nobody").error is E.TRANSACTIONAL_ID_NOT_FOUND
    assert machine.service.describe("").error is E.INVALID_REQUEST
    listed = machine.service.list(["Ongoing", "Bogus"])
    assert (listed.unknown_states, [each.transactional_id for each in listed.transactions]) == (("Bogus",), ["t"])
    assert [each.transactional_id for each in machine.service.list(pattern="prefix.*").transactions] == ["prefix-u"]
    assert machine.service.list(pattern="prefix").transactions == ()
    assert machine.service.list(pattern="(").error is E.INVALID_REGULAR_EXPRESSION
    assert len(machine.service.list(pattern="").transactions) == 2
    assert machine.service.list(["bogus"]).transactions == ()
