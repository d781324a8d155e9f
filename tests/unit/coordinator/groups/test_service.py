"""The group coordinator on a real log: what is written, what a restart finds, what a moved clock ends, who may commit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from oncelog.coordinator.groups.classic.join import JoinGroup
from oncelog.coordinator.groups.classic.requests import Heartbeat, LeavingMember, SyncGroup
from oncelog.coordinator.groups.classic.state import JoinGroupResult, MemberProtocol
from oncelog.coordinator.groups.config import GroupConfig
from oncelog.coordinator.groups.consumer.heartbeat import ConsumerHeartbeat, HeartbeatAnswer
from oncelog.coordinator.groups.offsets.service import FetchedOffset
from oncelog.coordinator.groups.offsets.state import OffsetToCommit
from oncelog.coordinator.groups.service import GroupService
from oncelog.protocol.errors import ErrorCode as E
from oncelog.protocol.errors import KafkaError
from oncelog.protocol.names import TopicPartition
from oncelog.storage.config import LogConfig
from oncelog.storage.directory.manager import LogManager
from oncelog.storage.env import Env, SeededRandom
from oncelog.storage.log.flush import InlineFlusher
from support.simfs import SimFileSystem
from support.txn_bench import HandClock

PLACE = TopicPartition("a", 0)
SUBSCRIPTION = bytes.fromhex("0001000000010001") + b"a" + bytes.fromhex("ffffffff00000000")


class Machine:
    def __init__(self, **settings: Any) -> None:
        self.clock = HandClock()
        self.fs = SimFileSystem(1, self.clock.time_ms)
        self.config = GroupConfig(offsets_topic_num_partitions=2, group_initial_rebalance_delay_ms=0, **settings)
        self.start()
        self.logs.create_topic("a", 2)

    def start(self) -> None:
        self.env = Env(self.clock, SeededRandom(1), self.fs)
        self.logs = LogManager(self.env, Path("/data"), LogConfig(), InlineFlusher())
        self.logs.start()
        self.groups = GroupService(self.env, self.logs, self.config)
        self.groups.start()

    def restart(self) -> None:
        """As after kill -9."""
        self.fs.kill()
        self.start()

    def after(self, ms: int) -> None:
        self.clock.now_ms += ms
        self.groups.tick(self.clock.time_ms())

    # -- shorthands

    def beat(self, member: str, epoch: int, **fields: Any) -> HeartbeatAnswer:
        if epoch == 0:
            fields = {"rebalance_timeout_ms": 5_000, "topic_names": ("a",), "owned": {}} | fields
        answer = self.groups.consumer_group_heartbeat(ConsumerHeartbeat("g", member, epoch, **fields), lambda _name: True)
        assert isinstance(answer, HeartbeatAnswer)
        return answer

    def join(self, member: str = "", *, new: str = "c1", protocol_type: str = "consumer") -> Any:
        request = JoinGroup(
            "g", member, None, "client", "/h", 10_000, 5_000, protocol_type, (MemberProtocol("range", SUBSCRIPTION),), new, False, True
        )
        return self.groups.join_group(request)

    def commit(self, offset: int, member: str = "", epoch: int = -1, *, version: int = 9) -> E:
        wanted = {PLACE: OffsetToCommit(offset, -1, "")}
        verdicts = self.groups.offsets.commit("g", member, epoch, None, wanted, api_version=version)
        assert isinstance(verdicts, dict)
        return verdicts[PLACE]

    def committed(self, *, stable: bool = False) -> FetchedOffset:
        found = self.groups.offsets.fetch("g", [PLACE], require_stable=stable)
        assert isinstance(found, dict)
        return found[PLACE]

    def txn_commit(self, offset: int, producer_id: int, member: str = "", epoch: int = -1) -> E:
        wanted = {PLACE: OffsetToCommit(offset, -1, "")}
        verdicts = self.groups.offsets.commit_in_transaction("g", member, epoch, None, wanted, producer_id=producer_id, producer_epoch=0)
        assert isinstance(verdicts, dict)
        return verdicts[PLACE]

    def end(self, producer_id: int, commit: bool) -> None:
        """What the transaction coordinator does: a marker in the group's partition."""
        partition = self.groups.partition_for("g")
        log = self.groups.runtime.log(partition)
        offset = log.append_marker(producer_id, 0, 0, commit, self.clock.time_ms()).base_offset
        self.groups.replay_marker(partition, producer_id, 0, commit, offset)


@pytest.fixture
def machine() -> Iterator[Machine]:
    started = Machine()
    yield started
    started.logs.stop()


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


def test_an_empty_consumer_group_becomes_classic_and_keeps_its_offsets(machine: Machine) -> None:
    machine.beat("m1", 0)
    machine.commit(5, "m1", 2)
    machine.beat("m1", -1)
    joined = machine.join()
    assert isinstance(joined, JoinGroupResult)
    assert (joined.error, joined.generation_id) == (E.NONE, 1)
    assert machine.committed().offset == 5
    assert [group.kind for group in machine.groups.listing.list()] == ["classic"]
    machine.restart()
    assert machine.committed().offset == 5
    assert machine.groups.listing.describe("g").state == "Empty"


def test_up_and_down_again(machine: Machine) -> None:
    joined = machine.join()
    given = bytes.fromhex("0001000000010001") + b"a" + bytes.fromhex("000000020000000000000001ffffffff")
    machine.groups.sync_group(SyncGroup("g", joined.generation_id, joined.member_id, None, "consumer", "range", {joined.member_id: given}))
    answer = machine.beat("m1", 0)
    assert (answer.error, answer.assignment) == (E.NONE, {})  # the classic member has both
    assert [group.kind for group in machine.groups.listing.list()] == ["consumer"]
    assert machine.groups.heartbeat(Heartbeat("g", joined.generation_id, joined.member_id)) is E.REBALANCE_IN_PROGRESS
    again = machine.join(joined.member_id)
    assert (again.error, again.leader) == (E.NONE, "")
    synced = machine.groups.sync_group(SyncGroup("g", again.generation_id, joined.member_id, None, "consumer", "range"))
    assert synced.error is E.NONE
    assert synced.assignment[:2] == b"\x00\x01"
    assert machine.beat("m1", answer.member_epoch, owned={}).assignment
    machine.beat("m1", -1)
    assert [group.kind for group in machine.groups.listing.list()] == ["classic"]
    assert machine.groups.heartbeat(Heartbeat("g", 3, joined.member_id)) is E.REBALANCE_IN_PROGRESS
    machine.restart()
    assert [group.kind for group in machine.groups.listing.list()] == ["classic"]


def test_no_upgrade_where_the_policy_forbids_it() -> None:
    machine = Machine(group_consumer_migration_policy="disabled")
    machine.join()
    with pytest.raises(KafkaError) as caught:
        machine.beat("m1", 0)
    assert caught.value.code is E.GROUP_ID_NOT_FOUND


def test_a_silent_classic_member_goes(machine: Machine) -> None:
    joined = machine.join()
    machine.groups.sync_group(SyncGroup("g", 1, joined.member_id, None, None, None, {}))
    machine.after(9_999)
    assert machine.groups.listing.describe("g").state == "Stable"
    machine.after(2)
    assert machine.groups.listing.describe("g").state == "Empty"


def test_a_member_that_never_syncs_goes(machine: Machine) -> None:
    machine.join()
    machine.after(5_001)
    assert machine.groups.listing.describe("g").state == "Empty"


def test_a_group_is_not_deleted_while_it_has_members(machine: Machine) -> None:
    machine.beat("m1", 0)
    assert machine.groups.removal.delete_groups(["g", "none"]) == {"g": E.NON_EMPTY_GROUP, "none": E.GROUP_ID_NOT_FOUND}
    assert machine.groups.leave_group("g", [LeavingMember("m1"), LeavingMember("zz")]) == (E.NONE, [E.NONE, E.UNKNOWN_MEMBER_ID])
    assert machine.groups.removal.delete_groups(["g"]) == {"g": E.NONE}
    machine.restart()
    assert machine.groups.listing.list() == []


# -- offsets and transactions: cases 85 to 90 of the transaction rules


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


def test_offsets_go_after_their_retention_and_the_group_with_them() -> None:
    machine = Machine(offsets_retention_minutes=1, offsets_retention_check_interval_ms=1_000)
    machine.commit(5)
    machine.after(59_000)
    assert machine.committed().offset == 5
    machine.after(2_000)
    assert machine.committed().offset == -1
    assert machine.groups.listing.list() == []
