"""One share fetch: looked at until there is something to acquire, or until its client has waited long enough.

It looks at all partitions of its session once, and then at those that have changed (Kafka's `DelayedShareFetch`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from oncelog.broker.sharing.acknowledging import readable
from oncelog.broker.sharing.acquiring import Wanted
from oncelog.broker.sharing.hosting import Fetched, ShareHost
from oncelog.broker.sharing.sessions import ShareSession, TopicIdPartition
from oncelog.coordinator.deferred import Deferred, Reply
from oncelog.protocol.errors import ErrorCode

if TYPE_CHECKING:
    from oncelog.broker.context import RequestContext
    from oncelog.broker.net.turns import Steps

T = TypeVar("T")
A_TURN = 50  # partitions that are looked at
MOST_GIVING = 50  # partitions of an answer that give records: each is read for itself
SMALL_BYTES = 256  # records that take no more memory than what says where they are
Found = dict[TopicIdPartition, Fetched | ErrorCode]


class ShareFetch:
    """`max_wait_ms`, `min_bytes` and `max_bytes` as in the request."""

    def __init__(
        self, ctx: RequestContext, session: ShareSession, wanted: Wanted, max_wait_ms: int, min_bytes: int, max_bytes: int
    ) -> None:
        self._ctx = ctx
        self._session = session
        self._wanted = wanted
        self._max_wait_ms = max_wait_ms
        self._min_bytes = min_bytes
        self._max_bytes = min(max_bytes, ctx.broker.config.server.fetch_max_bytes)
        self._errors: Found = {}
        self._hosts: dict[TopicIdPartition, ShareHost] = {}
        self._ready: dict[TopicIdPartition, ShareHost] = {}  # those that may give something
        self._listening: list[tuple[ShareHost, Callable[[], None]]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._answer: Deferred[Found] = Deferred()

    def steps(self) -> Steps[Reply[Found]]:
        """What there is, now or when there is something: errors and records by partition, and what is loaded and has nothing."""
        order = list(self._session.partitions)
        turn = self._session.epoch % len(order) if order else 0  # nobody is always the last
        for index, some in enumerate(_portions(order[turn:] + order[:turn])):
            if index:
                yield None
            self._aim(some)
        found = self._attempt(final=self._max_wait_ms <= 0 or not self._hosts)
        if found is not None:
            return found
        for index, wheres in enumerate(_portions(list(self._hosts))):
            if index:
                yield None
            self._listen(wheres)
        self._session.waiting = self
        self._timer = asyncio.get_running_loop().call_later(self._max_wait_ms / 1000, self._settle, True)
        return self._answer

    def _aim(self, wheres: Sequence[TopicIdPartition]) -> None:
        for where in wheres:
            error = readable(self._ctx, where)
            host = error or self._ctx.broker.sharing.host(self._session.group_id, *where)
            if not isinstance(host, ShareHost):
                self._errors[where] = host
                continue
            self._hosts[where] = host
            if host.may_give():
                self._ready[where] = host

    def _attempt(self, *, final: bool) -> Found | None:
        """The answer; None: it is worth waiting."""
        if not self._session.open:
            return {}
        for where, host in list(self._ready.items()):
            if not host.may_give():
                del self._ready[where]
        if not final and (not self._ready or not self._is_enough()):
            return None
        found = dict(self._errors)
        self._read(found)
        if not final and len(found) == len(self._errors):
            return None
        for where, host in self._hosts.items():
            if host.partition is not None:
                found.setdefault(where, _NOTHING)
        return found

    def _is_enough(self) -> bool:
        if self._min_bytes <= 1 or any(host.gone for host in self._ready.values()):
            return True
        left = self._min_bytes
        for host in self._ready.values():
            left -= host.readable_bytes(left)
            if left <= 0:
                return True
        return False

    def _read(self, found: Found) -> None:
        wanted, left = self._wanted, self._max_bytes
        share = max(self._max_bytes // max(min(len(self._ready), MOST_GIVING), 1), 1)
        in_memory = self._ctx.connection.at_once_bytes
        for where, host in list(self._ready.items())[:MOST_GIVING]:
            if wanted.max_records <= 0 or left <= 0:
                break
            fetched = host.fetch(wanted, share, max(in_memory, SMALL_BYTES))
            if isinstance(fetched, ErrorCode):
                found[where] = fetched if fetched else _NOTHING
            elif fetched.acquired:
                found[where] = fetched
                wanted = wanted._replace(max_records=wanted.max_records - sum(last - first + 1 for first, last, _ in fetched.acquired))
                left -= len(fetched.records)
                in_memory -= len(fetched.records)

    # -- waiting

    def _listen(self, wheres: Sequence[TopicIdPartition]) -> None:
        for where in wheres:
            host = self._hosts[where]
            listener = partial(self._changed, where, host)
            host.add_change_listener(listener)
            self._listening.append((host, listener))

    def _changed(self, where: TopicIdPartition, host: ShareHost) -> None:
        if not self._answer.done and host.may_give():
            self._ready[where] = host
            self._settle(False)

    def _settle(self, final: bool) -> None:
        try:
            found = self._attempt(final=final)
        except Exception as error:  # it belongs to whoever waits for the answer
            self._leave()
            self._answer.fail(error)
            return
        if found is not None:
            self._leave()
            self._answer.resolve(found)

    def give_up(self) -> None:
        """Its session has ended."""
        if not self._answer.done:
            self._leave()
            self._answer.resolve({})

    def _leave(self) -> None:
        if self._session.waiting is self:
            self._session.waiting = None
        if self._timer is not None:
            self._timer.cancel()
        for host, listener in self._listening:
            host.remove_change_listener(listener)
        self._listening = []


_NOTHING = Fetched(b"", [])


def _portions(entries: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(entries), A_TURN):
        yield entries[start : start + A_TURN]
