"""Members of the classic protocol within a consumer group, and groups that change from one protocol to the other."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import replace

import pytest
from oncelog.coordinator.groups.classic.join import JoinGroup
from oncelog.coordinator.groups.classic.requests import Heartbeat, SyncGroup
from oncelog.coordinator.groups.classic.state import ClassicGroup, ClassicGroupState, ClassicMember, MemberProtocol
from oncelog.coordinator.groups.consumer.assignors import Assignment
from oncelog.coordinator.groups.consumer.classic_members import can_downgrade, downgrade, heartbeat, join, sync, upgrade
from oncelog.coordinator.groups.consumer.draft import Draft
from oncelog.coordinator.groups.consumer.state import ConsumerGroup, ConsumerMember, MemberState
from oncelog.protocol import messages
from oncelog.protocol.errors import ErrorCode as E
from oncelog.protocol.errors import KafkaError
from oncelog.protocol.internal.consumer_groups import ClassicMemberMetadata
from support.consumer_group import LIMITS, A, B, FakeTopics, group_of, member, parts

NAMES = {A: "a", B: "b"}


def topics() -> FakeTopics:
    made = FakeTopics()
    made.put("a", 4)
    made.put("b", 2)
    return made


def places(kind: object, partitions: Mapping[uuid.UUID, frozenset[int]]) -> list[object]:
    return [kind.TopicPartition(topic=NAMES[topic_id], partitions=sorted(numbers)) for topic_id, numbers in partitions.items()]  # type: ignore[attr-defined]


def subscribed(*names: str, owned: Assignment | None = None, version: int = 1) -> bytes:
    kind = messages.ConsumerProtocolSubscription
    message = kind(topics=list(names), user_data=None, owned_partitions=places(kind, owned or {}), rack_id="r1" if version >= 3 else None)
    return messages.encode_data("ConsumerProtocolSubscription", version, message)


def assigned(partitions: Assignment, version: int = 1) -> bytes:
    kind = messages.ConsumerProtocolAssignment
    return messages.encode_data("ConsumerProtocolAssignment", version, kind(assigned_partitions=places(kind, partitions), user_data=None))


def given(data: bytes) -> dict[str, list[int]]:
    return {each.topic: each.partitions for each in messages.decode_data("ConsumerProtocolAssignment", data).assigned_partitions}  # type: ignore[attr-defined]


def old(member_id: str = "m", metadata: bytes | None = None, **fields: object) -> ConsumerMember:
    supported = [("range", subscribed("a") if metadata is None else metadata), ("sticky", b"")]
    return member(member_id, classic=ClassicMemberMetadata(9_000, supported), **fields)


def asks(
    member_id: str = "", *, metadata: bytes | None = None, protocols: tuple[str, ...] = ("range",), known_id: bool = True, **fields: object
) -> JoinGroup:
    each = tuple(MemberProtocol(name, subscribed("a") if metadata is None else metadata) for name in protocols)
    return replace(JoinGroup("g", member_id, None, "c", "/h", 9_000, 5_000, "consumer", each, "new", known_id, True), **fields)  # type: ignore[arg-type]


def code(error: pytest.ExceptionInfo[KafkaError]) -> E:
    return error.value.code


# -- JoinGroup


def test_a_dynamic_member_asks_twice_where_its_version_wants_it() -> None:
    draft = Draft(ConsumerGroup("g"))
    answer = join(draft, asks(), "new", topics(), LIMITS, 0)
    assert (answer.error, answer.member_id, draft.records) == (E.MEMBER_ID_REQUIRED, "new", [])
    for request in (asks(known_id=False), asks("new"), asks(group_instance_id="i")):
        answer = join(Draft(ConsumerGroup("g")), request, "new", topics(), LIMITS, 0)
        assert (answer.error, answer.member_id, answer.generation_id, answer.leader) == (E.NONE, "new", 2, "")
        assert (answer.protocol_type, answer.protocol_name) == ("consumer", "range")


def test_what_the_subscription_says_becomes_the_members() -> None:
    draft = Draft(ConsumerGroup("g"))
    metadata = subscribed("b", "a", "a", version=3)
    join(draft, asks("m", metadata=metadata, group_instance_id=None), "new", topics(), LIMITS, 0)
    one = draft.group.members["m"]
    assert (one.topic_names, one.rack_id, one.rebalance_timeout_ms, one.client_id) == (("a", "b"), "r1", 5_000, "c")
    assert one.classic == ClassicMemberMetadata(9_000, [("range", metadata)])
    assert one.assigned == {A: frozenset(range(4)), B: frozenset(range(2))}


def test_what_it_says_it_owns_is_what_it_may_keep() -> None:
    """It has let go of partition 1, so the rest of the target is its at once."""
    draft = Draft(group_of(old(assigned=parts(0, 1)), targets={"m": parts(0)}, epoch=6, assigned=6))
    answer = join(draft, asks("m", metadata=subscribed("a", owned=parts(0))), "new", topics(), LIMITS, 0)
    assert (answer.generation_id, draft.group.members["m"].state) == (6, MemberState.STABLE)
    draft = Draft(group_of(old(assigned=parts(0, 1)), targets={"m": parts(0)}, epoch=6, assigned=6))
    draft.put_epoch(6, -1)
    answer = join(
        draft, asks("m", metadata=subscribed("a", owned=parts(0, 1))), "new", topics(), replace(LIMITS, assignment_interval_ms=9), 0
    )
    assert (answer.generation_id, draft.group.members["m"].revoking) == (5, parts(1))


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (asks("x", protocol_type="connect"), E.INCONSISTENT_GROUP_PROTOCOL),
        (asks("x", protocols=()), E.INCONSISTENT_GROUP_PROTOCOL),
        (asks("x", protocols=("other",)), E.INCONSISTENT_GROUP_PROTOCOL),
        (asks("x", metadata=b"\0"), E.INCONSISTENT_GROUP_PROTOCOL),
        (asks("x", metadata=b"\0\1\0\0\0\7"), E.INCONSISTENT_GROUP_PROTOCOL),
        (asks("x", group_instance_id="i"), E.FENCED_INSTANCE_ID),
        (asks("x", group_instance_id="none"), E.UNKNOWN_MEMBER_ID),
    ],
)
def test_refused_joins(request_: JoinGroup, error: E) -> None:
    group = group_of(old(instance_id="i"))
    draft = Draft(group)
    with pytest.raises(KafkaError) as refused:
        join(draft, request_, "new", topics(), LIMITS, 0)
    assert code(refused) is error


def test_a_full_group_takes_its_own_members_only() -> None:
    group, full = group_of(old()), replace(LIMITS, max_size=1)
    with pytest.raises(KafkaError) as refused:
        join(Draft(group), asks("x"), "new", topics(), full, 0)
    assert code(refused) is E.GROUP_MAX_SIZE_REACHED
    assert join(Draft(group), asks("m"), "new", topics(), full, 0).error is E.NONE


def test_its_own_former_protocols_bind_no_member() -> None:
    assert join(Draft(group_of(old())), asks("m", protocols=("other",)), "new", topics(), LIMITS, 0).protocol_name == "other"


def test_a_static_member_without_id_takes_the_place_of_its_former_self() -> None:
    draft = Draft(group_of(old(instance_id="i", assigned=parts(0)), targets={"m": parts(0)}))
    answer = join(draft, asks(group_instance_id="i"), "new", topics(), LIMITS, 0)
    assert (answer.error, answer.member_id) == (E.NONE, "new")
    assert list(draft.group.members) == ["new"]
    assert draft.group.static_members == {"i": "new"}
    assert parts(0)[A] <= draft.group.members["new"].assigned[A]


# -- SyncGroup and Heartbeat


def asks_sync(**fields: object) -> SyncGroup:
    return replace(SyncGroup("g", 5, "m", None, "consumer", "range"), **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_partitions_are_told_in_the_members_own_version(version: int) -> None:
    group = group_of(
        old(metadata=subscribed("a", version=version), assigned={**parts(1, 0), **parts(0, of=B), uuid.UUID(int=9): frozenset({1})})
    )
    answer = sync(group, asks_sync(), topics())
    assert (answer.error, answer.protocol_type, answer.protocol_name) == (E.NONE, "consumer", "range")
    assert int.from_bytes(answer.assignment[:2]) == version
    assert given(answer.assignment) == {"a": [0, 1], "b": [0]}  # the topic that is gone is not told


@pytest.mark.parametrize("metadata", [b"\x7f\xff", b"\xff\xff", b""])
def test_a_version_that_is_none_is_told_in_one_that_is(metadata: bytes) -> None:
    answer = sync(group_of(old(metadata=metadata, assigned=parts(2))), asks_sync(), topics())
    assert int.from_bytes(answer.assignment[:2]) == (3 if metadata[:1] == b"\x7f" else 0)
    assert given(answer.assignment) == {"a": [2]}


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"member_id": "x"}, E.UNKNOWN_MEMBER_ID),
        ({"member_id": "new protocol"}, E.UNKNOWN_MEMBER_ID),
        ({"generation_id": 4}, E.ILLEGAL_GENERATION),
        ({"generation_id": 6}, E.ILLEGAL_GENERATION),
        ({"group_instance_id": "none"}, E.UNKNOWN_MEMBER_ID),
        ({"group_instance_id": "i", "member_id": "x"}, E.FENCED_INSTANCE_ID),
        ({"protocol_type": "connect"}, E.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_name": "sticky"}, E.INCONSISTENT_GROUP_PROTOCOL),
    ],
)
def test_refused_syncs_and_heartbeats(fields: dict[str, object], error: E) -> None:
    group = group_of(old(instance_id="i"), member("new protocol"))
    with pytest.raises(KafkaError) as refused:
        sync(group, asks_sync(**fields), topics())
    assert code(refused) is error
    if not {"protocol_type", "protocol_name"} & fields.keys():
        with pytest.raises(KafkaError) as refused:
            heartbeat(group, replace(Heartbeat("g", 5, "m"), **fields))  # type: ignore[arg-type]
        assert code(refused) is error


def test_before_version_5_no_protocol_is_named() -> None:
    assert sync(group_of(old()), asks_sync(protocol_type=None, protocol_name=None), topics()).error is E.NONE


@pytest.mark.parametrize(
    ("fields", "epoch", "others", "answer"),
    [
        ({}, 5, (), E.NONE),
        ({}, 6, (), E.REBALANCE_IN_PROGRESS),
        ({"state": MemberState.UNREVOKED_PARTITIONS}, 5, (), E.REBALANCE_IN_PROGRESS),
        ({"state": MemberState.UNRELEASED_PARTITIONS}, 5, (), E.REBALANCE_IN_PROGRESS),
        ({"state": MemberState.UNRELEASED_PARTITIONS}, 5, (member("n", assigned=parts(1)),), E.NONE),
        ({"state": MemberState.UNRELEASED_PARTITIONS}, 5, (member("n", revoking=parts(1)),), E.NONE),
        ({"state": MemberState.UNRELEASED_PARTITIONS}, 5, (member("n", assigned=parts(3)),), E.REBALANCE_IN_PROGRESS),
    ],
)
def test_a_heartbeat_asks_to_join_again_when_that_brings_the_member_further(
    fields: dict[str, object], epoch: int, others: tuple[ConsumerMember, ...], answer: E
) -> None:
    group = group_of(old(assigned=parts(0), **fields), *others, targets={"m": parts(0, 1)}, epoch=epoch)
    assert heartbeat(group, Heartbeat("g", 5, "m")) is answer


# -- conversion


def classic(*members: ClassicMember, generation: int = 7) -> ClassicGroup:
    group = ClassicGroup("g", state=ClassicGroupState.STABLE, generation_id=generation)
    for one in members:
        group.add(one)
    return group


def classic_member(member_id: str, assignment: bytes, *, instance: str | None = None, metadata: bytes | None = None) -> ClassicMember:
    protocols = (MemberProtocol("range", subscribed("a") if metadata is None else metadata), MemberProtocol("sticky", b""))
    return ClassicMember(member_id, instance, "c", "/h", 5_000, 9_000, "consumer", protocols, assignment=assignment)


def test_up_and_down_keeps_members_partitions_and_generation() -> None:
    before = classic(
        classic_member("m", assigned(parts(0, 1)), instance="i"), classic_member("n", assigned(parts(2))), classic_member("idle", b"")
    )
    draft = upgrade(before, topics(), LIMITS, allowed=True)
    group = draft.group
    assert (group.epoch, group.assignment_epoch) == (7, 7)
    assert {name: one.assigned for name, one in group.members.items()} == {"m": parts(0, 1), "n": parts(2), "idle": {}}
    assert group.targets == {name: one.assigned for name, one in group.members.items()}
    assert {one.epoch for one in group.members.values()} == {7}
    assert group.static_members == {"i": "m"}
    assert can_downgrade(group)
    after = downgrade(group, topics(), 123)
    assert (after.state, after.state_timestamp_ms, after.generation_id) == (ClassicGroupState.STABLE, 123, 7)
    assert (after.protocol_type, after.protocol_name, after.leader, after.static_members) == ("consumer", "range", "m", {"i": "m"})
    for name, one in after.members.items():
        assert replace(one, assignment=b"") == replace(before.members[name], assignment=b"")
    assert {name: given(one.assignment) for name, one in after.members.items()} == {"m": {"a": [0, 1]}, "n": {"a": [2]}, "idle": {}}


def test_a_generation_below_the_first_epoch_is_raised_to_it() -> None:
    assert upgrade(classic(classic_member("m", b""), generation=0), topics(), LIMITS, allowed=True).group.epoch == 1


def test_partitions_of_topics_that_are_gone_are_not_taken_over() -> None:
    lost = FakeTopics()
    lost.put("b", 2)
    before = classic(classic_member("m", assigned({**parts(0), **parts(1, of=B)})))
    assert upgrade(before, lost, LIMITS, allowed=True).group.members["m"].assigned == parts(1, of=B)


@pytest.mark.parametrize(
    ("one", "limits", "allowed", "why"),
    [
        (classic_member("m", b""), LIMITS, False, "the online upgrade is disabled"),
        (replace(classic_member("m", b""), protocol_type="connect"), LIMITS, True, "does not use the consumer embedded protocol"),
        (classic_member("m", b""), replace(LIMITS, max_size=1), True, "too many members"),
        (classic_member("m", b"", metadata=b"\0\1"), LIMITS, True, "malformed"),
        (classic_member("m", b"\0\1\0"), LIMITS, True, "malformed"),
    ],
)
def test_refused_upgrades(one: ClassicMember, limits: object, allowed: bool, why: str) -> None:
    with pytest.raises(KafkaError, match=why) as refused:
        upgrade(classic(one), topics(), limits, allowed=allowed)  # type: ignore[arg-type]
    assert code(refused) is E.GROUP_ID_NOT_FOUND


def test_who_may_go_down() -> None:
    assert not can_downgrade(ConsumerGroup("g"))
    assert not can_downgrade(group_of(old(), member("new")))
    assert can_downgrade(group_of(old(), old("n")))
