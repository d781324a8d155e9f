"""Who may commit."""

from __future__ import annotations

from oncelog.protocol.errors import ErrorCode as E
from support.group_machine import Machine


def test_who_may_commit_to_a_consumer_group(machine: Machine) -> None:
    machine.beat("m1", 0)
    assert machine.commit(5, "m1", 2) is E.NONE
    assert machine.commit(5, "m1", 1) is E.STALE_MEMBER_EPOCH
    assert machine.commit(5, "m1", 2, version=8) is E.UNSUPPORTED_VERSION
    assert machine.commit(5, "zz", 2) is E.UNKNOWN_MEMBER_ID
    assert machine.commit(5) is E.UNKNOWN_MEMBER_ID
    assert machine.txn_commit(6, 1000) is E.NONE  # fenced by its producer
    assert machine.txn_commit(6, 1000, "m1", 1) is E.ILLEGAL_GENERATION
    machine.beat("m1", -1)
    assert machine.commit(5) is E.NONE
