"""Incremental fetch sessions (KIP-227, Kafka's FetchSession).

    (id, epoch)       meaning
    (0, -1)           sessionless, all partitions
    (any, 0)          close id, make a new session, all partitions
    (id, -1)          close id, answer sessionless
    (id, n >= 1)      changes to the session's partitions; answer only what is new

Sessions belong to no connection. A session speaks of topics by name or by id, never both. It watches the logs of its partitions, so that
a request costs what has changed and not what there is: a partition read to its end, with nothing new to tell of it, is quiet.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from oncelog.protocol.errors import ErrorCode
from oncelog.protocol.hot import FetchPartition, FetchPartitionData, FetchRequest
from oncelog.storage.env import Random

FINAL_EPOCH = -1
INITIAL_EPOCH = 0
MAX_EPOCH = 2**31 - 1
MIN_EVICTION_MS = 120_000

TopicRef = str | bytes
Key = tuple[TopicRef, int]


class Watched(Protocol):
    """What a session needs of a log."""

    def add_change_listener(self, listener: Callable[[], None]) -> None: ...

    def remove_change_listener(self, listener: Callable[[], None]) -> None: ...


class SessionPartition:
    """What a session remembers of one partition: the client's request, what was last told, and the log it watches."""

    __slots__ = ("high_watermark", "key", "log", "log_start_offset", "request", "session")

    def __init__(self, session: FetchSession, key: Key, request: FetchPartition) -> None:
        self.session = session
        self.key = key
        self.request = request
        self.high_watermark = -1
        self.log_start_offset = -1
        self.log: Watched | None = None

    def watch(self, log: Watched | None) -> None:
        """Hear of the changes of `log` and of no other."""
        if log is self.log:
            return
        if self.log is not None:
            self.log.remove_change_listener(self.changed)
            self.session.watching -= 1
        self.log = log
        if log is not None:
            log.add_change_listener(self.changed)
            self.session.watching += 1

    def changed(self) -> None:
        self.session.changed(self.key)


class FetchSession:
    """One session; `active` are the partitions that are not quiet, in the order in which they are read."""

    __slots__ = ("_listeners", "active", "by_id", "epoch", "id", "isolation_level", "last_used_ms", "partitions", "watching")

    def __init__(self, id: int, by_id: bool, now_ms: float) -> None:
        self.id = id
        self.by_id = by_id
        self.epoch = 1
        self.isolation_level = 0
        self.last_used_ms = now_ms
        self.partitions: dict[Key, SessionPartition] = {}
        self.active: OrderedDict[Key, None] = OrderedDict()
        self.watching = 0
        self._listeners: list[Callable[[], None]] = []

    def update(self, request: FetchRequest) -> None:
        """Add and change what the request names, drop what it forgets."""
        if request.isolation_level != self.isolation_level:
            self.isolation_level = request.isolation_level
            self.wake_all()
        for key, partition in requested(request):
            known = self.partitions.get(key)
            if known is None:
                self.partitions[key] = SessionPartition(self, key, partition)
            else:
                known.request = partition
            self.active.setdefault(key)
        for name, topic_id, numbers in request.forgotten:
            for number in numbers:
                self._drop((topic_id if self.by_id and topic_id is not None else name or "", number))

    def _drop(self, key: Key) -> None:
        known = self.partitions.pop(key, None)
        if known is not None:
            known.watch(None)
            self.active.pop(key, None)

    def wake_all(self) -> None:
        """Look at every partition again."""
        for key in self.partitions:
            self.active.setdefault(key)

    def close(self) -> None:
        """Nobody will ask for it again."""
        for known in self.partitions.values():
            known.watch(None)
        self.partitions.clear()
        self.active.clear()

    def worth_telling(self, key: Key, data: FetchPartitionData) -> bool:
        """Has the partition records, a new high watermark or log start, or an error? Then it is told, and remembered as told.

        A partition that gave records goes to the end, so that the next answer begins with others.
        """
        known = self.partitions[key]
        changed = data.high_watermark != known.high_watermark or data.log_start_offset != known.log_start_offset
        if not (changed or data.error_code or len(data.records)):
            return False
        known.high_watermark = -1 if data.error_code else data.high_watermark  # an error is told again
        known.log_start_offset = data.log_start_offset
        if len(data.records) and key in self.active:
            self.active.move_to_end(key)
        return True

    # -- what its partitions tell, and who waits for that

    def changed(self, key: Key) -> None:
        """The log of a partition has moved."""
        self.active.setdefault(key)
        for listener in tuple(self._listeners):
            listener()

    def add_change_listener(self, listener: Callable[[], None]) -> None:
        self._listeners.append(listener)

    def remove_change_listener(self, listener: Callable[[], None]) -> None:
        self._listeners.remove(listener)


class FetchContext:
    """How one Fetch is served: what to read, and what of it to tell."""

    __slots__ = ("_partitions", "error", "incremental", "session")

    def __init__(
        self,
        partitions: Sequence[tuple[Key, FetchPartition]],
        session: FetchSession | None = None,
        *,
        incremental: bool = False,
        error: ErrorCode = ErrorCode.NONE,
    ) -> None:
        self._partitions = partitions
        self.session = session
        self.incremental = incremental
        self.error = error

    @property
    def partitions(self) -> Sequence[tuple[Key, FetchPartition]]:
        """What to look at, at this moment."""
        if self.incremental and self.session is not None:
            known = self.session.partitions
            return [(key, known[key].request) for key in self.session.active]
        return self._partitions

    @property
    def session_id(self) -> int:
        return self.session.id if self.session is not None else 0

    def told(
        self, results: Iterable[tuple[Key, FetchPartitionData]], topics: list[tuple[TopicRef, list[FetchPartitionData]]] | None = None
    ) -> list[tuple[TopicRef, list[FetchPartitionData]]]:
        """The part of `results` that goes into the answer, grouped by topic in order; `topics`: that of the results before them."""
        topics = [] if topics is None else topics
        for key, data in results:
            if self.session is not None and key in self.session.partitions:
                new = self.session.worth_telling(key, data)
                if self.incremental and not new:
                    continue
            if not topics or topics[-1][0] != key[0]:
                topics.append((key[0], []))
            topics[-1][1].append(data)
        return topics


class FetchSessions:
    """All sessions of a broker, at most `slots`; an idle one makes room after two minutes."""

    def __init__(self, slots: int, random: Random) -> None:
        self._slots = slots
        self._random = random
        self._sessions: OrderedDict[int, FetchSession] = OrderedDict()  # least recently used first

    def __len__(self) -> int:
        return len(self._sessions)

    def resolve(self, request: FetchRequest, by_id: bool, now_ms: float) -> FetchContext:
        """What a request asks for, its session created, found, changed or closed."""
        if request.session_epoch in (FINAL_EPOCH, INITIAL_EPOCH):
            self._end(request.session_id)
            partitions = list(dict(requested(request)).items())
            if request.session_epoch == FINAL_EPOCH:
                return FetchContext(partitions)
            session = self._create(by_id, now_ms)
            if session is not None:
                session.update(request)
            return FetchContext(partitions, session)
        return self._continue(request, by_id, now_ms)

    def _continue(self, request: FetchRequest, by_id: bool, now_ms: float) -> FetchContext:
        session = self._sessions.get(request.session_id)
        if session is None:
            return FetchContext((), error=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if session.by_id != by_id:
            return FetchContext((), error=ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        if session.epoch != request.session_epoch:
            return FetchContext((), error=ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        session.update(request)
        if not session.partitions:
            self._end(session.id)
            return FetchContext(())
        session.epoch = 1 if session.epoch == MAX_EPOCH else session.epoch + 1
        session.last_used_ms = now_ms
        self._sessions.move_to_end(session.id)
        return FetchContext((), session, incremental=True)

    def _end(self, session_id: int) -> None:
        session = self._sessions.pop(session_id, None)
        if session is not None:
            session.close()

    def _create(self, by_id: bool, now_ms: float) -> FetchSession | None:
        if len(self._sessions) >= self._slots and not self._evict(now_ms):
            return None
        id = 0
        while id == 0 or id in self._sessions:
            id = 1 + self._random.below(MAX_EPOCH)
        session = self._sessions[id] = FetchSession(id, by_id, now_ms)
        return session

    def _evict(self, now_ms: float) -> bool:
        oldest = next(iter(self._sessions.values()), None)
        if oldest is None or now_ms - oldest.last_used_ms < MIN_EVICTION_MS:
            return False
        self._end(oldest.id)
        return True


def requested(request: FetchRequest) -> Iterable[tuple[Key, FetchPartition]]:
    """The partitions that a request names, keyed as a session keeps them."""
    for name, topic_id, partitions in request.topics:
        topic: TopicRef = topic_id if topic_id is not None else name or ""
        for partition in partitions:
            yield (topic, partition.partition), partition
