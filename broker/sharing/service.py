"""Share groups' records, as handlers ask for them: sessions, the share partitions in use, and their timers (`SharePartitionManager`)."""

from __future__ import annotations

import heapq
import math
from functools import partial
from typing import TYPE_CHECKING, Protocol

from oncelog.broker.answers import all_of
from oncelog.broker.sharing.sessions import ShareSession, ShareSessions
from oncelog.coordinator.deferred import Reply
from oncelog.coordinator.share.persister import SharePartitionKey
from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.names import TopicPartition

if TYPE_CHECKING:
    import uuid
    from collections.abc import Callable, Mapping

    from oncelog.broker.net.turns import Turns
    from oncelog.broker.sharing.hosting import ShareHost
    from oncelog.broker.sharing.limits import GroupSettings
    from oncelog.coordinator.groups.share.config import ShareGroupConfig
    from oncelog.coordinator.share.persister import SharePersister
    from oncelog.storage.directory.manager import LogManager
    from oncelog.storage.env import Clock
    from oncelog.storage.log.log import Log

TICK_MS = 5  # of one turn, for locks that ran out


class Losable(Protocol):
    """A connection."""

    lost_listeners: tuple[Callable[[object], None], ...]


class Sharing:
    """Of one broker; made when the first share group is met."""

    def __init__(
        self,
        clock: Clock,
        logs: LogManager,
        persister: SharePersister,
        turns: Turns,
        configs: Callable[[str], Mapping[str, str]],
        config: ShareGroupConfig,
        wake_within: Callable[[float], None],
    ) -> None:
        """`configs`: of a group, by group level name; `wake_within(ms)` is called when there is something to do before all else."""
        self.sessions = ShareSessions(config.max_share_sessions)
        self._clock = clock
        self._logs = logs
        self._persister = persister
        self._turns = turns
        self._configs = configs
        self._config = config
        self._wake_within = wake_within
        self._hosts: dict[SharePartitionKey, ShareHost] = {}
        self._by_group: dict[str, set[SharePartitionKey]] = {}
        self._timers: list[tuple[float, int, ShareHost]] = []
        self._due: dict[ShareHost, float] = {}  # when each is looked at next
        self._count = 0
        self._stopped = False

    def settings(self, group_id: str) -> GroupSettings:
        """Of a group, at this moment."""
        from oncelog.broker.sharing.limits import group_settings

        return group_settings(self._config, self._configs(group_id))

    # -- share partitions

    def host(self, group_id: str, topic_id: uuid.UUID, partition: int) -> ShareHost | ErrorCode:
        """The share partition, loaded or being loaded; or why there is none."""
        key = SharePartitionKey(group_id, topic_id, partition)
        log = self._log(key)
        if isinstance(log, ErrorCode):
            return log
        host = self._hosts.get(key)
        if host is not None and not host.gone and host.log is log:
            return host
        self.forget(key)
        from oncelog.broker.sharing.hosting import ShareHost  # a start must not wait for it

        host = ShareHost(key, log, self._persister, self._clock, self._turns, partial(self.settings, group_id), self._earlier)
        self._hosts[key] = host
        self._by_group.setdefault(group_id, set()).add(key)
        host.load()
        return host

    def known_host(self, group_id: str, topic_id: uuid.UUID, partition: int) -> ShareHost | ErrorCode:
        """The share partition if it is in use; or why there is none."""
        key = SharePartitionKey(group_id, topic_id, partition)
        log = self._log(key)
        return self._hosts.get(key, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) if not isinstance(log, ErrorCode) else log

    def _log(self, key: SharePartitionKey) -> Log | ErrorCode:
        topic = self._logs.topics.by_id(key.topic_id)
        if topic is None:
            return ErrorCode.UNKNOWN_TOPIC_ID
        return self._logs.log(TopicPartition(topic.name, key.partition)) or ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    def forget(self, key: SharePartitionKey) -> None:
        """Its state was altered or deleted: whoever asks next loads it anew."""
        host = self._hosts.pop(key, None)
        if host is not None:
            keys = self._by_group[key.group_id]
            keys.discard(key)
            if not keys:
                del self._by_group[key.group_id]
            host.dismiss()

    def _forget_idle(self, group_id: str) -> None:
        """A group without sessions keeps no share partition, unless it would know less when loaded anew."""
        if not self.sessions.has_group(group_id):
            for key in list(self._by_group.get(group_id, ())):
                if self._hosts[key].idle:
                    self.forget(key)

    # -- sessions

    def begin_session(self, group_id: str, member_id: str, connection: Losable) -> ShareSession:
        """Of a member, until its connection is lost. Raises KafkaError 133."""
        if self._lost not in connection.lost_listeners:
            connection.lost_listeners += (self._lost,)
        return self.sessions.begin(group_id, member_id, connection)

    def close(self, session: ShareSession) -> Reply[list[ErrorCode]]:
        """It has ended: what its member holds is free once that is on disk."""
        self.sessions.close(session)
        replies: list[Reply[ErrorCode]] = []
        for topic_id, partition in session.partitions:
            host = self._hosts.get(SharePartitionKey(session.group_id, topic_id, partition))
            if host is not None:
                replies.append(host.release(session.member_id))
        self._forget_idle(session.group_id)
        return all_of(replies)

    def _lost(self, connection: object) -> None:
        if self._stopped:
            return
        for session in self.sessions.of_connection(connection):
            self.close(session)

    # -- time

    def _earlier(self, host: ShareHost) -> None:
        deadline_ms = host.next_deadline_ms()
        if deadline_ms >= self._due.get(host, math.inf):
            return
        self._due[host] = deadline_ms
        self._count += 1
        heapq.heappush(self._timers, (deadline_ms, self._count, host))
        if self._timers[0][2] is host:
            self._wake_within(deadline_ms - self._clock.monotonic_ms())

    def tick(self, now_ms: float) -> None:
        """Release what was held too long; of very much some now."""
        stop_ms = self._clock.monotonic_ms() + TICK_MS
        while self._timers and self._timers[0][0] <= now_ms:
            deadline_ms, _, host = heapq.heappop(self._timers)
            if self._due.get(host) != deadline_ms:
                continue
            del self._due[host]
            host.expire()
            self._earlier(host)
            self._forget_idle(host.key.group_id)
            if self._clock.monotonic_ms() >= stop_ms:
                break

    def next_deadline_ms(self) -> float | None:
        """Monotonic: when to tick."""
        return self._timers[0][0] if self._timers else None

    def stop(self) -> None:
        """Nothing is written any more: the broker ends."""
        self._stopped = True
