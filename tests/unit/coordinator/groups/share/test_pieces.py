"""A long list is asked for piece by piece, in turns of their own."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from oncelog.coordinator.deferred import Deferred, Reply
from oncelog.coordinator.groups.share import pieces
from oncelog.coordinator.groups.share.pieces import in_pieces
from oncelog.coordinator.timers import Timers


class Clock(Timers):
    def now_ms(self) -> int:
        return 5


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("count", [0, 3, 4, 10])
def test_all_answers_in_order(monkeypatch: pytest.MonkeyPatch, count: int, waits: bool) -> None:
    monkeypatch.setattr(pieces, "PIECE", 3)
    clock, asked = Clock(), []
    waiting: list[tuple[Deferred[list[int]], list[int]]] = []

    def ask(some: Sequence[int]) -> Reply[list[int]]:
        asked.append(len(some))
        values = [2 * each for each in some]
        if not waits:
            return values
        deferred: Deferred[list[int]] = Deferred()
        waiting.append((deferred, values))
        return deferred

    reply = in_pieces(clock, list(range(count)), ask)
    assert len(asked) == 1, "one piece a turn"
    for _ in range(20):
        while waiting:
            deferred, values = waiting.pop()
            deferred.resolve(values)
        before = len(asked)
        clock.fire(5)
        assert len(asked) <= before + 1
    assert (reply.result() if isinstance(reply, Deferred) else reply) == [2 * each for each in range(count)]
    assert sum(asked) == count
    assert max(asked) <= 3


def test_what_fails_later_fails_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE", 1)
    clock = Clock()

    def ask(some: Sequence[int]) -> list[int]:
        if some == [2]:
            raise ValueError("two")
        return list(some)

    reply = in_pieces(clock, [1, 2, 3], ask)
    clock.fire(5)
    assert isinstance(reply, Deferred)
    assert str(reply.error) == "two"
