"""Share sessions: epochs, connections, how many."""

from __future__ import annotations

import uuid

import pytest
from oncelog.broker.sharing.sessions import MAX_EPOCH, ShareSessions, TopicIdPartition
from oncelog.protocol.errors import ErrorCode, KafkaError

TOPIC = uuid.UUID(int=1)


class Waiting:
    given_up = 0

    def give_up(self) -> None:
        self.given_up += 1


def code(sessions: ShareSessions, member: str, epoch: int) -> ErrorCode:
    try:
        sessions.go_on("g", member, epoch)
    except KafkaError as error:
        return error.code
    return ErrorCode.NONE


def test_epochs() -> None:
    sessions = ShareSessions(10)
    assert code(sessions, "a", 1) is ErrorCode.SHARE_SESSION_NOT_FOUND
    session = sessions.begin("g", "a", "connection")
    assert code(sessions, "a", 2) is ErrorCode.INVALID_SHARE_SESSION_EPOCH
    assert [code(sessions, "a", epoch) for epoch in (1, 2)] == [ErrorCode.NONE] * 2
    session.epoch = MAX_EPOCH
    assert [code(sessions, "a", epoch) for epoch in (MAX_EPOCH, 1)] == [ErrorCode.NONE] * 2
    assert sessions.go_on("g", "a", -1) is session


def test_partitions_come_and_go() -> None:
    session = ShareSessions(1).begin("g", "a", "connection")
    zero, one = (TopicIdPartition(TOPIC, index) for index in range(2))
    session.update([zero, one], [])
    session.update([one], [zero, TopicIdPartition(TOPIC, 9)])
    assert list(session.partitions) == [one]


def test_they_end_with_their_connection_and_with_their_waiting() -> None:
    sessions = ShareSessions(10)
    session, other = sessions.begin("g", "a", "one"), sessions.begin("g", "b", "one")
    session.waiting = waiting = Waiting()
    again = sessions.begin("g", "a", "two")
    assert (waiting.given_up, session.open, again.open) == (1, False, True)
    assert sessions.of_connection("one") == [other]
    sessions.close(other)
    sessions.close(other)
    sessions.close(session)  # it was replaced
    assert sessions.of_connection("one") == []
    assert sessions.has_group("g")
    sessions.close(again)
    assert not sessions.has_group("g")
    assert len(sessions) == 0


def test_no_more_than_allowed_but_in_place_of_ones_own() -> None:
    sessions = ShareSessions(1)
    sessions.begin("g", "a", "one")
    with pytest.raises(KafkaError) as refused:
        sessions.begin("g", "b", "one")
    assert refused.value.code is ErrorCode.SHARE_SESSION_LIMIT_REACHED
    sessions.begin("g", "a", "two")
