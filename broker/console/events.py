"""Updates for pages that are open: looked for once a second while somebody listens, sent when something changed."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from oncelog.broker.console.model import Refused, Source, Unreachable
from oncelog.broker.console.routes import Asked, overview
from oncelog.broker.console.stuck import stuck

EVERY_SECONDS = 1.0
SILENCE_SECONDS = 15.0
MOST_LISTENERS = 20
_ROWS = 200
_MOST_NEW = 100
_AGES = ("age_ms", "sentence")


class Updates:
    """One look for all listeners."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._listeners: set[asyncio.Queue[str]] = set()
        self._task: asyncio.Task[None] | None = None
        self._told: dict[str, Any] = {}
        self._latest: dict[str, str] = {}
        self._newest: dict[str, int] = {}

    async def listen(self) -> AsyncIterator[str]:
        """Events as they are sent. Raises Refused(503) when too many listen."""
        if len(self._listeners) >= MOST_LISTENERS:
            raise Refused(503, f"{MOST_LISTENERS} pages listen already")
        mine: asyncio.Queue[str] = asyncio.Queue(maxsize=1000)
        self._listeners.add(mine)
        for text in self._latest.values():
            mine.put_nowait(text)
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._look_again_and_again())
        try:
            while True:
                try:
                    yield await asyncio.wait_for(mine.get(), SILENCE_SECONDS)
                except TimeoutError:
                    yield ": nothing new\n\n"
        finally:
            self._listeners.discard(mine)
            if not self._listeners and self._task is not None:
                self._task.cancel()
                self._task = None
                self._told.clear()
                self._latest.clear()

    async def _look_again_and_again(self) -> None:
        while True:
            with contextlib.suppress(Unreachable, Refused):  # it is down for a moment; the page asks by itself what is wrong
                await self.look()
            await asyncio.sleep(EVERY_SECONDS)

    async def look(self) -> None:
        """Tell the listeners what is new."""
        rows = (await stuck(self._source))[:_ROWS]
        self._tell_changed("stuck", rows, [{name: value for name, value in row.items() if name not in _AGES} for row in rows])
        facts = await overview(self._source, Asked({}, {}, {}))
        self._tell_changed("overview", facts, {**facts, "now_ms": 0})
        self._tell_new("fencing", await self._source.fencings(), "number")
        self._tell_new("lint", await self._source.lint(), "first_ms")

    def _tell_changed(self, kind: str, value: Any, compared: Any) -> None:
        if self._told.get(kind) != compared:
            self._told[kind] = compared
            self._latest[kind] = text = f"event: {kind}\ndata: {json.dumps(value)}\n\n"
            self._send(text)

    def _tell_new(self, kind: str, rows: Sequence[Mapping[str, Any]], by: str) -> None:
        """`rows` are newest first, and `by` rises."""
        before, newest = self._newest.get(kind), max((row[by] for row in rows), default=0)
        self._newest[kind] = newest
        if before is None:
            return
        new = [row for row in rows[: _MOST_NEW + 1] if row[by] > before]
        if len(new) > _MOST_NEW:
            self._send(f"event: {kind}{'s' if kind == 'fencing' else ''}-changed\ndata: {json.dumps({'count': len(rows)})}\n\n")
            return
        for row in reversed(new):
            self._send(f"event: {kind}\ndata: {json.dumps(row)}\n\n")

    def _send(self, text: str) -> None:
        for queue in self._listeners:
            if queue.full():
                queue.get_nowait()  # who does not read misses the oldest
            queue.put_nowait(text)
