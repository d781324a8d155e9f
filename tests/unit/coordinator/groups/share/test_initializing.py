"""Share partitions get their state from the share coordinator, which may be slow, refuse, or be asked again."""

from __future__ import annotations

import pytest
from oncelog.coordinator.deferred import Deferred, Reply
from oncelog.coordinator.groups.share import pieces
from oncelog.coordinator.groups.share.state import ShareTopic
from oncelog.coordinator.share.persister import SharePartitionKey
from oncelog.protocol.errors import ErrorCode as E
from support.group_machine import Machine
from support.share_groups import INTERVAL_MS, beat, group_of, joined, topic_id


class Slow:
    """Stands in front of the share coordinator, whose answers come when a test says so."""

    def __init__(self, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[tuple[SharePartitionKey, int, int]] = []
        self.answers: list[Deferred[E]] = []
        monkeypatch.setattr(machine.persister, "initialize", self.initialize)

    def initialize(self, key: SharePartitionKey, state_epoch: int, start_offset: int) -> Reply[E]:
        self.asked.append((key, state_epoch, start_offset))
        self.answers.append(Deferred())
        return self.answers[-1]


def test_each_partition_is_asked_for_with_the_groups_epoch_and_assigned_when_it_is_there(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Slow(machine, monkeypatch)
    beat(machine, "m", 0, "a")
    keys = [SharePartitionKey("g", topic_id(machine), p) for p in (0, 1)]
    assert slow.asked == [(key, 2, -1) for key in keys]
    machine.after(INTERVAL_MS)
    assert beat(machine, "m", 2).assignment is None
    assert len(slow.asked) == 2, "it is being asked already"
    for answer in slow.answers:
        answer.resolve(E.NONE)
    assert group_of(machine).initialized == {topic_id(machine): ShareTopic("a", frozenset({0, 1}))}
    assert beat(machine, "m", 2).assignment == {topic_id(machine): frozenset({0, 1})}


def test_what_was_refused_is_asked_for_at_the_next_heartbeat(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Slow(machine, monkeypatch)
    beat(machine, "m", 0, "a")
    slow.answers[0].resolve(E.NONE)
    slow.answers[1].resolve(E.COORDINATOR_NOT_AVAILABLE)
    group = group_of(machine)
    assert (group.initializing, group.initialized) == ({}, {topic_id(machine): ShareTopic("a", frozenset({0}))})
    beat(machine, "m", 2)
    assert [key.partition for key, _epoch, _start in slow.asked] == [0, 1, 1]


def test_without_an_answer_it_is_asked_again_after_the_interval(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Slow(machine, monkeypatch)
    beat(machine, "m", 0, "a")
    machine.after(29_999)
    beat(machine, "m", 2)
    assert len(slow.asked) == 2
    machine.after(1)
    beat(machine, "m", 2)
    assert len(slow.asked) == 4


def test_after_a_restart_it_is_asked_again(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as slowly:
        Slow(machine, slowly)
        beat(machine, "m", 0, "a")
    machine.restart()
    assert group_of(machine).initializing
    machine.after(INTERVAL_MS)
    beat(machine, "m", 2)
    assert beat(machine, "m", 2).assignment == {topic_id(machine): frozenset({0, 1})}


def test_a_group_that_went_meanwhile_does_not_come_back(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Slow(machine, monkeypatch)
    beat(machine, "m", 0, "a")
    beat(machine, "m", -1)
    assert machine.groups.removal.delete_groups(["g"]) == {"g": E.NONE}
    for answer in slow.answers:
        answer.resolve(E.NONE)
    assert machine.groups.listing.list() == []


def test_many_partitions_are_asked_for_in_turns(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE", 2)
    machine.logs.create_topic("many", 7)
    beat(machine, "m", 0, "many")
    seen = [sum(len(topic.partitions) for topic in group_of(machine).initialized.values())]
    for _ in range(6):
        machine.after(1)
        seen.append(sum(len(topic.partitions) for topic in group_of(machine).initialized.values()))
    assert seen[-1] == 7
    machine.after(INTERVAL_MS)
    answer = beat(machine, "m", 2)
    assert answer.assignment == {topic_id(machine, "many"): frozenset(range(7))}


def test_a_deleted_topic_leaves_every_group(machine: Machine) -> None:
    machine.logs.create_topic("b", 1)
    for group in ("g", "h"):
        joined(machine, "m", "a", "b", group=group)
    machine.logs.begin_delete_topic("a", lambda _error: None)
    machine.groups.on_topic_deleted("a")
    machine.after(1)
    for group in ("g", "h"):
        assert group_of(machine, group).initialized == {topic_id(machine, "b"): ShareTopic("b", frozenset({0}))}
    before = machine.groups.runtime.log(machine.groups.partition_for("g")).log_end_offset
    machine.groups.on_topic_deleted("a")
    machine.after(1)
    assert machine.groups.runtime.log(machine.groups.partition_for("g")).log_end_offset == before, "nothing is written twice"
