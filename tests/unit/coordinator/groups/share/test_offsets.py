"""Where share groups begin: told, altered, forgotten."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from oncelog.coordinator.deferred import Deferred
from oncelog.coordinator.groups.share.state import ShareTopic
from oncelog.coordinator.share.persister import SharePartitionKey, StateBatch, StateSummary
from oncelog.protocol.errors import ErrorCode as E
from oncelog.protocol.errors import KafkaError
from oncelog.protocol.names import TopicPartition
from support.group_machine import PLACE, Machine
from support.share_groups import beat, group_of, joined, topic_id

OTHER = TopicPartition("a", 1)


def now(reply: Any) -> Any:
    return reply.result() if isinstance(reply, Deferred) else reply


def summaries(machine: Machine, *places: TopicPartition, group: str = "g") -> list[StateSummary]:
    found: list[StateSummary] = now(machine.groups.share.offsets.describe(group, places))
    return found


def alter(machine: Machine, wanted: dict[TopicPartition, int], group: str = "g") -> Any:
    return now(machine.groups.share.offsets.alter(group, wanted))


def delete(machine: Machine, *names: str, group: str = "g") -> Any:
    return now(machine.groups.share.offsets.delete(group, names))


def refused(what: Any) -> tuple[E, str | None]:
    with pytest.raises(KafkaError) as raised:
        what()
    return raised.value.code, raised.value.message


def test_case_SO03_altering_makes_a_group(machine: Machine) -> None:
    assert alter(machine, {PLACE: 7, OTHER: -1}) == {PLACE: E.NONE, OTHER: E.NONE}
    assert [(one.state_epoch, one.start_offset) for one in summaries(machine, PLACE, OTHER)] == [(1, 7), (1, -1)]
    for _ in range(2):
        group = group_of(machine)
        assert (group.epoch, group.assignment_epoch, group.state.value) == (1, 1, "Empty")
        assert machine.groups.share.offsets.known("g") == [PLACE, OTHER]
        machine.restart()


def test_each_partition_has_its_verdict(machine: Machine) -> None:
    nowhere, none = TopicPartition("a", 2), TopicPartition("none", 0)
    verdicts = alter(machine, {PLACE: 7, nowhere: 1, none: 1})
    assert verdicts == {PLACE: E.NONE, nowhere: E.UNKNOWN_TOPIC_OR_PARTITION, none: E.UNKNOWN_TOPIC_OR_PARTITION}
    assert machine.groups.share.offsets.known("g") == [PLACE]
    assert alter(machine, {none: 1}, group="h") == {none: E.UNKNOWN_TOPIC_OR_PARTITION}
    assert machine.groups.share.find("h") is None, "nothing to write makes no group"


def test_case_SO06_altering_begins_a_new_life(machine: Machine) -> None:
    joined(machine)
    key = SharePartitionKey("g", topic_id(machine), 0)
    assert now(machine.persister.write(key, 2, 0, 0, 3, [StateBatch(0, 2, 2, 1)])) is E.NONE
    beat(machine, "m", -1)
    assert alter(machine, {PLACE: 1}) == {PLACE: E.NONE}
    (after,) = summaries(machine, PLACE)
    assert (after.state_epoch, after.start_offset, max(after.delivery_complete_count, 0)) == (4, 1, 0)
    assert now(machine.persister.write(key, 2, 0, 0, 3, [])) is E.FENCED_STATE_EPOCH, "who still writes the old life is told so"


def test_case_SO02_nobody_alters_a_group_with_members(machine: Machine) -> None:
    joined(machine)
    told = (E.NON_EMPTY_GROUP, "The group is not empty.")
    assert refused(lambda: alter(machine, {PLACE: 1})) == told
    assert refused(lambda: delete(machine, "a")) == told


def test_groups_that_are_not_there(machine: Machine) -> None:
    invalid = (E.INVALID_GROUP_ID, "The group id is invalid.")
    assert refused(lambda: alter(machine, {PLACE: 1}, group="")) == refused(lambda: delete(machine, "a", group="")) == invalid
    assert refused(lambda: delete(machine, "a")) == (E.GROUP_ID_NOT_FOUND, "Group g not found.")
    machine.commit(5)
    told = (E.GROUP_ID_NOT_FOUND, "Group g is not a share group.")
    assert refused(lambda: alter(machine, {PLACE: 1})) == refused(lambda: delete(machine, "a")) == told
    assert summaries(machine, PLACE) == [StateSummary()]
    assert machine.groups.share.offsets.known("g") == []


def test_case_SO01_where_a_group_is(machine: Machine) -> None:
    none = TopicPartition("none", 0)
    assert summaries(machine, PLACE, none) == [StateSummary(), StateSummary()]
    joined(machine)
    key = SharePartitionKey("g", topic_id(machine), 0)
    assert now(machine.persister.write(key, 2, 0, 0, 2, [StateBatch(0, 1, 2, 1)])) is E.NONE
    told = summaries(machine, OTHER, PLACE, none)
    assert (told[0].start_offset, told[2]) == (-1, StateSummary())
    assert (told[1].start_offset, told[1].delivery_complete_count) == (0, 2)


def test_case_SO04_forgetting(machine: Machine) -> None:
    machine.logs.create_topic("b", 1)
    joined(machine)
    beat(machine, "m", -1)
    assert delete(machine, "a", "b", "none") == {"a": E.NONE, "b": None, "none": E.UNKNOWN_TOPIC_OR_PARTITION}
    group = group_of(machine)
    assert (group.initialized, group.initializing, group.deleting) == ({}, {}, {})
    assert delete(machine, "a") == {"a": None}
    assert summaries(machine, PLACE) == [StateSummary()]


def test_case_SO05_a_member_after_that_begins_anew(machine: Machine) -> None:
    alter(machine, {PLACE: 5})
    assert summaries(machine, PLACE)[0].start_offset == 5
    delete(machine, "a")
    assert joined(machine).assignment == {topic_id(machine): frozenset({0, 1})}
    (after,) = summaries(machine, PLACE)
    assert (after.start_offset, after.state_epoch) == (-1, 2)


def test_whoever_serves_a_share_partition_hears_of_it(machine: Machine) -> None:
    heard: list[SharePartitionKey] = []
    machine.groups.on_share_reset = heard.append
    key = SharePartitionKey("g", topic_id(machine), 0)
    alter(machine, {PLACE: 5})
    delete(machine, "a")
    assert heard == [key, key]


def test_case_SG11_a_group_goes_with_its_states(machine: Machine) -> None:
    joined(machine)
    assert machine.groups.removal.delete_groups(["g"]) == {"g": E.NON_EMPTY_GROUP}
    beat(machine, "m", -1)
    assert machine.groups.removal.delete_groups(["g"]) == {"g": E.NONE}
    assert machine.groups.removal.delete_groups(["g"]) == {"g": E.GROUP_ID_NOT_FOUND}
    assert now(machine.persister.summary([SharePartitionKey("g", topic_id(machine), 0)])) == [StateSummary()]


class Slow:
    """Stands in front of the share coordinator, which forgets when a test says so."""

    def __init__(self, machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[list[SharePartitionKey]] = []
        self.answers: list[Deferred[list[E]]] = []
        monkeypatch.setattr(machine.persister, "delete", self.delete)

    def delete(self, keys: Sequence[SharePartitionKey]) -> Deferred[list[E]]:
        self.asked.append(list(keys))
        self.answers.append(Deferred())
        return self.answers[-1]

    def answer(self, code: E = E.NONE) -> None:
        self.answers[-1].resolve([code] * len(self.asked[-1]))


def test_who_joins_while_a_group_is_deleted_keeps_it(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    joined(machine)
    beat(machine, "m", -1)
    slow = Slow(machine, monkeypatch)
    reply = machine.groups.removal.delete_groups(["g"])["g"]
    beat(machine, "n", 0, "a")
    assert group_of(machine).deleting == {topic_id(machine): "a"}
    assert group_of(machine).initializing == {}, "not before the old states are gone"
    slow.answer()
    assert now(reply) is E.NON_EMPTY_GROUP
    beat(machine, "n", group_of(machine).members["n"].epoch)
    assert group_of(machine).initialized == {topic_id(machine): ShareTopic("a", frozenset({0, 1}))}


def test_a_group_whose_states_do_not_go_stays(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    joined(machine)
    beat(machine, "m", -1)
    slow = Slow(machine, monkeypatch)
    reply = machine.groups.removal.delete_groups(["g"])["g"]
    slow.answer(E.NOT_COORDINATOR)
    assert now(reply) is E.NOT_COORDINATOR
    assert group_of(machine).deleting == {topic_id(machine): "a"}
    again = machine.groups.removal.delete_groups(["g"])["g"]
    assert slow.asked[1] == slow.asked[0], "all partitions again"
    slow.answer()
    assert now(again) is E.NONE


def test_a_deletion_that_a_crash_cut_short_is_finished_by_a_heartbeat(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    joined(machine)
    beat(machine, "m", -1)
    with monkeypatch.context() as slowly:
        Slow(machine, slowly)
        machine.groups.share.offsets.delete("g", ["a"])
    machine.restart()
    assert group_of(machine).deleting == {topic_id(machine): "a"}
    assert beat(machine, "n", 0, "a").assignment == {}
    assert group_of(machine).deleting == {}
    assert joined(machine, "n").assignment == {topic_id(machine): frozenset({0, 1})}
