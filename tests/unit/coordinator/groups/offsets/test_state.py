"""Offsets and transactions: cases 85 to 90 of the transaction rules."""

from __future__ import annotations

from oncelog.protocol.errors import ErrorCode as E
from support.group_machine import PLACE, Machine


def test_85_86_pending_over_committed(machine: Machine) -> None:
    machine.commit(5)
    machine.txn_commit(7, 1000)
    assert machine.committed(stable=True).error is E.UNSTABLE_OFFSET_COMMIT
    assert machine.committed().offset == 5
    machine.end(1000, commit=False)
    assert machine.committed(stable=True).offset == 5
    machine.txn_commit(7, 1000)
    machine.end(1000, commit=True)
    assert machine.committed(stable=True).offset == 7


def test_87_the_later_record_wins(machine: Machine) -> None:
    machine.txn_commit(7, 1000)
    machine.commit(9)
    machine.end(1000, commit=True)
    assert machine.committed(stable=True).offset == 9
    machine.restart()
    assert machine.committed(stable=True).offset == 9


def test_88_deleting_takes_what_is_pending_too(machine: Machine) -> None:
    machine.txn_commit(7, 1000)
    machine.groups.offsets.delete("g", [PLACE])
    machine.end(1000, commit=True)
    assert machine.committed(stable=True).offset == -1


def test_89_unstable_until_the_last_producer_ends(machine: Machine) -> None:
    machine.txn_commit(7, 1000)
    machine.txn_commit(8, 1001)
    machine.end(1000, commit=True)
    assert machine.committed(stable=True).error is E.UNSTABLE_OFFSET_COMMIT
    machine.end(1001, commit=True)
    assert machine.committed(stable=True).offset == 8
