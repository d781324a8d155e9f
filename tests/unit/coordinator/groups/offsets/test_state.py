"""Offsets and transactions: cases 85 to 90 of the transaction rules."""

from __future__ import annotations

import uuid

import pytest
from oncelog.coordinator.groups.offsets.state import OffsetToCommit, commit_record
from oncelog.protocol.errors import ErrorCode as E
from oncelog.protocol.internal.records import decode_key, decode_value
from oncelog.protocol.names import CONSUMER_OFFSETS
from support.group_machine import PLACE, Machine


@pytest.mark.parametrize("topic_id", [None, uuid.UUID(int=0), uuid.UUID(int=5)])
def test_the_content_of_a_commit_is_what_its_record_is_read_as(topic_id: uuid.UUID | None) -> None:
    record = commit_record("g", PLACE, OffsetToCommit(7, 3, "note"), topic_id, 1_000)
    key = decode_key(CONSUMER_OFFSETS, record.key)
    assert record.content == (key, decode_value(key, record.value))


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
