"""Long texts leave others their turns."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from oncelog.broker.testkit import in_turns as module
from oncelog.broker.testkit.in_turns import SLICE_SECONDS, in_turns

pytestmark = pytest.mark.unit


def test_a_turn_ends_when_its_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(module, "perf_counter", lambda: now)

    def pieces() -> Iterator[str]:
        nonlocal now
        for number in range(10):
            now += SLICE_SECONDS / 4
            yield str(number)

    async def told() -> list[str]:
        others: list[int] = []
        texts: list[str] = []
        async for text in in_turns(pieces()):
            asyncio.get_running_loop().call_soon(others.append, len(texts))
            texts.append(text)
        assert others == [0, 1]
        return texts

    assert asyncio.run(told()) == ["0123", "4567", "89"]


def test_nothing_is_told_of_nothing() -> None:
    async def told() -> str:
        return "".join([text async for text in in_turns([])])

    assert asyncio.run(told()) == ""
