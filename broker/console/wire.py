"""Any Kafka, looked at over the wire: what the protocol tells, and what stands in its internal topics. What it cannot tell is None.

The client blocks, so questions go to a thread of their own, one after the other; answers are kept for a moment, so that ten pages
ask no more than one. Partitions are looked at where transactions are open; all of them only now and then, for a hanging one is of no id.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar

from oncelog.broker.commands.client.cluster import Cluster
from oncelog.broker.commands.client.wire import ConnectFailure
from oncelog.broker.console import asking, asking_groups
from oncelog.broker.console.asking import Leaders
from oncelog.broker.console.lint_logs import look
from oncelog.broker.console.lint_rules import Findings
from oncelog.broker.console.model import (
    Facts,
    Group,
    OpenTransaction,
    Partition,
    Pieces,
    Producer,
    Refused,
    Transaction,
    Unreachable,
)
from oncelog.protocol.errors import KafkaError
from oncelog.protocol.names import TRANSACTION_STATE, TopicPartition
from oncelog.protocol.primitives import partition_for

T = TypeVar("T")
TOPICS_SECONDS, OPEN_SECONDS, GROUPS_SECONDS, ALL_SECONDS = 10.0, 1.0, 5.0, 30.0


class WireSource:
    """`monotonic` and `time_ms`: the clocks. Close it, and the connections are closed."""

    kind: Final = "wire"

    def __init__(
        self,
        cluster: Cluster,
        monotonic: Callable[[], float] = time.monotonic,
        time_ms: Callable[[], int] = lambda: time.time_ns() // 1_000_000,
    ) -> None:
        self._cluster = cluster
        self._monotonic = monotonic
        self._time_ms = time_ms
        self._thread = ThreadPoolExecutor(1, "oncelog-console")
        self._leaders = Leaders(cluster)
        self._kept: dict[str, tuple[float, Any]] = {}
        self._running: dict[str, asyncio.Task[Any]] = {}
        self._behind_since: dict[TopicPartition, int] = {}
        self._problem: str | None = None
        self._findings = Findings()

    @property
    def bootstrap(self) -> str:
        return self._cluster.bootstrap

    def now_ms(self) -> int:
        return self._time_ms()

    # -- asking

    async def _ask(self, question: Callable[[], T]) -> T:
        """On the thread. A connection that broke is made anew by the next question. Raises Unreachable."""

        def carefully() -> T:
            try:
                return question()
            except ConnectFailure:
                self._cluster.close()
                raise

        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, carefully)
        except ConnectFailure as failure:
            raise Unreachable(f"no broker answers: {failure}") from None
        except KafkaError as error:
            raise Unreachable(f"the broker refused: {error.message or error.code.name} ({error.code.name})") from None

    async def _kept_for(self, name: str, seconds: float, ask: Callable[[], Awaitable[T]]) -> T:
        """What `ask` gave lately, or is about to give."""
        before = self._kept.get(name)
        if before is not None and self._monotonic() - before[0] < seconds:
            kept: T = before[1]
            return kept
        running = self._running.get(name)
        if running is None:
            running = self._running[name] = asyncio.ensure_future(ask())
            running.add_done_callback(lambda _task: self._running.pop(name, None))
        found: T = await asyncio.shield(running)
        self._kept[name] = (self._monotonic(), found)
        return found

    async def _fresh_leaders(self) -> Leaders:
        async def ask() -> Leaders:
            await self._ask(self._leaders.refresh)
            return self._leaders

        return await self._kept_for("leaders", TOPICS_SECONDS, ask)

    async def facts(self) -> Facts:
        leaders = await self._fresh_leaders()
        can = dict.fromkeys(("owners", "requests", "fencings", "segments", "rebalances"), False)
        return Facts(
            self.bootstrap, leaders.cluster_id, None, {"abort": True, **can, "values": True}, leaders.topics, len(leaders.of), self._problem
        )

    # -- transactions

    async def transactions(self, *, only_open: bool = False) -> Sequence[Transaction]:
        name, seconds = ("open", OPEN_SECONDS) if only_open else ("transactions", GROUPS_SECONDS)
        return await self._kept_for(name, seconds, lambda: self._ask(lambda: asking.transactions(self._cluster, only_open=only_open)))

    async def transaction_log(self, transactional_id: str) -> TopicPartition | None:
        leaders = await self._fresh_leaders()
        count = sum(place.topic == TRANSACTION_STATE for place in leaders.of)
        return TopicPartition(TRANSACTION_STATE, partition_for(transactional_id, count)) if count else None

    async def abort(self, transaction: Transaction) -> str:
        await self._change(lambda: asking.abort(self._cluster, transaction))
        return "InitProducerId"

    async def abort_hanging(self, place: TopicPartition, open_transaction: OpenTransaction) -> str:
        await self._change(lambda: asking.abort_hanging(self._cluster, place, open_transaction))
        return "WriteTxnMarkers"

    async def _change(self, change: Callable[[], None]) -> None:
        """What is refused is told as such; what was kept is old from now on."""

        def carefully() -> None:
            try:
                change()
            except KafkaError as error:
                raise Refused(409, f"the broker refused: {error.message or error.code.name} ({error.code.name})") from None

        try:
            await self._ask(carefully)
        finally:
            self._kept.clear()

    # -- partitions

    async def behind(self) -> Sequence[tuple[Partition, Sequence[OpenTransaction]]]:
        return await self._kept_for("behind", OPEN_SECONDS, self._look_behind)

    async def _look_behind(self) -> Sequence[tuple[Partition, Sequence[OpenTransaction]]]:
        leaders = await self._fresh_leaders()
        suspects = {place for each in await self.transactions(only_open=True) for place in each.partitions}
        suspects |= self._behind_since.keys() | await self._kept_for("all", ALL_SECONDS, self._look_everywhere)
        edges = await self.edges(suspects)
        behind = {place: edge for place, edge in edges.items() if edge.behind}
        opened = await self._ask(lambda: asking.producers(self._cluster, leaders, behind))
        now_ms = self.now_ms()
        self._behind_since = {place: self._behind_since.get(place, now_ms) for place in behind}
        return [
            (edge._replace(since_ms=self._behind_since[place]), asking.open_of(opened.get(place, ()))) for place, edge in behind.items()
        ]

    async def _look_everywhere(self) -> frozenset[TopicPartition]:
        """Partitions that are behind, of all there are."""
        leaders = await self._fresh_leaders()
        edges = await self.edges(leaders.of)
        return frozenset(place for place, edge in edges.items() if edge.behind)

    async def partitions(self) -> Sequence[Partition]:
        leaders = await self._fresh_leaders()

        async def ask() -> Sequence[Partition]:
            return list((await self.edges(leaders.of)).values())

        return await self._kept_for("partitions", GROUPS_SECONDS, ask)

    async def edges(self, places: Iterable[TopicPartition]) -> Mapping[TopicPartition, Partition]:
        leaders = await self._fresh_leaders()
        wanted = list(places)
        return await self._ask(lambda: asking.edges(self._cluster, leaders, wanted)) if wanted else {}

    async def open_on(self, place: TopicPartition) -> Sequence[OpenTransaction]:
        return asking.open_of(await self.producers(place))

    async def producers(self, place: TopicPartition) -> Sequence[Producer]:
        leaders = await self._fresh_leaders()
        found = await self._ask(lambda: asking.producers(self._cluster, leaders, [place]))
        return found.get(place, [])

    async def pieces(self, place: TopicPartition) -> Pieces | None:
        return None

    async def read(self, place: TopicPartition, offset: int, max_bytes: int) -> bytes:
        leaders = await self._fresh_leaders()
        return await self._ask(lambda: asking.read(self._cluster, leaders, place, offset, max_bytes))

    async def offset_at(self, place: TopicPartition, time_ms: int) -> int | None:
        leaders = await self._fresh_leaders()
        return await self._ask(lambda: asking.offset_at(self._cluster, leaders, place, time_ms))

    # -- groups, and what only a broker itself could tell

    async def groups(self) -> Sequence[Group]:
        return await self._kept_for("groups", GROUPS_SECONDS, self._look_at_groups)

    async def _look_at_groups(self) -> Sequence[Group]:
        leaders = await self._fresh_leaders()
        behind = [edge for edge, _ in await self.behind()]

        def ask() -> Sequence[Group]:
            found = asking_groups.groups(self._cluster)
            pending = self._pending(behind, leaders)
            for group in found:
                group.pending = None if pending is None else pending.get(group.group_id, {})
            return found

        return await self._ask(ask)

    def _pending(self, behind: Sequence[Partition], leaders: Leaders) -> asking_groups.Pending | None:
        """None: this client may not read `__consumer_offsets`."""
        try:
            found = asking_groups.pending(behind, lambda place, offset, most: asking.read(self._cluster, leaders, place, offset, most))
        except KafkaError as error:
            if not asking_groups.not_allowed(error):
                raise
            self._problem = f"offsets of open transactions are not shown: {error.message or error.code.name}"
            return None
        return found

    async def requests_of(self, transactional_id: str) -> Sequence[Mapping[str, Any]]:
        return ()

    async def fencings(self) -> Sequence[Mapping[str, Any]]:
        return ()

    async def lint(self) -> Sequence[Mapping[str, Any]]:
        return await self._kept_for("lint", ALL_SECONDS, self._look_for_mistakes)

    async def _look_for_mistakes(self) -> Sequence[Mapping[str, Any]]:
        await look(self, self._findings)
        return self._findings.rows()

    async def close(self) -> None:
        """No question is under way when this returns."""
        for task in list(self._running.values()):
            task.cancel()
        await asyncio.get_running_loop().run_in_executor(self._thread, self._cluster.close)
        self._thread.shutdown(wait=False)
