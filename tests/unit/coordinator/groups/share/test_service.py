"""Share groups at work: what they write, and what becomes of silent members."""

from __future__ import annotations

from typing import Any

import pytest
from oncelog.coordinator.groups.group_type import Committer, GroupType
from oncelog.coordinator.groups.share.config import ShareGroupConfig
from oncelog.coordinator.runtime import batches
from oncelog.protocol.errors import ErrorCode as E
from oncelog.protocol.errors import KafkaError
from oncelog.protocol.internal.records import decode_key
from oncelog.protocol.names import CONSUMER_OFFSETS
from oncelog.protocol.records import iter_records
from support.group_machine import Machine
from support.share_groups import INTERVAL_MS, beat, group_of, joined, topic_id


def written(machine: Machine) -> list[list[str]]:
    """What stands in the group's log, batch by batch: the type of each record, with a dash for a tombstone."""
    log = machine.groups.runtime.log(machine.groups.partition_for("g"))
    found = []
    for _header, batch in batches(log):
        names = []
        for record in iter_records(batch):
            name = type(decode_key(CONSUMER_OFFSETS, record.key or b"")).__name__.removeprefix("ShareGroup").removesuffix("Key")
            names.append(f"-{name}" if record.value is None else name)
        found.append(names)
    return found


def test_case_SP10_a_share_group_writes_what_kafka_writes(machine: Machine) -> None:
    joined(machine)
    beat(machine, "m", -1)
    machine.groups.removal.delete_groups(["g"])
    target = ["TargetAssignmentMember", "TargetAssignmentMetadata", "CurrentMemberAssignment"]
    assert written(machine) == [
        ["MemberMetadata", "Metadata", *target, "StatePartitionMetadata"],
        ["StatePartitionMetadata"],
        ["Metadata", *target],
        ["-CurrentMemberAssignment", "-TargetAssignmentMember", "-MemberMetadata", "Metadata"],
        ["StatePartitionMetadata"],
        ["-TargetAssignmentMetadata", "-StatePartitionMetadata", "-Metadata"],
    ]


def test_heartbeats_that_change_nothing_write_nothing(machine: Machine) -> None:
    epoch = joined(machine).member_epoch
    before = written(machine)
    for _ in range(3):
        machine.after(5_000)
        beat(machine, "m", epoch)
    assert written(machine) == before


@pytest.mark.parametrize("own", [None, 50_000])
def test_case_SG22_a_silent_member_is_removed(machine: Machine, own: int | None) -> None:
    limit = own or 45_000
    if own is not None:
        machine.overrides["g"] = {"share.session.timeout.ms": str(own)}
    epoch = joined(machine).member_epoch
    machine.after(limit - 1)
    beat(machine, "m", epoch)
    machine.after(limit - 1)
    assert list(group_of(machine).members) == ["m"]
    machine.after(1)
    assert (group_of(machine).members, group_of(machine).epoch) == ({}, epoch + 1)


def test_after_a_restart_members_have_a_session_to_come_back(machine: Machine) -> None:
    epoch = joined(machine).member_epoch
    machine.after(44_000)
    machine.restart()
    machine.after(44_000)
    assert beat(machine, "m", epoch).member_epoch == epoch
    machine.restart()
    machine.after(45_000)
    assert group_of(machine).members == {}


def test_who_left_or_whose_group_is_gone_is_not_waited_for(machine: Machine) -> None:
    joined(machine)
    beat(machine, "m", -1)
    machine.after(100_000)
    assert group_of(machine).epoch == 4
    machine.groups.removal.delete_groups(["g"])
    machine.after(100_000)
    assert machine.groups.share.find("g") is None


def test_silence_while_the_log_refuses_is_looked_at_again(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    joined(machine)

    def fails(*_args: Any, **_more: Any) -> Any:
        raise KafkaError(E.NOT_COORDINATOR)

    with monkeypatch.context() as refusing:
        refusing.setattr(machine.groups.runtime, "write", fails)
        machine.after(45_000)
    assert list(group_of(machine).members) == ["m"]
    machine.after(1_000)
    assert group_of(machine).members == {}


def test_a_groups_own_settings_count_at_once(machine: Machine) -> None:
    epoch = joined(machine).member_epoch
    machine.overrides["g"] = {"share.heartbeat.interval.ms": "7000", "share.assignment.interval.ms": "0"}
    assert beat(machine, "m", epoch).heartbeat_interval_ms == 7_000
    assert beat(machine, "n", 0, "a").assignment == {topic_id(machine): frozenset({1})}


def test_case_SG12_groups_of_other_types_take_no_share_members(machine: Machine) -> None:
    machine.commit(5)
    for kind in ("classic", "consumer"):
        if kind == "consumer":
            machine.beat("c", 0)
        for epoch in (0, 1, -1):
            with pytest.raises(KafkaError) as raised:
                beat(machine, "m", epoch, "a")
            assert (raised.value.code, raised.value.message) == (E.GROUP_ID_NOT_FOUND, "Group g is not a share group.")
        with pytest.raises(KafkaError, match=r"Group g is not a share group\."):
            machine.groups.share_group_describe("g")


def test_what_is_told_of_a_group(machine: Machine) -> None:
    with pytest.raises(KafkaError, match=r"Group g not found\."):
        machine.groups.share_group_describe("g")
    epoch = joined(machine).member_epoch
    described = machine.groups.share_group_describe("g")
    assert (described.state, described.assignor) == ("Stable", "simple")
    assert (described.group.epoch, described.group.assignment_epoch, described.group.type) == (epoch, epoch, GroupType.SHARE)


def test_until_all_is_loaded_everybody_is_told_so(machine: Machine) -> None:
    machine.groups.runtime.loading = True
    for ask in (lambda: beat(machine, "m", 0, "a"), lambda: machine.groups.share_group_describe("g")):
        with pytest.raises(KafkaError) as raised:
            ask()
        assert raised.value.code is E.COORDINATOR_LOAD_IN_PROGRESS


def test_a_group_that_is_not_there(machine: Machine) -> None:
    share = machine.groups.share
    assert share.find("g") is None
    assert share.tombstones("g") == ()
    assert share.before_deletion("g") is E.NONE
    assert share.validate_commit("g", Committer("m", 1, None, False, 9)) is E.GROUP_ID_NOT_FOUND


def test_the_interval_of_assignments_is_the_brokers() -> None:
    machine = Machine(share=ShareGroupConfig(assignment_interval_ms=0))
    first = beat(machine, "m", 0, "a")
    assert beat(machine, "m", first.member_epoch).assignment == {topic_id(machine): frozenset({0, 1})}
    assert ShareGroupConfig().assignment_interval_ms == INTERVAL_MS
