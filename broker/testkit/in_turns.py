"""Long texts about a broker, made a few milliseconds at a time: clients are served in between."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from time import perf_counter

SLICE_SECONDS = 0.005


async def in_turns(pieces: Iterable[str]) -> AsyncIterator[str]:
    """The text of `pieces`, as much at a time as a turn of the loop may take; a piece is a fraction of that."""
    made: list[str] = []
    end = perf_counter() + SLICE_SECONDS
    for piece in pieces:
        made.append(piece)
        if perf_counter() >= end:
            yield "".join(made)
            made.clear()
            await asyncio.sleep(0)
            end = perf_counter() + SLICE_SECONDS
    yield "".join(made)
