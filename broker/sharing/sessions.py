"""Share sessions (KIP-932's `ShareSession`): what a member of a group reads, by its connection.

    epoch          ShareFetch                                  ShareAcknowledge
    0              opens, in place of one of the same key      123
    expected       goes on, with partitions added or forgotten goes on
    -1             closes                                      closes
    any other      122 without a session, else 123             the same

Nothing of it is durable: after a restart the first request is told 122 and the client opens another.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from typing import NamedTuple, Protocol

from oncelog.protocol.errors import ErrorCode, KafkaError

FINAL_EPOCH = -1
INITIAL_EPOCH = 0
MAX_EPOCH = 2**31 - 1


class TopicIdPartition(NamedTuple):
    """As requests name it."""

    topic_id: uuid.UUID
    partition: int


class Waiting(Protocol):
    """A request of a session that waits."""

    def give_up(self) -> None: ...


class ShareSession:
    """`epoch`: what its next request must have. `waiting`: its fetch that waits, which ends with it."""

    __slots__ = ("connection", "epoch", "group_id", "member_id", "open", "partitions", "waiting")

    def __init__(self, group_id: str, member_id: str, connection: object) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.connection = connection
        self.epoch = 1
        self.open = True
        self.partitions: dict[TopicIdPartition, None] = {}
        self.waiting: Waiting | None = None

    def update(self, added: Iterable[TopicIdPartition], forgotten: Iterable[TopicIdPartition]) -> None:
        """What its next fetches are about."""
        self.partitions |= dict.fromkeys(added)
        for each in forgotten:
            self.partitions.pop(each, None)

    def end(self) -> None:
        """Nobody will ask for it again."""
        self.open = False
        if self.waiting is not None:
            self.waiting.give_up()
            self.waiting = None


class ShareSessions:
    """All of a broker, at most `slots` (`group.share.max.share.sessions`)."""

    def __init__(self, slots: int) -> None:
        self._slots = slots
        self._sessions: dict[tuple[str, str], ShareSession] = {}
        self._by_connection: dict[object, dict[tuple[str, str], ShareSession]] = {}
        self._by_group: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def has_group(self, group_id: str) -> bool:
        """Has a member of the group a session?"""
        return group_id in self._by_group

    def begin(self, group_id: str, member_id: str, connection: object) -> ShareSession:
        """A new one, in place of the member's other, whose locks go on. Raises KafkaError 133."""
        key = (group_id, member_id)
        if key not in self._sessions and len(self._sessions) >= self._slots:
            raise KafkaError(ErrorCode.SHARE_SESSION_LIMIT_REACHED)
        self._forget(key)
        session = self._sessions[key] = ShareSession(group_id, member_id, connection)
        self._by_connection.setdefault(connection, {})[key] = session
        self._by_group[group_id] = self._by_group.get(group_id, 0) + 1
        return session

    def go_on(self, group_id: str, member_id: str, epoch: int) -> ShareSession:
        """The member's, if `epoch` is what it expects or closes it. Raises KafkaError 122, 123."""
        session = self._sessions.get((group_id, member_id))
        if session is None:
            raise KafkaError(ErrorCode.SHARE_SESSION_NOT_FOUND)
        if epoch == FINAL_EPOCH:
            return session
        if epoch != session.epoch:
            raise KafkaError(ErrorCode.INVALID_SHARE_SESSION_EPOCH)
        session.epoch = 1 if epoch == MAX_EPOCH else epoch + 1
        return session

    def close(self, session: ShareSession) -> None:
        """There is no such session any more."""
        if session.open:
            self._forget((session.group_id, session.member_id))

    def of_connection(self, connection: object) -> list[ShareSession]:
        """Those that end with it."""
        return list(self._by_connection.get(connection, {}).values())

    def _forget(self, key: tuple[str, str]) -> None:
        session = self._sessions.pop(key, None)
        if session is None:
            return
        session.end()
        of_connection = self._by_connection[session.connection]
        del of_connection[key]
        if not of_connection:
            del self._by_connection[session.connection]
        self._by_group[session.group_id] -= 1
        if not self._by_group[session.group_id]:
            del self._by_group[session.group_id]
