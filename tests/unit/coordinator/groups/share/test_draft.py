"""Records are written where something is new, and replayed at once into a copy."""

from __future__ import annotations

import uuid

from oncelog.coordinator.groups.share.draft import Draft, group_tombstones
from oncelog.coordinator.groups.share.state import ShareGroup, ShareMember, ShareTopic
from oncelog.protocol.internal.records import decode_key
from oncelog.protocol.names import CONSUMER_OFFSETS

A = uuid.UUID(int=1)


def kinds(draft: Draft) -> list[str]:
    return [type(decode_key(CONSUMER_OFFSETS, record.key)).__name__ for record in draft.records]


def test_the_group_it_was_made_of_does_not_change() -> None:
    group = ShareGroup("g")
    draft = Draft(group)
    draft.put_wants(ShareMember("m", topic_names=("a",)))
    draft.put_places({A: ShareTopic("a", frozenset({0}))}, {}, {})
    assert group == ShareGroup("g")
    assert draft.group.members["m"].topic_names == ("a",)
    assert draft.group.initializing == {A: ShareTopic("a", frozenset({0}))}


def test_what_is_as_it_was_is_not_written() -> None:
    draft = Draft(ShareGroup("g"))
    member = ShareMember("m", topic_names=("a",), epoch=3)
    draft.put_wants(member)
    draft.put_has(member)
    assert kinds(draft) == ["ShareGroupMemberMetadataKey", "ShareGroupCurrentMemberAssignmentKey"]
    again = Draft(draft.group)
    again.put_wants(member)
    again.put_has(member)
    assert again.records == []
    again.put_has(ShareMember("m", topic_names=("a",), epoch=4))
    assert kinds(again) == ["ShareGroupCurrentMemberAssignmentKey"]


def test_tombstones_of_a_group_end_with_its_epoch() -> None:
    """The order of Apache Kafka 4.3.0; members first, though it deletes no group that has any."""
    draft = Draft(ShareGroup("g"))
    draft.put_wants(ShareMember("m"))
    removed = [(type(decode_key(CONSUMER_OFFSETS, record.key)).__name__, record.value) for record in group_tombstones(draft.group)]
    assert removed == [
        ("ShareGroupCurrentMemberAssignmentKey", None),
        ("ShareGroupTargetAssignmentMemberKey", None),
        ("ShareGroupMemberMetadataKey", None),
        ("ShareGroupTargetAssignmentMetadataKey", None),
        ("ShareGroupStatePartitionMetadataKey", None),
        ("ShareGroupMetadataKey", None),
    ]
