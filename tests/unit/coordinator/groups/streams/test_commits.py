"""Case T21: who may commit offsets in a streams group."""

from __future__ import annotations

import pytest
from oncelog.coordinator.groups.group_type import Committer
from oncelog.coordinator.groups.streams.commits import may_commit
from oncelog.coordinator.groups.streams.state import StreamsGroup
from oncelog.coordinator.groups.streams.tasks import HeldTasks
from oncelog.protocol.errors import ErrorCode as E
from oncelog.protocol.names import TopicPartition
from support.streams_group import group_of, member

HELD = HeldTasks({"0": {0: 3, 1: 5}})
GIVEN_UP = HeldTasks({"0": {2: 3}})


def who(member_id: str = "m", epoch: int = 5, *, transactional: bool = False, version: int = 9, at: tuple[int, ...] = (0,)) -> Committer:
    places = [TopicPartition("a", partition) for partition in at]
    return Committer(member_id, epoch, None, transactional, version, places)


def group() -> StreamsGroup:
    return group_of(member(assigned=HELD, revoking=GIVEN_UP))


@pytest.mark.parametrize(
    ("committer", "error"),
    [
        (who(), E.NONE),
        (who(epoch=6), E.STALE_MEMBER_EPOCH),
        (who("x"), E.UNKNOWN_MEMBER_ID),
        (who("", -1), E.UNKNOWN_MEMBER_ID),
        (who(version=8), E.UNSUPPORTED_VERSION),
        (who("", -1, transactional=True), E.NONE),
        (who("m", -1, transactional=True), E.ILLEGAL_GENERATION),
        (who("x", 5, transactional=True), E.UNKNOWN_MEMBER_ID),
        (who(transactional=True, version=5), E.NONE),
        (who(epoch=4, transactional=True), E.NONE),
    ],
)
def test_members_and_others(committer: Committer, error: E) -> None:
    assert may_commit(group(), committer) is error


@pytest.mark.parametrize(
    ("epoch", "partitions", "error"),
    [
        (4, (0,), E.NONE),  # has it since 3
        (4, (0, 2), E.NONE),  # gives 2 up, and has it since 3
        (4, (1,), E.STALE_MEMBER_EPOCH),  # got it at 5
        (4, (0, 1), E.STALE_MEMBER_EPOCH),
        (2, (0,), E.STALE_MEMBER_EPOCH),
        (4, (9,), E.STALE_MEMBER_EPOCH),  # never had it
        (4, (), E.NONE),
    ],
)
def test_older_epochs(epoch: int, partitions: tuple[int, ...], error: E) -> None:
    assert may_commit(group(), who(epoch=epoch, at=partitions)) is error


def test_topics_that_nobody_reads() -> None:
    committer = Committer("m", 4, None, False, 9, [TopicPartition("other", 0)])
    assert may_commit(group(), committer) is E.STALE_MEMBER_EPOCH


def test_anybody_while_it_is_empty() -> None:
    assert may_commit(StreamsGroup("g"), who("", -1, version=2)) is E.NONE
    assert may_commit(StreamsGroup("g"), who()) is E.UNKNOWN_MEMBER_ID
