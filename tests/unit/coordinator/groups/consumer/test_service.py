"""KIP-848 groups on a real log: what a restart finds, whom a moved clock ends, who may upgrade a group."""

from __future__ import annotations

import pytest
from oncelog.protocol.errors import ErrorCode as E
from oncelog.protocol.errors import KafkaError
from support.group_machine import Machine


def test_a_restart_keeps_consumer_members(machine: Machine) -> None:
    machine.beat("m1", 0)
    machine.after(1_000)
    machine.beat("m2", 0)
    before = machine.groups.consumer.find("g")
    machine.restart()
    assert machine.groups.consumer.find("g") == before
    assert machine.beat("m1", 2).error is E.NONE


def test_silent_consumer_members_go(machine: Machine) -> None:
    machine.beat("m1", 0)
    machine.after(45_001)
    group = machine.groups.consumer.find("g")
    assert group is not None
    assert not group.members
    with pytest.raises(KafkaError) as caught:
        machine.beat("m1", 2)
    assert caught.value.code is E.UNKNOWN_MEMBER_ID


def test_a_member_that_gives_nothing_up_goes_after_its_rebalance_timeout(machine: Machine) -> None:
    machine.beat("m1", 0)
    machine.after(1_000)
    machine.beat("m2", 0)
    machine.beat("m1", 2)  # told to give one up
    machine.after(4_999)
    machine.beat("m1", 2)
    machine.after(2)
    group = machine.groups.consumer.find("g")
    assert group is not None
    assert set(group.members) == {"m2"}


def test_no_upgrade_where_the_policy_forbids_it() -> None:
    machine = Machine(group_consumer_migration_policy="disabled")
    machine.join()
    with pytest.raises(KafkaError) as caught:
        machine.beat("m1", 0)
    assert caught.value.code is E.GROUP_ID_NOT_FOUND
